import { expect, it } from "vitest";
import type { RunningRun } from "../../api/estimateShapes";
import type { Incident } from "../../api/incident";
import type { Fabric } from "../../api/shapes";
import { UNKNOWN } from "../../lib/format";
import { homeFigures } from "./homeFigures";

const fabric = {
  name: "m",
  kind: "dragonfly",
  snapshot: false,
  simulated: false,
  routers: 96,
  endpoints: 384,
} as Fabric;
const asked = {
  fabric,
  values: null,
  overview: null,
  congestion: null,
  occupancy: null,
  incident: null,
  forecasts: null,
  lost: null,
  span: "today",
  running: null,
  fresh: "",
  empty: false,
  past: false,
};

const all = (loading: boolean) => ({
  jobs: loading,
  routers: loading,
  classes: loading,
  incident: loading,
  forecasts: loading,
  lost: loading,
});

it("calls a figure unknown only once nothing is on its way", () => {
  const coming = homeFigures({ ...asked, loading: all(true) });
  expect(coming.filter((one) => one.value === UNKNOWN && !one.loading)).toEqual([]);
  const none = homeFigures({ ...asked, loading: all(false) });
  expect(none.map((one) => [one.value, one.loading])).toEqual(none.map(() => [UNKNOWN, false]));
});

it("says how many jobs are slow, what is ahead and what noise cost, in place of raw percentiles", () => {
  const slow = { until: null, node_hours: 1 };
  const incident = { victims: [slow], others: [], judged: { running: 36, not_slow: 3 } } as unknown as Incident;
  const next = { slowdown: 1.11, usual_s: 100, low_s: 106, high_s: 119 };
  const forecasts = [{ newest: next }, { newest: null }] as unknown as RunningRun[];
  const lost = { incidents: [{ node_hours: 12.9 }, { node_hours: 4.1 }], more: false, hours: 10, unexamined: 0 };
  const figures = homeFigures({ ...asked, incident, forecasts, lost, loading: all(true) }).slice(0, 3);
  expect(figures.map((one) => `${one.label}: ${one.value} ${one.unit}, ${one.detail}`)).toEqual([
    "Jobs slowed now: 1 of 36 running, 4 can be judged",
    "Slowdown ahead: +11 % mean of 1 job, 90 %: +6 % to +19 %",
    "Lost to noise, today: 17 node-hours, 2 incidents · 0.4 % of the machine",
  ]);
  const waiting = (incidents: { node_hours: number | null }[]) =>
    homeFigures({ ...asked, lost: { incidents, more: false, hours: 10, unexamined: 12 }, loading: all(true) })[2];
  expect(waiting([])).toMatchObject({ value: UNKNOWN, detail: "0 incidents · 12 ended jobs not examined yet" });
  expect(waiting([{ node_hours: 4 }])).toMatchObject({ value: "> 4.0" });
  const none = { incidents: [], more: false, hours: 10, unexamined: 0 };
  const covered = (coverage: (number | null)[], cards_counted = false) =>
    homeFigures({ ...asked, lost: none, overview: { coverage, cards_counted }, loading: all(false) })[2];
  expect(covered([null, null])).toMatchObject({ value: UNKNOWN, detail: "no counters for this time" });
  expect(covered([null, 1])).toMatchObject({ value: "0.0", detail: "0 incidents" });
  expect(covered([null, null], true)).toMatchObject({ value: "0.0", detail: "0 incidents" });
  const nothing = { victims: [], others: [], judged: { running: 35, not_slow: 0 } } as unknown as Incident;
  expect(homeFigures({ ...asked, incident: nothing, loading: all(false) })[0]).toMatchObject({
    value: UNKNOWN,
    detail: "none can be judged",
  });
});
