import { wordsOf } from "../../machine/words";
import { expect, it } from "vitest";
import type { Alert } from "../../api/alertShapes";
import type { Incident } from "../../api/incident";
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
const ask = (alerts: Alert[]) =>
  attention({
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
    alerts,
    now: 0,
  });

it("has one item for all that fires, which leads to the worst; none on a calm machine", () => {
  expect(ask([])).toEqual([]);
  const [item, ...more] = ask([alert(3, "warning"), alert(2, "critical"), alert(1, "info")]);
  expect(more).toEqual([]);
  expect(item).toMatchObject({ level: "high", title: "3 alerts firing, 1 critical", href: "/alerts?alert=2" });
  expect(ask([alert(7, "warning")])[0]).toMatchObject({ level: "medium", title: "alert 7", href: "/alerts?alert=7" });
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
      alerts: [],
      now: 0,
    }).map(({ id }) => id);
  expect(titles(incident)).toEqual(["job 3"]);
  expect(titles({ ...incident, verdict: "none", last: null })).toEqual(["job 1", "job 2", "job 3"]);
  expect(titles(null)).toEqual(["job 1", "job 2", "job 3"]);
});
