/** What a running job's delay comes to, for the verdict. */
import type { Explanation } from "../../api/estimateShapes";
import { duration, lostTime, MINUS } from "../../lib/format";

/** A forecast that is later than usual by more than this share of it stands out. */
const LATE_SHARE = 0.05;

interface Ahead {
  value: string;
  label: string;
  bad: boolean;
}

/**
 * Seconds lost where the job is slow: the forecast of its whole time rests on jobs that lasted as long, and knows nothing of the
 * slowdown. Otherwise how much later than usual it ends, `late` and `usual` in seconds; null if neither is known.
 */
export function aheadOf(told: Explanation | undefined, late: number | null, usual: number | null): Ahead | null {
  const lost = told && told.verdict !== "not slow" ? (told.slowdown?.lost_s ?? null) : null;
  if (lost !== null && lost > 0) return { value: lostTime(lost), label: "lost so far", bad: true };
  if (late === null) return null;
  return {
    value: `${late < 0 ? MINUS : "+"}${duration(Math.abs(late))}`,
    label: "forecast at the end, to the usual",
    bad: late > LATE_SHARE * (usual ?? 0),
  };
}
