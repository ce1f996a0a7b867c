/** What packet samples say of links, in the terms of a tree's picture; which contexts there are to choose from (State). */
import type { SampleContexts, SampleMap } from "../../api/samples";
import type { Fabric } from "../../api/shapes";
import type { Machine } from "../../charts/arrange";
import { type HalfEdge, type LinkSums, ratioOf } from "../../charts/tree";
import { plural } from "../../lib/format";
import type { JobOverlay } from "../../machine/scene";
import type { FabricSearch } from "./address";

// What a tree says where it is pointed at, and whose switches are ringed.

/** Each job's switches with its place: of a switch that several use, the first. */
export const ringsOf = (jobs: JobOverlay[]): ReadonlyMap<number, number> =>
  new Map(
    [...jobs].reverse().flatMap((job, i) => [...job.routers].map((router) => [router, jobs.length - 1 - i] as const)),
  );

export function linkText(
  machine: Machine,
  src: number,
  dst: number,
  half: HalfEdge,
  valueText: (value: number) => string,
): string {
  const value = ratioOf(half);
  const cables = half.links > 1 ? `\n${plural(half.links, "parallel cable")}` : "";
  return `${machine.name[src] ?? src} → ${machine.name[dst] ?? dst}\n${value < 0 ? "not counted" : valueText(value)}${cables}`;
}

export interface Cables {
  link: number[];
  src: (number | null)[];
  dst: (number | null)[];
  src_port: (number | null)[];
  dst_port: (number | null)[];
  class: string[];
  src_endpoint: (number | null)[];
  dst_endpoint: (number | null)[];
}

/** One sampled link: packets with their standard deviations, bytes, and the fraction that found it congested (null: no packet passed). */
export interface SampledLink {
  link: number;
  src: number | null;
  dst: number | null;
  srcPort: number | null;
  dstPort: number | null;
  class: string;
  packets: number;
  packetsError: number;
  bytes: number;
  fraction: number | null;
}

/** Rows of the map; an end at a node is null. Links that no packet might have passed are absent: unknown. */
export function sampledLinks(cables: Cables, { links }: Pick<SampleMap, "links">): SampledLink[] {
  const place = new Map(cables.link.map((link, i) => [link, i]));
  return links.link.flatMap((link, k): SampledLink[] => {
    const i = place.get(link);
    if (i === undefined) return [];
    const router = (ends: (number | null)[], nodes: (number | null)[]) => (nodes[i] == null ? (ends[i] ?? null) : null);
    return [
      {
        link,
        src: router(cables.src, cables.src_endpoint),
        dst: router(cables.dst, cables.dst_endpoint),
        srcPort: cables.src_port[i] ?? null,
        dstPort: cables.dst_port[i] ?? null,
        class: cables.class[i] ?? "",
        packets: links.traffic[k] ?? 0,
        packetsError: links.traffic_error[k] ?? 0,
        bytes: links.bytes[k] ?? 0,
        fraction: links.congested_fraction[k] ?? null,
      },
    ];
  });
}

/** Bytes and congested bytes take the places of flits and stalls: their ratio is the congested fraction, weighted by traffic. */
export function sampledSums(rows: SampledLink[]): LinkSums {
  return {
    link: rows.map((r) => r.link),
    src: rows.map((r) => r.src),
    dst: rows.map((r) => r.dst),
    src_port: rows.map((r) => r.srcPort),
    dst_port: rows.map((r) => r.dstPort),
    flits: rows.map((r) => r.bytes),
    stall_cycles: rows.map((r) => r.bytes * (r.fraction ?? 0)),
  };
}

export const FILTERS = ["job", "tag", "phase"] as const;
export type Filter = Partial<Record<(typeof FILTERS)[number], string>>;

/** The values of one part of a context that the other chosen parts leave, newest first. */
export function choices(contexts: SampleContexts["items"], chosen: Filter, part: keyof Filter): string[] {
  const key = { job: "job_id", tag: "tag", phase: "phase" } as const;
  const fits = contexts.filter((one) =>
    FILTERS.every((other) => other === part || chosen[other] === undefined || one[key[other]] === chosen[other]),
  );
  return [...new Set(fits.map((one) => one[key[part]]).filter((value): value is string => value !== null))];
}

/** What colours a tree: what was chosen, else counters, or packets where nothing counts. */
export const measureOf = (search: FabricSearch, fabric: Fabric) =>
  search.measure ?? (fabric.last_ts === null && !fabric.snapshot ? "packets" : "stalls");
