/** What needs attention now, ordered by nodes at stake; every item leads to its evidence. Pure. */
import type { Words } from "../../machine/words";
import type { AlertPage } from "../../api/alerts";
import type { RunningRun } from "../../api/estimateShapes";
import type { Incident, SlowJob } from "../../api/incident";
import { type IngestStatus, LATE_S, type Occupancy } from "../../api/shapes";
import type { PanelFigures, RouterWindow } from "../../charts/window";
import { change, count, duration, lostTime, plural, ratio } from "../../lib/format";
import { stringifySearch } from "../../lib/address";
import { moment, parseTime } from "../../lib/time";

export interface Item {
  id: string;
  level: "high" | "medium" | "info";
  title: string;
  detail: string;
  stake: string;
  at: number | null;
  /** Path of the evidence. */
  href: string;
  action: string;
  weight: number;
}

/** Above this many stall cycles per flit a router is called hot: the dark half of the scale. */
export const HOT = 8;
const HOT_SHARE = 0.1;
const FORECAST_FACTOR = 1.1;

export interface JobStall {
  job: Occupancy["jobs"][number];
  ratio: number;
  factor: number;
}

/** Jobs by how much more their routers stall than the machine; one that began after `from` is left out: its routers counted before it too. */
export function jobStalls(jobs: Occupancy["jobs"], window: RouterWindow, from: number | null): JobStall[] {
  const sum = (routers: Iterable<number>) => {
    let flits = 0,
      stalls = 0;
    for (const router of routers) {
      if (!((window.coverage[router] ?? 0) > 0)) continue;
      flits += window.flits[router] ?? 0;
      stalls += window.stalls[router] ?? 0;
    }
    return flits > 0 ? stalls / flits : NaN;
  };
  const machine = sum(window.flits.keys());
  return jobs
    .filter(({ start }) => from === null || (parseTime(start) ?? from) <= from)
    .map((job) => {
      const own = sum(job.routers);
      return { job, ratio: own, factor: own / machine };
    })
    .filter((stall) => Number.isFinite(stall.factor))
    .sort((a, b) => b.factor - a.factor);
}

interface Inputs {
  fabric: string;
  /** The window's place in an address; empty while it is live. */
  when: { from?: string; to?: string };
  noun: string;
  words: Words;
  window: RouterWindow | null;
  panels: { label: string; routers: number[]; figures: PanelFigures }[];
  /** Who is slow now. */
  incident: Incident | null;
  ingest: IngestStatus | null;
  forecasts: RunningRun[];
  /** The first page of those that fire. */
  alerts: AlertPage | null;
  /** Milliseconds; times of another day are told with their day. */
  now: number;
}

export function attention({
  fabric,
  when,
  noun,
  words,
  window,
  panels,
  incident,
  ingest,
  forecasts,
  alerts,
  now,
}: Inputs): Item[] {
  const slow = slowItems(incident, when.to, now);
  const listed = new Set(slow.map(({ href }) => href));
  const items: Item[] = [
    ...slow,
    ...forecastItems(forecasts).filter(({ href }) => !listed.has(href)),
    ...fired(alerts),
  ];
  const fabricPath = `/fabric/${encodeURIComponent(fabric)}`;
  if (window) {
    for (const { label, routers, figures } of panels) {
      const hot = routers.filter((router) => (window.ratio[router] ?? 0) > HOT);
      if (hot.length < Math.max(3, HOT_SHARE * figures.counted)) continue;
      items.push({
        id: `hot ${label}`,
        level: "medium",
        title: `${hot.length} of ${figures.counted} ${words.routers} in ${label} above ${HOT} ${words.amount}`,
        detail: `the ${noun} as a whole: ${ratio(figures.ratio)}`,
        stake: plural(hot.length, words.router, words.routers),
        at: null,
        href: `${fabricPath}${stringifySearch({ router: hot[0] ?? 0, ...when })}`,
        action: "Fabric",
        weight: hot.length,
      });
    }
  }
  for (const gap of ingest?.silent ?? []) {
    items.push({
      id: `gap ${gap.schema} ${gap.from}`,
      level: "info",
      title: `${plural(gap.devices, "device")} silent${gap.schema ? ` (${gap.schema})` : ""}`,
      detail: "shown hatched, not as zero",
      stake: plural(gap.devices, "device"),
      at: parseTime(gap.from),
      href: "/health",
      action: "Data",
      weight: 0.5 + gap.devices / 1000,
    });
  }
  const refused = ingest?.dead_letters;
  if (refused?.last_hour) {
    items.push({
      id: "refused",
      level: "info",
      title: `${plural(refused.last_hour, "record")} refused in the last hour`,
      detail: refused.recent[0]?.reason ?? "",
      stake: `${count(refused.total)} in all`,
      at: parseTime(refused.recent[0]?.at),
      href: "/health",
      action: "Data",
      weight: 0.4,
    });
  }
  if (ingest?.read_only)
    items.push({
      id: "read-only",
      level: "high",
      title: "Read-only: nothing new is stored",
      detail: ingest.read_only,
      stake: "",
      at: null,
      href: "/health",
      action: "Data",
      weight: Number.MAX_VALUE,
    });
  items.push(...behind(ingest));
  return items.sort((a, b) => b.weight - a.weight);
}

/** Topics that the writer is behind with, latest first in one row: one cause delays them all, and the other items keep their places. */
function behind(ingest: IngestStatus | null): Item[] {
  const late = (ingest?.topics ?? [])
    .filter((topic) => (topic.lag_s ?? 0) > LATE_S)
    .sort((a, b) => (b.lag_s ?? 0) - (a.lag_s ?? 0));
  const [worst] = late;
  if (!worst) return [];
  const by = `${Math.round(worst.lag_s ?? 0)} s behind`;
  const waiting = late.reduce<number | null>(
    (sum, { lag_records }) => (sum === null || lag_records === null ? null : sum + lag_records),
    0,
  );
  return [
    {
      id: "lag",
      level: "medium",
      title:
        late.length === 1
          ? `${worst.topic} is ${by}`
          : `${count(late.length)} topics are behind, ${worst.topic} is ${by}`,
      detail:
        waiting === null ? "the number of waiting records is unknown" : plural(waiting, "record waits", "records wait"),
      stake: "all pages",
      at: parseTime(worst.last_at),
      href: "/health",
      action: "Data",
      weight: 0.6,
    },
  ];
}

/** The figure is of all steps since then; that of the worst jobs is of their newest steps. */
function sinceText(since: string, now: number): string {
  const at = parseTime(since);
  return at === null ? "" : ` since ${moment(at, now)}`;
}

/** Jobs that are slow now, with what they have lost and who is named for it. */
function slowItems(incident: Incident | null, at: string | undefined, now: number): Item[] {
  const cause = incident?.aggressor?.job_id;
  const item = (one: SlowJob, detail: string): Item[] =>
    one.until === null
      ? [
          {
            id: `slow ${one.job_pk}`,
            level: one.factor >= 1.5 ? "high" : "medium",
            title: `Job ${one.job_id} ${one.name ?? ""} is slow: ${change(one.factor)}${sinceText(one.since, now)}`,
            detail: `${lostTime(one.lost_s)} lost; ${detail}`,
            stake: one.nodes === null ? "nodes unknown" : plural(one.nodes, "node"),
            at: parseTime(one.since),
            href: `/jobs/${encodeURIComponent(one.job_id)}${stringifySearch({ at })}`,
            action: "Why slow",
            weight: (one.nodes ?? 1) * (one.factor - 1),
          },
        ]
      : [];
  return [
    ...(incident?.victims ?? []).flatMap((one) => item(one, `job ${cause} fills the links that it waits for`)),
    ...(incident?.others ?? []).flatMap((one) =>
      item(one, one.verdict === "slows itself" ? "it slows itself" : "cannot tell which job caused it"),
    ),
  ];
}

/** The incident that home's card shows, as the first row of an export; none if there is none. */
export function incidentItems(incident: Incident | null): Item[] {
  const story = incident && (incident.verdict === "none" ? incident.last : incident);
  if (!story) return [];
  const slowed = story.victims.map((one) => `job ${one.job_id} ${change(one.factor)}, ${lostTime(one.lost_s)} lost`);
  return [
    {
      id: "incident",
      level: story === incident?.last ? "info" : "high",
      title: story.title,
      detail: [story.detail, ...slowed].join("; "),
      stake: plural(story.victims.length, "job"),
      at: parseTime(story.since),
      href: story.incident_id === null ? "/" : `/incidents/${story.incident_id}`,
      action: "Incident",
      weight: 0,
    },
  ];
}

/** Running jobs whose whole 90 % interval lies above the usual. */
function forecastItems(forecasts: RunningRun[]): Item[] {
  return forecasts.flatMap(({ newest, job_id, run_id, exe, nodes }): Item[] => {
    if (!newest || newest.slowdown < FORECAST_FACTOR || newest.low_s <= newest.usual_s) return [];
    return [
      {
        id: `forecast ${run_id}`,
        level: newest.slowdown >= 1.5 ? "high" : "medium",
        title: `${job_id === null ? `Run ${run_id}` : `Job ${job_id}`} ${exe} is predicted to be slow: ${change(newest.slowdown)}`,
        detail: `next ${plural(newest.ahead, "step")} in ${duration(newest.low_s)} to ${duration(newest.high_s)} (90 %), usual ${duration(newest.usual_s)}`,
        stake: plural(nodes, "node"),
        at: parseTime(newest.made),
        href: job_id === null ? `/forecast?run=${run_id}` : `/jobs/${encodeURIComponent(job_id)}`,
        action: job_id === null ? "Forecast" : "Why slow",
        weight: nodes * (newest.slowdown - 1),
      },
    ];
  });
}

/** What fires is one item: the page of alerts tells them apart. Critical ones come before everything. */
function fired(page: AlertPage | null): Item[] {
  const alerts = page?.items ?? [];
  const more = Boolean(page?.next_cursor);
  const critical = alerts.filter((alert) => alert.severity === "critical");
  const first = critical[0] ?? alerts[0];
  if (!first) return [];
  return [
    {
      id: "alerts",
      level: critical.length ? "high" : "medium",
      title:
        alerts.length === 1
          ? first.summary
          : `${more ? "More than " : ""}${plural(alerts.length, "alert")} firing${critical.length ? `, ${critical.length} critical` : ""}`,
      detail: alerts.length === 1 ? first.rule : `${first.summary}, and others`,
      stake: `${more ? "over " : ""}${plural(alerts.length, "alert")}`,
      at: parseTime(first.fired_at),
      href: `/alerts?alert=${first.alert_id}`,
      action: "Alerts",
      weight: critical.length ? Infinity : 1,
    },
  ];
}
