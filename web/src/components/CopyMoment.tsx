import { useRouter } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { useKeys } from "../lib/keys";
import { stringifySearch } from "../lib/search";
import { Icon } from "./Icon";

interface Props {
  /** What the address has to hold beside what it holds already, so that it shows this moment later on. */
  search: () => Record<string, string | number | undefined>;
}

/** The address of what is shown now, for a chat or a ticket: it shows the same when live data have moved on. */
export function CopyMoment({ search }: Props) {
  const router = useRouter();
  const [said, setSaid] = useState("");
  const copy = () => {
    const { pathname, search: old } = router.state.location;
    const path = pathname + stringifySearch({ ...old, ...search() });
    const done = (text: string) => {
      setSaid(text);
      setTimeout(() => setSaid(""), 3000);
    };
    // Without a clipboard (plain HTTP) the address bar holds the link.
    const fallBack = () => {
      void router.navigate({ href: path, replace: true } as never);
      done("In the address bar");
    };
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard) clipboard.writeText(location.origin + path).then(() => done("Copied"), fallBack);
    else fallBack();
  };
  const newest = useRef(copy);
  newest.current = copy;
  useKeys(
    "This moment",
    useMemo(() => [{ keys: "y", label: "Copy link to this moment", run: () => newest.current() }], []),
  );
  return (
    <button className="button" onClick={copy} aria-label="Copy link to this moment" title="Copy link to this moment">
      <Icon name="link" />
      <span className="copy-words" data-said={said ? "" : undefined} role="status">
        {said || "Copy link"}
      </span>
    </button>
  );
}
