import type { NetworkNoise, NoiseComparison, NoiseSet } from "../../api/networkNoise";
import { percent, ratio } from "../../lib/format";

/** The most numbers that the API takes in a set. */
export const MOST = 100;
const NAMES = {
  latency_cycles: "Latency of a request",
  stalls_per_flit: "Stalls",
  flits_per_s: "Traffic",
  message_s: "Modelled time of a message",
} as const;

/** What a person wrote as a set: numbers of runs, or `job` and the scheduler's numbers; null if it is neither. */
export function readSet(text: string): NoiseSet | null {
  const jobs = /^\s*jobs?\s+(.+)$/i.exec(text);
  const parts = (jobs?.[1] ?? text).split(/[\s,]+/).filter(Boolean);
  if (!parts.length || parts.length > MOST) return null;
  if (jobs) return { jobs: parts };
  return parts.every((part) => /^[1-9]\d{0,14}$/.test(part)) ? { runs: parts.map(Number) } : null;
}

/** A figure in words; null if it is not known. */
export function figureText(one: NoiseComparison["figures"][number]): string | null {
  if (one.ratio === null) return null;
  const told = one.verdict === "cannot tell" ? "no difference beyond chance" : one.verdict;
  return `${NAMES[one.key]}: ${ratio(one.ratio)} times (${ratio(one.low)} to ${ratio(one.high)}), ${told}`;
}

/** Whether a guideline holds, in words. */
export const guidelineText = (one: NoiseComparison["guidelines"][number]): string =>
  `Guideline ${one.number} ${one.holds === null ? "was not checked" : one.holds ? "holds" : "does not hold"}. ${one.text}`;

/** A share in words, or why there is none. */
export const shareText = (share: NetworkNoise["of_runtime"], of: string): string =>
  share.share === null ? `Share of ${of}: cannot tell. ${share.cannot_tell ?? ""}` : `${percent(share.share)} of ${of}`;
