/** What a remedy saves, or would have saved, as a sentence. */
import type { Explanation } from "../../api/estimateShapes";
import { lostTime } from "../../lib/format";

type Remedy = Pick<Explanation["remedies"][number], "minutes_saved" | "in_past" | "job_id">;

/** Null if that is unknown or nothing. How long the other job goes on is not known, so what holding it saves is the most that it can. */
export function savedText(remedy: Remedy): string | null {
  const minutes = remedy.minutes_saved;
  if (minutes === null || minutes <= 0) return null;
  const saved = lostTime(minutes * 60);
  return remedy.in_past ? `Lost ${saved}.` : `Saves up to ${saved}, less if job ${remedy.job_id} ends sooner.`;
}
