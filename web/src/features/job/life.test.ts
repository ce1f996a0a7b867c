import { expect, it, test } from "vitest";
import type { Explanation, RunTime } from "../../api/estimateShapes";
import { aheadOf, endsSentence, endsText, lifeOf, outsideText, usualTime, wholeText } from "./life";

const slowed = { factor: 2.5, lost_s: 120, since: "", since_low: "", since_high: "", until: null, from_start: false };
const explained = (verdict: Explanation["verdict"], slowdown: Explanation["slowdown"]) =>
  ({ verdict, slowdown }) as Explanation;

test("a slow job says what it lost, never that it ends as usual", () => {
  expect(aheadOf(explained("named", slowed), 0, 600)).toEqual({ value: "2 min", label: "lost so far", bad: true });
  expect(aheadOf(explained("cannot tell", slowed), null, null)?.label).toBe("lost so far");
});

test("a job that is not slow has the forecast, and no alarm within a twentieth of the usual", () => {
  expect(aheadOf(explained("not slow", null), 20, 600)).toMatchObject({ value: "+20 s", bad: false });
  expect(aheadOf(explained("not slow", null), 120, 600)).toMatchObject({ value: "+2 min", bad: true });
  expect(aheadOf(undefined, -120, 600)?.value).toBe("\u22122 min");
  expect(aheadOf(explained("not slow", null), null, 600)).toBeNull();
});

const now = Date.parse("2026-11-29T14:30:00Z");
const runTime = {
  ends: "2026-11-29T14:49:10Z",
  ends_low: "2026-11-29T14:47:00Z",
  ends_high: "2026-11-29T14:52:59Z",
  basis: "user, name, size",
  jobs: 39,
  lacks: null,
} as RunTime;

it("says a range for the end of a running job, and on what it rests", () => {
  expect(endsText(runTime, now)).toBe("14:47–14:52");
  expect(endsSentence(runTime, now)).toBe(
    "Ends about 14:49 UTC (14:47–14:52, 90 %), as 39 jobs of the same user, name and size that ran as long.",
  );
});

it("says that an end is unknown, and why", () => {
  const none = {
    ...runTime,
    ends: null,
    ends_low: null,
    ends_high: null,
    basis: null,
    lacks: "needs 19 similar completed jobs, has 4",
  };
  expect(endsText(none, now)).toBe("unknown");
  expect(endsText(null, now)).toBe("unknown");
  expect(endsSentence(none, now)).toBe("When it ends is unknown: needs 19 similar completed jobs, has 4.");
});

const kin = (basis: string, jobs: number, p50_s: number | null) => ({
  basis,
  jobs,
  p10_s: p50_s,
  p50_s,
  p90_s: p50_s,
  longer: null,
});

it("compares with the closest kin with enough runs", () => {
  const past = [kin("user, name, size", 2, 10), kin("name, size", 9, 100), kin("user, size", 40, 500)];
  expect(usualTime({ state: "COMPLETED", elapsed_s: 150 }, past)).toMatchObject({
    basis: "name, size",
    runs: 9,
    median: 100,
    factor: 1.5,
  });
});

it("does not call a running job fast, nor guess from two", () => {
  const past = [kin("user, name, size", 3, 100)];
  expect(usualTime({ state: "RUNNING", elapsed_s: 20 }, past).factor).toBeNull();
  expect(usualTime({ state: "RUNNING", elapsed_s: 200 }, past).factor).toBe(2);
  expect(usualTime({ state: "COMPLETED", elapsed_s: 50 }, [kin("user, name, size", 2, 100)])).toMatchObject({
    runs: 2,
    median: null,
    factor: null,
  });
});

it("says why a slow job took no longer than usual", () => {
  expect(wholeText(1.4, { factor: 314 / 359 })).toMatch(/13 % less than the usual time: only these steps are slow/);
  expect(wholeText(1.4, { factor: 1.3 }) + wholeText(1.4, { factor: null }) + wholeText(1, { factor: 0.9 })).toBe("");
});

it("says that a moment is outside of the job's life, and which one is shown", () => {
  const job = { start: "2026-11-29T14:00:00Z", end: "2026-11-29T14:20:00Z" };
  const said = (text: string) => {
    const at = Date.parse(text);
    return outsideText(lifeOf(job, now, at), Date.parse(job.end), at, now);
  };
  expect(said("2026-11-29T13:00:00Z")).toBe("The job had not started at 13:00:00 UTC: this page shows its start.");
  expect(said("2026-11-29T14:25:00Z")).toBe("The job had ended at 14:25:00 UTC: this page shows 14:19:59 UTC.");
  expect(said("2026-11-29T14:10:00Z")).toBe("");
});
