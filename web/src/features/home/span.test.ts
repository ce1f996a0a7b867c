import { expect, it } from "vitest";
import { spanWindow } from "./span";

const at = (text: string) => Date.parse(text);

it("counts today from midnight, an hour and a week back from the newest minute", () => {
  const through = at("2026-11-29T14:30:20Z");
  expect(spanWindow("hour", through)).toEqual({ from: at("2026-11-29T13:31:00Z"), to: at("2026-11-29T14:31:00Z") });
  expect(spanWindow("today", through)).toEqual({ from: at("2026-11-29T00:00:00Z"), to: at("2026-11-29T14:31:00Z") });
  expect(spanWindow("week", through)).toEqual({ from: at("2026-11-22T14:31:00Z"), to: at("2026-11-29T14:31:00Z") });
});

it("has a minute of today at midnight", () => {
  const midnight = at("2026-11-29T00:00:00Z");
  expect(spanWindow("today", midnight)).toEqual({ from: midnight - 60_000, to: midnight });
});
