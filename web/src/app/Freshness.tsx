import { useFreshness } from "../api/freshness";
import type { Fabric } from "../api/shapes";
import { useTrouble } from "../api/trouble";
import { plural } from "../lib/format";

/** The pill at the right of the top bar: filled while live, hollow otherwise. */
export function Freshness({ fabric }: { fabric: Fabric | null }) {
  const { state, text } = useFreshness(fabric);
  const { failing } = useTrouble();
  const shown =
    failing > 0 && state !== "stale"
      ? { state: "stale", text: `${plural(failing, "request")} failing` }
      : { state, text };
  return (
    <div className="freshness" data-state={shown.state} data-testid="freshness">
      <b aria-hidden="true" />
      <span>{shown.text}</span>
    </div>
  );
}
