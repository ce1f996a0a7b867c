/** What a remedy saves, or would have saved, as a sentence. */
import type { Explanation } from "../../api/estimateShapes";
import { lostTime } from "../../lib/format";

type AnyRemedy = Explanation["remedies"][number];
type Remedy = Pick<AnyRemedy, "minutes_saved" | "in_past" | "job_id"> &
  Partial<Pick<AnyRemedy, "minutes_saved_low" | "minutes_saved_high">>;

/** Null if that is unknown or nothing. How long the other job goes on is not known, so what holding it saves is the most that it can. */
export function savedText(remedy: Remedy): string | null {
  const minutes = remedy.minutes_saved;
  if (minutes === null || minutes <= 0) return null;
  const [low, high] = [remedy.minutes_saved_low, remedy.minutes_saved_high];
  const interval =
    low == null || high == null ? "" : ` (95 %: ${lostTime(Math.max(0, low) * 60)} to ${lostTime(high * 60)})`;
  const saved = `${lostTime(minutes * 60)}${interval}`;
  return remedy.in_past ? `Lost ${saved}.` : `Saves up to ${saved}, less if job ${remedy.job_id} ends sooner.`;
}
