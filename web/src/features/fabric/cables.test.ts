import { expect, it } from "vitest";
import { speedText } from "./CablesPanel";

it("an unknown speed is said to be unknown", () => {
  expect(speedText(50e9)).toBe("50 Gb/s");
  expect(speedText(null)).toBe("unknown");
});
