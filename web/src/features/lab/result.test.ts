import { expect, test } from "vitest";
import { resultTables } from "./result";

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
