import { expect, it, test } from "vitest";
import { byChance, chanceText, effectText, type Evidence, evidenceText } from "./evidence";

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

const one: Evidence = {
  exe: "amg",
  nodes: 128,
  runs: 190,
  place: 2,
  simulated: true,
  verdict: "named",
  testable: true,
  q: 0.0004,
  effect_s: 12,
  effect_low_s: -1.5,
  effect_high_s: 25.5,
  exposed_runs: 40,
  mi_bits: 0.0312,
  mi_sign: -1,
  mi_q: 0.2,
};

test("a set says its verdict, how sure, and what it costs", () => {
  expect(evidenceText(one, "ours")).toBe(
    "named, q < 0.001, 12.0 s in an exposed run (\u22121.5 to 25.5 s), alongside 40 of 190 runs, simulated",
  );
  expect(evidenceText({ ...one, effect_s: null, effect_low_s: null, simulated: false }, "ours")).toBe(
    "named, q < 0.001, alongside 40 of 190 runs",
  );
});

test("by the published method it says mutual information and its direction", () => {
  expect(evidenceText(one, "paper")).toBe(
    "mutual information 0.031 bits, faster with, q 0.200, alongside 40 of 190 runs, simulated",
  );
});

test("what cannot be tested shows no figure", () => {
  expect(evidenceText({ ...one, testable: false, q: null }, "ours")).toBe(
    "cannot be tested, alongside 40 of 190 runs, simulated",
  );
});

test("an effect has seconds and node-hours with their intervals, or nothing", () => {
  const known = { effect_s: 12, effect_low_s: -1.5, effect_high_s: 25.5 };
  const lost = { lost_node_hours: 17.06, lost_low_node_hours: -2.1, lost_high_node_hours: 36.2 };
  expect(effectText({ ...known, ...lost })).toBe(
    "12.0 s in an exposed run (95 %: \u22121.5 to 25.5), 17.1 node-hours in all (95 %: \u22122.1 to 36.2)",
  );
  const none = { lost_node_hours: null, lost_low_node_hours: null, lost_high_node_hours: null };
  expect(effectText({ ...known, ...none, effect_low_s: null })).toBe("12.0 s in an exposed run");
  expect(effectText({ effect_s: null, effect_low_s: null, effect_high_s: null, ...none })).toBe("");
});
