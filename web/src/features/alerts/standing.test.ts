import { describe, expect, it } from "vitest";
import type { Alert, Rule, Silence } from "../../api/alerts";
import {
  freeName,
  lasted,
  lastValue,
  ownPath,
  ruleOf,
  ruleText,
  silencing,
  usualLevel as levelOf,
  valueText,
} from "./standing";

const samples = (...values: number[]) => values.map((value, i) => ({ at: i * 60_000, value }));

describe("a rule made from a chart", () => {
  it("fires above 95 % of what the chart shows, to two digits, and leaves unknown samples out", () => {
    const rising = samples(...Array.from({ length: 101 }, (_, i) => i / 10), NaN);
    expect(levelOf(rising)).toBe(9.5);
    expect(levelOf(samples(NaN, NaN))).toBeNull();
    expect(levelOf(samples(0, 0))).toBeNull();
  });

  it("has a name that the API takes and no other rule has", () => {
    expect(freeName("Stalls of perlis: g3 → g4", new Set())).toBe("stalls-of-perlis-g3-g4");
    expect(freeName("stalls perlis", new Set(["stalls-perlis", "stalls-perlis-2"]))).toBe("stalls-perlis-3");
    expect(freeName("→", new Set())).toBe("rule");
  });

  it("watches the chart's machine, or its application's forecasts with a probability", () => {
    const span = { from: 0, to: 1 };
    const stalls = ruleOf(
      { signal: "stall_ratio", where: { fabric: "perlis" }, samples: samples(2, 2), span },
      new Set(),
    );
    expect(stalls).toMatchObject({ name: "stalls-perlis", by: "machine", above: 2, probability: null });
    const slow = ruleOf({ signal: "slowdown", where: { exe: "/opt/bin/amg" }, samples: [], span }, new Set());
    expect(slow).toMatchObject({ name: "slow-amg", above: 1.2, probability: 0.8, where: { exe: "/opt/bin/amg" } });
  });
});

const now = Date.parse("2026-03-02T12:00:00Z");
const alert = {
  alert_id: 1,
  rule: "group-stalls",
  labels: { fabric: "perlis", group: "7" },
  severity: "warning",
  phase: "firing",
  since: "2026-03-02T11:40:00Z",
  fired_at: "2026-03-02T11:45:00Z",
  resolved_at: null,
} as unknown as Alert;
const silence = (matchers: Record<string, string>, more: Partial<Silence> = {}): Silence => ({
  silence_id: 1,
  matchers,
  starts: "2026-03-02T11:00:00Z",
  ends: "2026-03-02T13:00:00Z",
  comment: "",
  created_by: "",
  created: "",
  active: true,
  ...more,
});

describe("silences", () => {
  const signal = { signal: "stall_ratio" };
  it("hold where every matcher holds, by value or by whole regular expression", () => {
    expect(silencing(alert, signal, [silence({ fabric: "perlis", group: "/[5-9]/" })], now)).not.toBeNull();
    expect(silencing(alert, signal, [silence({ group: "/[5-6]/" })], now)).toBeNull();
    expect(silencing({ ...alert, labels: { group: "17" } }, signal, [silence({ group: "/7/" })], now)).toBeNull();
    expect(
      silencing(alert, signal, [silence({ signal: "stall_ratio", severity: "warning", rule: "group-stalls" })], now),
    ).not.toBeNull();
    expect(silencing(alert, signal, [silence({ node: "x" })], now)).toBeNull();
  });
  it("hold only between their ends, and a broken expression holds nothing", () => {
    expect(silencing(alert, signal, [silence({ fabric: "perlis" }, { ends: "2026-03-02T11:59:00Z" })], now)).toBeNull();
    expect(silencing(alert, signal, [silence({ fabric: "/(/" })], now)).toBeNull();
  });
});

it("says how long", () => {
  expect(lasted(alert, now)).toBe("firing for 15 min");
  expect(lasted({ ...alert, resolved_at: "2026-03-02T11:53:00Z" }, now)).toBe("11:45, lasted 8 min");
  expect(lasted({ ...alert, fired_at: null }, now)).toBe("above the threshold since 11:40");
});

it("calls a value one of now only while samples come in", () => {
  const blamed = { ...alert, value: 224, seen: "2026-03-02T11:59:00Z" };
  expect(lastValue(blamed, "blamed_user", now)).toBe("now 224");
  expect(lastValue({ ...blamed, seen: "2026-03-02T11:51:00Z" }, "blamed_user", now)).toBe("224 at 11:51");
  expect(lastValue({ ...blamed, phase: "resolved" }, "blamed_user", now)).toBe("last 224");
});

it("says what a rule asks", () => {
  const rule = {
    signal: "stall_ratio",
    by: "group",
    above: 4,
    clear: 2,
    probability: null,
    for_s: 300,
  } as unknown as Rule;
  expect(ruleText(rule)).toBe("stall_ratio by group ≥ 4 for 5 min, clears below 2");
  expect(ruleText({ ...rule, signal: "slowdown", above: 1.2, probability: 0.8, clear: null, for_s: 0 })).toBe(
    "slowdown ≥ 1.2, probability ≥ 80 %",
  );
});

it("follows paths of this page only", () => {
  for (const own of ["/fabric/perlis?at=1", "/incidents/12"]) expect(ownPath(own)).toBe(own);
  for (const bad of ["//elsewhere", "https://elsewhere/fabric/", "javascript:alert(1)", "/fabricated", null])
    expect(ownPath(bad)).toBeNull();
});

it("shows values with as many digits as they have", () => {
  expect([
    valueText(0.52, "congested_routers"),
    valueText(6.234, "stall_ratio"),
    valueText(130, "counter_silence"),
    valueText(0.312, "forecast_drift"),
  ]).toEqual(["52 %", "6.2", "2 min", "0.31"]);
});
