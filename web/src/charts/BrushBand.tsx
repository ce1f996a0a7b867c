import type { TimeWindow } from "../lib/time";
import { BOTTOM, TOP } from "./brush";
import type { TimelineLayout } from "./timeline";

/** A window on the time axis: the chosen one, with its handles, or the one that it is compared with. */
export function BrushBand({
  layout,
  span,
  window,
  kind,
}: {
  layout: TimelineLayout;
  span: TimeWindow;
  window: TimeWindow;
  kind: "window" | "comparison";
}) {
  const from = layout.x(Math.max(span.from, window.from));
  const to = layout.x(Math.min(span.to, window.to));
  if (to <= from) return null;
  return (
    <g className={`band band-${kind}`}>
      <rect x={from} y={TOP - 4} width={Math.max(1, to - from)} height={BOTTOM - TOP + 6} />
      {kind === "window" &&
        [from, to].map((x) => <line key={x} className="handle" x1={x} x2={x} y1={TOP - 4} y2={BOTTOM + 2} />)}
    </g>
  );
}
