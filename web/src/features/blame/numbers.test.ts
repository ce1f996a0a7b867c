import { expect, it } from "vitest";
import { byChance, chanceText } from "./numbers";

const entry = (name: string, q: number | null, effect_s: number | null, testable = true) => ({
  name,
  q,
  effect_s,
  testable,
});

it("orders names of equal chance by effect, and says that none differs from chance", () => {
  const entries = [entry("d", null, 99, false), entry("a", 0.936, 4), entry("b", 0.936, 52), entry("c", 0.756, 1)];
  expect(byChance(entries).map((one) => one.name)).toEqual(["c", "b", "a", "d"]);
  expect(chanceText(entries)).toBe(": none differs from chance (least q 0.756)");
  expect(chanceText([entry("a", 0.01, 4)]) + chanceText([])).toBe("");
});
