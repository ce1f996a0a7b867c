import { describe, expect, it } from "vitest";
import { incidentHeight, incidentLayout, NARROW, partRows, WIDE } from "./timeRows";

const MINUTE = 60_000;
const minute = (n: number, waiting: number, part: number | null = 0.8) => ({ at: n * MINUTE, waiting, part });
const times = {
  span: { from: 2 * MINUTE, to: 6 * MINUTE },
  minutes: [minute(1, 0.5, 0.1), minute(2, 4), minute(3, 8), minute(5, 6)],
  quiet: 0.4,
  slowed: [
    { from: 2.5 * MINUTE, to: 4 * MINUTE },
    { from: 3 * MINUTE, to: null },
  ],
};

it("draws no part of a job outside the span, but counts it", () => {
  const ts = [0, 1, 2, 3].map((n) => new Date(n * MINUTE).toISOString());
  const parts = {
    ts,
    step_s: 60,
    parts: [{ key: "a", label: "a", unit: "s", values: [1, 2, 3, 10] }],
  } as unknown as Parameters<typeof partRows>[0];
  const { rows } = partRows(parts, { from: 0, to: 3 * MINUTE }, null, 800, WIDE);
  expect(rows[0]?.path.match(/[ML]/g)).toHaveLength(3);
  expect(rows[0]?.mean).toBe(4);
});

describe("the picture of an incident", () => {
  it("has one time axis for minutes and jobs, from the first of them to the last", () => {
    const layout = incidentLayout(times, 800, WIDE);
    expect([layout.from, layout.to]).toEqual([MINUTE, 6 * MINUTE]);
    expect(layout.x(layout.from)).toBe(WIDE.left);
    expect(layout.x(layout.to)).toBe(800 - WIDE.right);
    const [first, second] = layout.bars;
    expect(first?.x).toBeCloseTo(layout.x(2.5 * MINUTE));
    expect((first?.x ?? 0) + (first?.width ?? 0)).toBeCloseTo(layout.x(4 * MINUTE));
    expect((second?.x ?? 0) + (second?.width ?? 0)).toBeCloseTo(layout.x(times.span.to));
  });

  it("breaks its lines where a minute is missing or the part is unknown", () => {
    const layout = incidentLayout(times, 800, WIDE);
    expect(layout.waiting.path.match(/M/g)).toHaveLength(2);
    const unknown = { ...times, minutes: [minute(1, 1), minute(2, 1, null), minute(3, 1)] };
    expect(incidentLayout(unknown, 800, WIDE).part?.path.match(/M/g)).toHaveLength(2);
  });

  it("has no panel of the causes' part if that is unknown throughout, and no quiet line where that is", () => {
    const layout = incidentLayout({ ...times, quiet: null, minutes: [minute(1, 3, null)] }, 800, WIDE);
    expect([layout.part, layout.quiet]).toEqual([null, null]);
  });

  it("is as high as it says, alongside wide and below narrow names", () => {
    for (const gutters of [WIDE, NARROW])
      expect(incidentLayout(times, 360, gutters).bottom + 20).toBe(incidentHeight(2, true, gutters));
  });

  it("shows an incident without minutes and jobs as an empty axis", () => {
    const layout = incidentLayout({ span: { from: 0, to: 0 }, minutes: [], quiet: null, slowed: [] }, 800, WIDE);
    expect([layout.from, layout.to, layout.waiting.path, layout.bars]).toEqual([0, MINUTE, "", []]);
  });
});
