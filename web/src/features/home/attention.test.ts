import { wordsOf } from "../../machine/words";
import { expect, it } from "vitest";
import type { Alert } from "../../api/alerts";
import type { Incident } from "../../api/incident";
import type { IngestStatus } from "../../api/shapes";
import { attention, incidentItems, jobStalls } from "./attention";

const alert = (alert_id: number, severity: string): Alert => ({
  alert_id,
  rule: "r",
  labels: {},
  phase: "firing",
  severity,
  since: "",
  seen: "",
  fired_at: "2026-03-02T11:45:00Z",
  resolved_at: null,
  value: 1,
  peak: 1,
  probability: null,
  summary: `alert ${alert_id}`,
  simulated: false,
  page: null,
});
const asked = (alerts: Alert[]) => ({
  fabric: "m",
  when: {},
  noun: "group",
  words: wordsOf(null),
  window: null,
  panels: [],
  incident: null,
  ingest: null,
  forecasts: [],
  alerts: { items: alerts, next_cursor: null },
  now: Date.parse("2026-03-02T12:00:00Z"),
});
const ask = (alerts: Alert[]) => attention(asked(alerts));

it("has one item for all that fires, which leads to the worst; none on a calm machine", () => {
  expect(ask([])).toEqual([]);
  const [item, ...more] = ask([alert(3, "warning"), alert(2, "critical"), alert(1, "info")]);
  expect(more).toEqual([]);
  expect(item).toMatchObject({ level: "high", title: "3 alerts firing, 1 critical", href: "/alerts?alert=2" });
  expect(ask([alert(7, "warning")])[0]).toMatchObject({ level: "medium", title: "alert 7", href: "/alerts?alert=7" });
});

it("counts all that is silent, refused or fires, not what is listed", () => {
  const ingest = {
    topics: [],
    silent: [{ schema: "ports", from: "2026-01-05T00:00:00Z", devices: 5007 }],
    dead_letters: { total: 70_000, last_hour: 1200, recent: [{ at: "2026-01-05T00:00:00Z", reason: "cut short" }] },
  } as unknown as IngestStatus;
  const titles = attention({
    ...asked([]),
    alerts: { items: [alert(1, "info"), alert(2, "info")], next_cursor: "2" },
    ingest,
  }).map((item) => item.title);
  expect(titles).toContain("5,007 devices silent (ports)");
  expect(titles).toContain("1,200 records refused in the last hour");
  expect(titles).toContain("More than 2 alerts firing");
});

it("says before all but critical alerts that nothing new is stored, and why", () => {
  const ingest = {
    read_only: "the database's disk has 400 MiB left",
    topics: [{ topic: "ldms", lag_s: 41, lag_records: 9, last_at: null }],
    silent: [],
    dead_letters: { recent: [], total: 0, last_hour: 0 },
  } as unknown as IngestStatus;
  expect(attention({ ...asked([alert(2, "info")]), ingest })[0]).toMatchObject({
    level: "high",
    title: "Read-only: nothing new is stored",
    detail: "the database's disk has 400 MiB left",
    href: "/health",
  });
});

it("has one row for all topics that are behind: the latest, and how many records wait", () => {
  const topic = (name: string, lag_s: number | null, lag_records: number | null) => ({
    topic: name,
    lag_s,
    lag_records,
    last_at: null,
  });
  const itemsOf = (...topics: unknown[]) => {
    const ingest = {
      topics,
      silent: [],
      dead_letters: { recent: [], total: 0, last_hour: 0 },
    } as unknown as IngestStatus;
    return attention({ ...asked([]), ingest }).map(({ title, detail }) => [title, detail]);
  };
  expect(itemsOf(topic("ldms", 5, 9), topic("slurm", null, null))).toEqual([]);
  expect(itemsOf(topic("ldms", 41, 9), topic("slurm", 2, 1))).toEqual([["ldms is 41 s behind", "9 records wait"]]);
  expect(itemsOf(topic("slurm", 9, 1), topic("ldms", 41, 9))).toEqual([
    ["2 topics are behind, ldms is 41 s behind", "10 records wait"],
  ]);
  expect(itemsOf(topic("ldms", 41, 9), topic("slurm", 9, null))[0]?.[1]).toBe(
    "the number of waiting records is unknown",
  );
});

it("lists slow jobs with what they lose and who is named, and no forecast of the same job", () => {
  const slow = (job_pk: number, more: object) => ({
    job_pk,
    job_id: `${job_pk}`,
    name: "amg",
    nodes: 10,
    factor: 1.4,
    lost_s: 154,
    since: "2026-03-02T11:45:00Z",
    until: null,
    verdict: "named",
    ...more,
  });
  const incident = {
    verdict: "incident",
    aggressor: { job_pk: 1, job_id: "1" },
    victims: [slow(2, {}), slow(3, { until: "2026-03-02T11:50:00Z" })],
    others: [
      slow(4, { verdict: "slows itself", factor: 1.2, since: "2026-03-01T23:50:00Z" }),
      slow(5, { verdict: "cannot tell", factor: 1.1 }),
    ],
  } as unknown as Incident;
  const items = attention({ ...asked([]), incident });
  expect(items.map(({ id }) => id)).toEqual(["slow 2", "slow 4", "slow 5"]);
  expect(items[0]).toMatchObject({ title: "Job 2 amg is slow: +40 % since 11:45", href: "/jobs/2", stake: "10 nodes" });
  expect(items[1]?.title).toBe("Job 4 amg is slow: +20 % since 1 Mar 23:50");
  expect(items.map(({ detail }) => detail.replace(/^.*; /, ""))).toEqual([
    "job 1 fills the links that it waits for",
    "it slows itself",
    "cannot tell which job caused it",
  ]);
  const forecasts = [2, 9].map((job) => ({
    job_id: `${job}`,
    run_id: job,
    exe: "x",
    nodes: 4,
    newest: { slowdown: 1.3, low_s: 12, usual_s: 10, high_s: 14, ahead: 3, made: "" },
  }));
  const ids = attention({ ...asked([]), incident, forecasts: forecasts as never }).map(({ id }) => id);
  expect(ids).toContain("forecast 9");
  expect(ids).not.toContain("forecast 2");
  expect(attention({ ...asked([]), incident: null })).toEqual([]);
});

it("leaves out jobs that began within the window, whose routers counted before them too", () => {
  const job = (job_pk: number, start: string) => ({
    job_pk,
    job_id: `${job_pk}`,
    user: null,
    name: null,
    nodes: 1,
    start,
    routers: [job_pk],
  });
  const window = { flits: [1, 1, 1], stalls: [1, 4, 4], coverage: [1, 1, 1] } as never;
  const jobs = [job(1, "2026-03-02T11:00:00Z"), job(2, "2026-03-02T11:45:00Z")];
  const from = Date.parse("2026-03-02T11:40:00Z");
  expect(jobStalls(jobs, window, from).map((one) => one.job.job_id)).toEqual(["1"]);
  expect(jobStalls(jobs, window, null)).toHaveLength(2);
});

it("gives the incident of the panel as the first row of an export, with what it cost", () => {
  const victim = { job_id: "7", factor: 2, lost_s: 199 };
  const last = {
    incident_id: 3,
    title: "Job 1 slowed 1 job",
    detail: "d",
    since: "2026-03-02T11:45:00Z",
    victims: [victim],
  };
  const quiet = { verdict: "none", last, victims: [] } as unknown as Incident;
  expect(incidentItems(quiet)).toMatchObject([{ title: "Job 1 slowed 1 job", href: "/incidents/3", level: "info" }]);
  expect(incidentItems(quiet)[0]?.detail).toMatch(/job 7 ×2\.0, 3 min 19 s lost/);
  expect(incidentItems({ ...quiet, last: null })).toEqual([]);
});
