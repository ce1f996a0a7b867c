import { describe, expect, it } from "vitest";
import { wordsOf } from "./words";

describe("words of counters", () => {
  it("speaks of pauses and bytes on Ethernet, and of no flit", () => {
    const words = Object.values(wordsOf({ technology: "ethernet" }));
    expect(words.join(" ")).not.toMatch(/flit|stall|cycle|router/);
    expect(wordsOf({ technology: "ethernet" }).ratio).toBe("pause ratio");
  });

  it("speaks of flits elsewhere, and where nothing is known", () => {
    for (const fabric of [{ technology: "infiniband" }, { technology: null }, null])
      expect(wordsOf(fabric).ratio).toBe("stalls per flit");
  });
});
