/** "Alert me on this" next to a chart: a rule about what it shows. The dialog is loaded when it is wanted. */
import { lazy, Suspense, useState } from "react";
import type { Watched } from "./standing";
import { Icon } from "../../components/Icon";

const RuleDialog = lazy(() => import("./RuleDialog"));

export function AlertMe({ watched }: { watched: () => Watched }) {
  const [asked, setAsked] = useState<Watched | null>(null);
  return (
    <>
      <button className="button" title="Alert me on this…" onClick={() => setAsked(watched())}>
        <Icon name="bell" />
        <span className="words-if-wide">Alert me on this…</span>
      </button>
      <Suspense>{asked && <RuleDialog watched={asked} onClose={() => setAsked(null)} />}</Suspense>
    </>
  );
}
