import { useFreshness } from "../api/freshness";
import type { Fabric } from "../api/shapes";

/** The pill at the right of the top bar: filled while live, hollow otherwise. */
export function Freshness({ fabric }: { fabric: Fabric | null }) {
  const { state, text } = useFreshness(fabric);
  return <div className="freshness" data-state={state} data-testid="freshness"><b aria-hidden="true" /><span>{text}</span></div>;
}
