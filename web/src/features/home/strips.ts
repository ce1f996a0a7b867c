// What the strips of coverage show of each source: steps with records, with refused ones, and without any.
import type { IngestCoverage, IngestStatus } from "../../api/shapes";

/** Of a step: all that came was used, some was refused or is missing, nothing came. */
export type Share = "whole" | "part" | "none";

export const sharesOf = ({ records, dead }: IngestCoverage["sources"][number]): Share[] =>
  records.map((written, i) => ((dead[i] ?? 0) > 0 ? "part" : written > 0 ? "whole" : "none"));

/** The largest lag of a source's topics in seconds; null where none is known. */
export function lagOf(topics: string[], status: IngestStatus["topics"]): number | null {
  const known = status.flatMap((one) => (topics.includes(one.topic) && one.lag_s != null ? [one.lag_s] : []));
  return known.length ? Math.max(...known) : null;
}

export const stepText = (shares: Share[], what: string): string =>
  `${shares.filter((share) => share === "whole").length} of ${shares.length} steps are ${what}`;
