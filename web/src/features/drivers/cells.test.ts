import { expect, test } from "vitest";
import type { Deviation } from "../../api/estimateShapes";
import { driverCells, headHeight, ranked } from "./cells";

const head = {
  estimate_id: 1,
  exe: "amg",
  nodes: 128,
  created: "",
  code_version: "",
  runs: 40,
  steps: 20,
  first: "",
  last: "",
  simulated: true,
  source: "runs" as const,
};
const counter = (abbreviation: string) => ({
  abbreviation,
  vendor: abbreviation,
  column: abbreviation,
  description: "",
  meaning: "traffic",
});
const deviation: Deviation = {
  inputs: "rates",
  caveat: "",
  counters: ["A", "B", "C"].map(counter),
  lacking: [],
  sets: [
    {
      estimate: head,
      relevance: [0.2, 1, null],
      relevance_spread: [0.1, 0, null],
      rank: [2, 1, null],
      rank_spread: [0.4, 0, null],
      place: [null, null, null],
      answer: [],
      mape: 4,
      mape_spread: 1,
      baseline_mape: 9,
      row_split_mape: null,
      folds: 10,
    },
  ],
};

test("a counter that a set does not have stays unknown, not irrelevant", () => {
  expect(driverCells(deviation, "relevance").map((cell) => cell.weight)).toEqual([0.2, 1, null]);
  expect(driverCells(deviation, "rank").map((cell) => cell.weight)).toEqual([0, 1, null]);
  expect(ranked(deviation, 0)).toEqual([1, 0]);
});

test("features stand by what their group explains, not by the rank of one of them", () => {
  const sets = deviation.sets.map((one) => ({ ...one, place: [1, 2, null] }));
  expect(ranked({ ...deviation, sets }, 0)).toEqual([0, 1]);
});

test("the longest head of a column is whole", () => {
  expect(headHeight(["RT_FLIT_TOT"])).toBe(96);
  expect(headHeight(["largest share of its nodes"])).toBeGreaterThan(26 * 6 * 0.82 + 8);
});
