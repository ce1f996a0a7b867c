import { expect, test } from "vitest";
import type { Explanation } from "../../api/estimateShapes";
import { aheadOf } from "./ahead";

const slowed = { factor: 2.5, lost_s: 120, since: "", since_low: "", since_high: "", until: null, from_start: false };
const told = (verdict: Explanation["verdict"], slowdown: Explanation["slowdown"]) =>
  ({ verdict, slowdown }) as Explanation;

test("a slow job says what it lost, never that it ends as usual", () => {
  expect(aheadOf(told("named", slowed), 0, 600)).toEqual({ value: "2 min", label: "lost so far", bad: true });
  expect(aheadOf(told("cannot tell", slowed), null, null)?.label).toBe("lost so far");
});

test("a job that is not slow has the forecast, and no alarm within a twentieth of the usual", () => {
  expect(aheadOf(told("not slow", null), 20, 600)).toMatchObject({ value: "+20 s", bad: false });
  expect(aheadOf(told("not slow", null), 120, 600)).toMatchObject({ value: "+2 min", bad: true });
  expect(aheadOf(undefined, -120, 600)?.value).toBe("\u22122 min");
  expect(aheadOf(told("not slow", null), null, 600)).toBeNull();
});
