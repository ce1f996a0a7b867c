/**
 * What a run's steps and NIC counters say of network noise (De Sensi 2019, section 3): dispersion of step times, and the terms of the message model.
 * Pure. Unknown is null: a term whose counters were not recorded is not zero.
 */
import { quantile } from "d3-array";
import type { NetworkNoise, NoiseComparison, NoiseSet } from "../../api/noise";
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
  const verdict = one.verdict === "cannot tell" ? "no difference beyond chance" : one.verdict;
  return `${NAMES[one.key]}: ${ratio(one.ratio)} times (${ratio(one.low)} to ${ratio(one.high)}), ${verdict}`;
}

/** Whether a guideline holds, in words. */
export const guidelineText = (one: NoiseComparison["guidelines"][number]): string =>
  `Guideline ${one.number} ${one.holds === null ? "was not checked" : one.holds ? "holds" : "does not hold"}. ${one.text}`;

/** A share in words, or why there is none. */
export const shareText = (share: NetworkNoise["of_runtime"], of: string): string =>
  share.share === null ? `Share of ${of}: cannot tell. ${share.cannot_tell ?? ""}` : `${percent(share.share)} of ${of}`;

type Column = (number | null)[];

const FLITS = "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS";
const STALLED = "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_STALLED";
const PACKETS = "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_PKTS";
/** Microseconds over all tracked responses, by the catalogue of counters. */
const LATENCY = "AR_NIC_ORB_PRF_NET_RSP_TRACK_2";
const TRACKED = "AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_NET_TRACK";
/** Cycles of an Aries NIC in a microsecond. */
const CYCLES_US = 800;
/** Size of the message whose time the model gives. */
export const MESSAGE_BYTES = 65_536;

export interface RunNoise {
  steps: number;
  total_s: number | null;
  mean_s: number | null;
  median_s: number | null;
  slowest_s: number | null;
  /** Quartile coefficient of dispersion of the step times: (Q3 - Q1) / (Q3 + Q1). */
  qcd: number | null;
  /** The same of the times that the model predicts from each step's NIC counters: the part of it due to the network. */
  network_qcd: number | null;
  /** Stalled NIC cycles a request flit. */
  stalls_per_flit: number | null;
  /** Mean time from a request to its response, in microseconds. */
  latency_us: number | null;
  /** Request flits per second: what may be compared between runs of different length. */
  flits_per_s: number | null;
  /** Equation 2 for one message of 64 KiB, in microseconds. */
  message_us: number | null;
}

const known = (column: Column | undefined): number[] =>
  (column ?? []).filter((value): value is number => value !== null && Number.isFinite(value));
const total = (column: Column | undefined): number | null =>
  known(column).length ? known(column).reduce((a, b) => a + b, 0) : null;
const per = (a: number | null, b: number | null): number | null => (a !== null && b !== null && b > 0 ? a / b : null);

/** Equation 2: T = (p + 512) / 1024 L + f (s + 1) cycles, for a PUT in packets of 64 bytes. */
export function messageCycles(bytes: number, latency: number, stalls: number): number {
  const packets = Math.ceil(bytes / 64);
  const flits = packets + Math.ceil(bytes / 16);
  return ((packets + 512) / 1024) * latency + flits * (stalls + 1);
}

function dispersion(values: number[]): number | null {
  const [q1, q3] = [quantile(values, 0.25), quantile(values, 0.75)];
  return q1 !== undefined && q3 !== undefined && q1 + q3 > 0 ? (q3 - q1) / (q3 + q1) : null;
}

/** The model's time of one message in each step whose counters are known, in cycles. */
function forecastSteps(counters: Record<string, Column>): number[] {
  return (counters[FLITS] ?? []).flatMap((flits, i) => {
    const at = (name: string) => counters[name]?.[i] ?? null;
    const [stalls, latency] = [per(at(STALLED), flits), per(at(LATENCY), at(TRACKED) ?? at(PACKETS))];
    return stalls === null || latency === null ? [] : [messageCycles(MESSAGE_BYTES, latency * CYCLES_US, stalls)];
  });
}

export function runNoise(time: Column, counters: Record<string, Column> | null): RunNoise {
  const times = known(time);
  const taken = total(time);
  const flits = total(counters?.[FLITS]);
  const stalls = per(total(counters?.[STALLED]), flits);
  // Where tracked responses were not recorded, each request is taken to have had one.
  const latency = per(total(counters?.[LATENCY]), total(counters?.[TRACKED]) ?? total(counters?.[PACKETS]));
  return {
    steps: times.length,
    total_s: taken,
    mean_s: per(taken, times.length),
    median_s: quantile(times, 0.5) ?? null,
    slowest_s: times.length ? Math.max(...times) : null,
    qcd: dispersion(times),
    network_qcd: counters ? dispersion(forecastSteps(counters)) : null,
    stalls_per_flit: stalls,
    latency_us: latency,
    flits_per_s: per(flits, taken),
    message_us:
      latency === null || stalls === null
        ? null
        : messageCycles(MESSAGE_BYTES, latency * CYCLES_US, stalls) / CYCLES_US,
  };
}

export interface Compared {
  nodes: string | null;
  noise: RunNoise;
}

/** Whether ratios of latency and stalls may be shown: within one allocation alone. */
export const comparable = ([first, ...others]: Compared[]): boolean =>
  first?.nodes != null && others.every((one) => one.nodes === first.nodes);

/** What the paper's guidelines say against a comparison of these runs, the first being the one that the others are held against. */
export function guidelines([first, ...others]: Compared[]): string[] {
  if (!first || !others.length) return [];
  const said = [];
  if (others.some((one) => one.nodes === null || first.nodes === null))
    said.push("The nodes of some runs are unknown, so differences may come from the allocation.");
  else if (others.some((one) => one.nodes !== first.nodes))
    said.push(
      "The runs had different allocations. Latency and stalls depend on each run's nodes, so their ratios are not shown.",
    );
  if (
    others.some(
      (one) => Math.abs((one.noise.total_s ?? 0) - (first.noise.total_s ?? 0)) > 0.05 * (first.noise.total_s ?? 0),
    )
  )
    said.push("The runs took different times, so only rates and ratios are compared, not counts.");
  return said;
}
