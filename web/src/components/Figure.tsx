import { BAR_WIDTH, type Interval, intervalLayout, type IntervalScale } from "../charts/intervals";
import { count } from "../lib/format";

// Draws an interval as a bar. Its figures are in the text next to it.

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

// Records of counters that no fabric has a place for: how many, and why. Ingest health and Connect say it in these words.

export const UNPLACED = "in no fabric";

interface UnplacedProps {
  records: number | null;
  because: string | null;
  /** The words and the reason are next to the number; else a column's head has the words, and the reason is a tooltip. */
  explained?: boolean;
}

export function Unplaced({ records, because, explained = false }: UnplacedProps) {
  const number = (
    <span className={records ? "alarm" : undefined} title={explained ? undefined : (because ?? undefined)}>
      {count(records)}
    </span>
  );
  if (!explained) return number;
  return (
    <>
      {number} {UNPLACED}
      {because && `: ${because}`}
    </>
  );
}

interface Props {
  value: string;
  label: string;
  bad?: boolean;
  /** Still asked for: its place is kept, so that the verdict does not wrap when it comes. */
  pending?: boolean;
}

/** A figure of a verdict with what it is below it. */
export const Figure = ({ value, label, bad = false, pending = false }: Props) => (
  <div className={pending ? "pending" : undefined} aria-hidden={pending || undefined}>
    <div className={`figure-value${bad ? " alarm" : ""}`}>{value}</div>
    <div className="subtitle">{label}</div>
  </div>
);
