/** Records of counters that no fabric has a place for: how many, and why. Ingest health and Connect say it in these words. */
import { count } from "../lib/format";

export const UNPLACED = "in no fabric";

interface UnplacedProps {
  records: number | null;
  because: string | null;
  /** The words and the reason stand beside the number; else a column's head has the words, and the reason is a tooltip. */
  told?: boolean;
}

export function Unplaced({ records, because, told = false }: UnplacedProps) {
  const number = (
    <span className={records ? "alarm" : undefined} title={told ? undefined : (because ?? undefined)}>
      {count(records)}
    </span>
  );
  if (!told) return number;
  return (
    <>
      {number} {UNPLACED}
      {because && `: ${because}`}
    </>
  );
}
