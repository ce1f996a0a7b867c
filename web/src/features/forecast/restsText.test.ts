import { expect, test } from "vitest";
import { restsText } from "./restsText";

const input = (name: string, verdict: string) => ({
  name,
  meaning: "",
  features: [name],
  increase: 2,
  low: verdict === "carries" ? 1 : -1,
  high: 3,
  verdict,
});
const rests = (...inputs: ReturnType<typeof input>[]) => ({
  forecaster: "ridge",
  mape: 9,
  learned: 60,
  runs: 40,
  inputs,
  weights: [],
});

test("an input whose interval holds zero is never named", () => {
  expect(restsText(rests(input("A", "cannot tell"), input("B", "not used")))).toContain("cannot tell");
  const said = restsText(rests(input("A", "cannot tell"), input("B", "carries"), input("C", "carries")));
  expect(said).toBe("ridge: first B (+2.0 points), and 1 more");
});
