/** Stored incidents in words. Pure. */
import type { IncidentHead, SlowedJob } from "../../api/incident";
import { lostTime, plural, ratio } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";

type Times = Pick<IncidentHead, "began" | "ended" | "state">;

/** Seconds from its beginning to its end, or to `now`. */
export function lastedSeconds({ began, ended }: Times, now: number): number | null {
  const from = parseTime(began);
  return from === null ? null : Math.max(0, (parseTime(ended) ?? now) - from) / 1000;
}

/** "from 14:35:33 to 14:41:12 UTC, 5 min 39 s", or "open since 14:35:33 UTC, 12 min 04 s so far". */
export function whenText(times: Times, now: number): string {
  const [from, to] = [parseTime(times.began), parseTime(times.ended)];
  if (from === null) return "Its start is unknown";
  const lasted = lostTime(lastedSeconds(times, now));
  if (to === null) return `open since ${moment(from, now, true)} ${ZONE}, ${lasted} so far`;
  return `from ${moment(from, now, true)} to ${moment(to, now, true)} ${ZONE}, ${lasted}`;
}

/** "3.1 to 5.3": the 95 % interval of the node-hours lost. */
export const hoursInterval = ({ node_hours_low: low, node_hours_high: high }: IncidentHead): string =>
  `${ratio(low)} to ${ratio(high)}`;

/** "4.2 (3.1 to 5.3)", or that it is unknown: of a slowed job, the number of nodes is. */
export const hoursText = (head: IncidentHead): string =>
  head.node_hours === null ? "unknown" : `${ratio(head.node_hours)} (${hoursInterval(head)})`;

/** "Slowed 2 jobs by 5 min 48 s in total (95 %: 5 min 10 s to 6 min 30 s)". */
export function slowedText(slowed: { jobs: number; lost_s: number; lost_low_s: number; lost_high_s: number }): string {
  const interval = `95 %: ${lostTime(slowed.lost_low_s)} to ${lostTime(slowed.lost_high_s)}`;
  return `Slowed ${plural(slowed.jobs, "job")} by ${lostTime(slowed.lost_s)}${slowed.jobs > 1 ? " in total" : ""} (${interval})`;
}

/** When a slowed job was fast again; a job that is over stayed slow to its end. */
export function untilText({ until, state }: Pick<SlowedJob, "until" | "state">, now: number): string {
  const at = parseTime(until);
  if (at !== null) return moment(at, now, true);
  return state === "RUNNING" ? "still slow" : "its end";
}

/** "Named for 3 incidents in which slowed jobs lost 4.2 node-hours (95 %: 3.1 to 5.3)", from all their causes; null for none. Withdrawn ones do not count.
 *  `more`: others are not listed. */
export function costText(
  incidents: readonly Pick<IncidentHead, "state" | "node_hours" | "node_hours_low" | "node_hours_high">[],
  more: boolean,
): string | null {
  const held = incidents.filter((one) => one.state !== "withdrawn");
  if (!held.length) return null;
  const hours = held.reduce((sum, one) => sum + (one.node_hours ?? 0), 0);
  const least = more ? "at least " : "";
  const named = `Named for ${least}${plural(held.length, "incident")} in which slowed jobs lost`;
  if (more || held.some((one) => one.node_hours === null)) return `${named} at least ${ratio(hours)} node-hours`;
  // The errors of incidents are independent.
  const off = (limit: "node_hours_low" | "node_hours_high") =>
    Math.hypot(...held.map((one) => (one[limit] ?? 0) - (one.node_hours ?? 0)));
  const [low, high] = [Math.max(0, hours - off("node_hours_low")), hours + off("node_hours_high")];
  return `${named} ${ratio(hours)} node-hours (95 %: ${ratio(low)} to ${ratio(high)})`;
}
