import { expect, it } from "vitest";
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
  judged: null,
  running: null,
  fresh: "",
  empty: false,
};

it("calls a figure unknown only once nothing is on its way", () => {
  const coming = homeFigures({ ...asked, loading: { jobs: true, routers: true, classes: true } });
  expect(coming.filter((one) => one.value === UNKNOWN && !one.loading)).toEqual([]);
  const none = homeFigures({ ...asked, loading: { jobs: false, routers: false, classes: false } });
  expect(none.map((one) => [one.value, one.loading])).toEqual(none.map(() => [UNKNOWN, false]));
});

it("shows what has come while the rest loads", () => {
  const loading = { jobs: true, routers: true, classes: true };
  const [jobs, ...others] = homeFigures({ ...asked, running: [{ nodes: 8 }], loading });
  expect([jobs?.value, jobs?.loading]).toEqual(["1", false]);
  expect(others.every((one) => one.loading)).toBe(true);
});
