import fc from "fast-check";
import { expect, it, test } from "vitest";
import { boxSeries, factName, factText, quantile, resultTables } from "./results";

test("facts, nested facts and lists of records are found; what is neither is left out", () => {
  const { facts, tables } = resultTables({
    wall_s: 2,
    machine: { name: "theta" },
    points: [{ x: 1, y: { mean: 3 } }, { x: 2 }],
    raw: [1, 2],
  });
  expect(facts).toEqual([
    ["wall_s", 2],
    ["machine.name", "theta"],
  ]);
  expect(tables).toEqual([{ name: "points", columns: ["x", "y.mean"], rows: [{ x: 1, "y.mean": 3 }, { x: 2 }] }]);
  expect(resultTables(null)).toEqual({ facts: [["result", null]], tables: [] });
});

it("finds figures by seed and quartiles, and names what tells them apart", () => {
  const [times, latency] = boxSeries({
    variants: [
      { label: "as it was", time_s: [1, 3, 2], mean_latency_ns: [5, 6, 7] },
      { label: "moved", time_s: [4, 4, 4], mean_latency_ns: [1, 2, 3] },
    ],
    wall_s: 3,
    simulated: true,
  });
  expect([times?.name, latency?.name]).toEqual(["time_s", "mean_latency_ns"]);
  expect(times?.boxes[0]).toEqual({
    label: "as it was",
    low: 1,
    q1: 1.5,
    median: 2,
    q3: 2.5,
    high: 3,
    values: [1, 2, 3],
  });
  const [study] = boxSeries({
    points: [
      {
        application: "CR",
        placement: "contiguous",
        seed: 1,
        mean_hops: 2.1,
        time_ms: { min: 1, q1: 2, median: 3, q3: 4, max: 5 },
      },
      { application: "CR", placement: "random-node", seed: 1, mean_hops: 2.4, time_ms: { q1: 2, median: 3, q3: 4 } },
    ],
  });
  expect(study?.boxes.map((box) => [box.label, box.low, box.high])).toEqual([
    ["contiguous", 1, 5],
    ["random-node", 2, 4],
  ]);
});

it("leaves what is no distribution alone", () => {
  expect(boxSeries({ points: [{ x: 1, y: [1, null] }], raw: [1, 2], text: "a" })).toEqual([]);
  expect(boxSeries(null)).toEqual([]);
});

it("orders quartiles", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 20 }),
      (values) => {
        const box = boxSeries({ list: [{ label: "a", v: values }] })[0]?.boxes[0];
        expect(box && box.low <= box.q1 && box.q1 <= box.median && box.median <= box.q3 && box.q3 <= box.high).toBe(
          true,
        );
      },
    ),
  );
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
});

it("shows short times in milliseconds", () => {
  const [times] = boxSeries({ variants: [{ label: "a", time_s: [0.001, 0.003] }] });
  expect([times?.name, times?.boxes[0]?.median]).toEqual(["time_ms", 2]);
});

it("names what a result holds with its unit, and a time as one", () => {
  expect(["lost_low_s", "mean_us", "beside.gib_per_s", "load_gib_per_s", "routers.best"].map(factName)).toEqual([
    "lost low, s",
    "mean, µs",
    "other jobs' traffic, GiB/s",
    "load gib per s",
    "routers best",
  ]);
  expect(factText("at_s", Date.UTC(2026, 10, 29, 15, 16, 5) / 1000)).toMatch(/15:16:05 UTC$/);
  expect([factText("ranks", 1128), factText("lost_s", 134.7123), factText("job", "7"), factText("best", null)]).toEqual(
    ["1,128", "134.7", "7", "–"],
  );
});
