import { expect, test } from "vitest";
import type { Explanation } from "../../api/estimateShapes";
import { afterOnset } from "./rootMoment";

const told = (from: string | null, to: string | null) => ({ root_from: from, root_to: to }) as Explanation;

test("the root is looked for in the minute that the explanation names", () => {
  const to = Date.parse("2026-11-02T14:01:10Z");
  expect(afterOnset(told("2026-11-02T14:00:10Z", "2026-11-02T14:01:10Z"))).toEqual({ at: to, windowMs: 60_000 });
  expect(afterOnset(told("2026-11-02T14:00:40Z", "2026-11-02T14:01:10Z"))).toEqual({ at: to, windowMs: 30_000 });
});

test("there is none before there is an explanation, nor where it names none", () => {
  expect(afterOnset(undefined)).toBeNull();
  expect(afterOnset(told(null, null))).toBeNull();
});
