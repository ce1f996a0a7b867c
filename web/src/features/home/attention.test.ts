import { wordsOf } from "../../machine/words";
import { expect, it } from "vitest";
import type { Alert } from "../../api/alertShapes";
import type { Incident } from "../../api/incident";
import type { IngestStatus } from "../../api/shapes";
import { attention } from "./attention";

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
  jobs: [],
  incident: null,
  ingest: null,
  forecasts: [],
  alerts: { items: alerts, next_cursor: null },
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

it("has one row for all topics that are behind: the latest, and how many records wait", () => {
  const topic = (name: string, lag_s: number | null, lag_records: number | null) => ({
    topic: name,
    lag_s,
    lag_records,
    last_at: null,
  });
  const told = (...topics: unknown[]) => {
    const ingest = {
      topics,
      silent: [],
      dead_letters: { recent: [], total: 0, last_hour: 0 },
    } as unknown as IngestStatus;
    return attention({ ...asked([]), ingest }).map(({ title, detail }) => [title, detail]);
  };
  expect(told(topic("ldms", 5, 9), topic("slurm", null, null))).toEqual([]);
  expect(told(topic("ldms", 41, 9), topic("slurm", 2, 1))).toEqual([["ldms is 41 s behind", "9 records wait"]]);
  expect(told(topic("slurm", 9, 1), topic("ldms", 41, 9))).toEqual([
    ["2 topics are behind, ldms is 41 s behind", "10 records wait"],
  ]);
  expect(told(topic("ldms", 41, 9), topic("slurm", 9, null))[0]?.[1]).toBe("how many records wait is unknown");
});

it("lists the job that causes an incident, and those it slows, in the card above alone", () => {
  const stall = (job_pk: number) => ({
    job: { job_pk, job_id: `${job_pk}`, user: null, name: null, nodes: 10, routers: [job_pk] },
    ratio: 9,
    factor: 3,
  });
  const job = (job_pk: number) => ({ job_pk }) as never;
  const incident = { verdict: "incident", aggressor: job(1), victims: [job(2)] } as unknown as Incident;
  const titles = (told: Incident | null) =>
    attention({
      fabric: "m",
      when: {},
      noun: "group",
      words: wordsOf(null),
      window: null,
      panels: [],
      jobs: [1, 2, 3].map(stall),
      incident: told,
      ingest: null,
      forecasts: [],
      alerts: null,
    }).map(({ id }) => id);
  expect(titles(incident)).toEqual(["job 3"]);
  expect(titles({ ...incident, verdict: "none", last: null })).toEqual(["job 1", "job 2", "job 3"]);
  expect(titles(null)).toEqual(["job 1", "job 2", "job 3"]);
});
