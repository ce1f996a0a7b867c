/** Draws an interval as a bar. Its figures are in the text next to it. */
import { BAR_WIDTH, intervalLayout, type Interval, type IntervalScale } from "../charts/intervals";

export function IntervalBar({ of, x }: { of: Interval; x: IntervalScale }) {
  const { bar, tick, none } = intervalLayout(of, x);
  return (
    <svg className="interval-bar" width={BAR_WIDTH} height={14} aria-hidden="true">
      <line className="interval-none" x1={none} x2={none} y1={0} y2={14} />
      {bar && <rect x={bar.x} width={bar.width} y={5} height={4} rx={1} />}
      <line x1={tick} x2={tick} y1={2} y2={12} />
    </svg>
  );
}
