import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  comparable,
  figureText,
  guidelines,
  guidelineText,
  messageCycles,
  MOST,
  readSet,
  runNoise,
  shareText,
} from "./noise";

test("a set is numbers of runs, or job and numbers", () => {
  expect(readSet("1, 2 3")).toEqual({ runs: [1, 2, 3] });
  expect(readSet("job 41, 42_1")).toEqual({ jobs: ["41", "42_1"] });
  for (const wrong of [
    "",
    "  ",
    "job ",
    "a",
    "0",
    "-1",
    "1.5",
    Array(MOST + 1)
      .fill("7")
      .join(" "),
  ])
    expect(readSet(wrong)).toBeNull();
});

test("a figure has its interval, and chance is said", () => {
  const one = { key: "message_s", unit: "s", first: 1, second: 2, ratio: 2, low: 1.5, high: 2.5 } as const;
  expect(figureText({ ...one, verdict: "higher" })).toMatch(
    /^Modelled time of a message: 2\S* times \(1.5\S* to 2.5\S*\), higher$/,
  );
  expect(figureText({ ...one, verdict: "cannot tell" })).toContain("no difference beyond chance");
  expect(figureText({ ...one, ratio: null, low: null, high: null, verdict: "cannot tell" })).toBeNull();
  expect(guidelineText({ number: 1, holds: false, text: "Why." })).toBe("Guideline 1 does not hold. Why.");
  expect(guidelineText({ number: 3, holds: null, text: "Why." })).toContain("was not checked");
});

test("a share in words, or the reason why there is none", () => {
  expect(shareText({ share: 0.25, of_s: 100, cannot_tell: null }, "the run time")).toMatch(/^25.?% of the run time$/);
  expect(shareText({ share: null, of_s: null, cannot_tell: "Ports count no latency." }, "the slowdown")).toBe(
    "Share of the slowdown: cannot tell. Ports count no latency.",
  );
});

const counters = {
  AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS: [100, 300],
  AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_STALLED: [50, 150],
  AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_PKTS: [20, 60],
  AR_NIC_ORB_PRF_NET_RSP_TRACK_2: [100, 300],
};

describe("noise of a run", () => {
  it("is the dispersion of its steps and the terms of the model", () => {
    const noise = runNoise([1, 2, 3, 4, 5], counters);
    expect(noise).toMatchObject({
      steps: 5,
      total_s: 15,
      mean_s: 3,
      median_s: 3,
      slowest_s: 5,
      stalls_per_flit: 0.5,
      latency_us: 5,
    });
    expect(noise.qcd).toBeCloseTo((4 - 2) / (4 + 2));
    expect(noise.flits_per_s).toBeCloseTo(400 / 15);
  });
  it("takes latency in microseconds for each tracked response, where those were counted", () => {
    expect(runNoise([1, 1], { ...counters, AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_NET_TRACK: [10, 40] }).latency_us).toBe(8);
  });
  it("tells the network's share of the dispersion from the steps' own counters", () => {
    expect(runNoise([1, 9], counters).network_qcd).toBeCloseTo(0);
    expect(runNoise([1, 1], { ...counters, AR_NIC_ORB_PRF_NET_RSP_TRACK_2: [100, 900] }).network_qcd).toBeGreaterThan(
      0.1,
    );
  });
  it("leaves unknown what was not counted, and never calls it zero", () => {
    expect(runNoise([null, 2, null], null)).toMatchObject({
      steps: 1,
      stalls_per_flit: null,
      latency_us: null,
      message_us: null,
      flits_per_s: null,
    });
    expect(runNoise([], {})).toMatchObject({ steps: 0, total_s: null, mean_s: null, qcd: null, slowest_s: null });
  });
  it("has a dispersion between 0 and 1 that does not depend on the unit", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.01, max: 1e4, noNaN: true }), { minLength: 2 }),
        fc.double({ min: 0.01, max: 1e3, noNaN: true }),
        (times, factor) => {
          const [one, scaled] = [
            runNoise(times, null).qcd ?? -1,
            runNoise(
              times.map((t) => t * factor),
              null,
            ).qcd ?? -1,
          ];
          expect(one).toBeGreaterThanOrEqual(0);
          expect(one).toBeLessThan(1);
          expect(scaled).toBeCloseTo(one, 6);
        },
      ),
    );
  });
  it("takes equation 2 as printed", () => {
    // 64 packets of 64 bytes: 64 + 256 flits; half of 512 outstanding packets wait for one latency.
    expect(messageCycles(4096, 1024, 0.5)).toBeCloseTo(576 + 480);
  });
});

it("warns of other allocations and of counts over different times", () => {
  expect([
    comparable([
      { nodes: "a", noise: runNoise([1], null) },
      { nodes: "b", noise: runNoise([1], null) },
    ]),
    comparable([{ nodes: null, noise: runNoise([1], null) }]),
  ]).toEqual([false, false]);
  const run = (nodes: string | null, time: number[]) => ({ nodes, noise: runNoise(time, null) });
  expect(guidelines([run("nid[1-4]", [1, 1])])).toEqual([]);
  expect(guidelines([run("nid[1-4]", [1, 1]), run("nid[1-4]", [1, 1.01])])).toEqual([]);
  expect(guidelines([run("nid[1-4]", [1, 1]), run("nid[5-8]", [1, 2])])).toHaveLength(2);
  expect(guidelines([run(null, [1, 1]), run("nid[5-8]", [1, 1])])[0]).toMatch(/are unknown/);
});
