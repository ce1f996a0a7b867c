import { describe, expect, it } from "vitest";
import { wordsOf } from "./words";

describe("words of counters", () => {
  it("speaks of pauses and bytes on Ethernet, and of no flit", () => {
    const words = Object.values(wordsOf({ technology: "ethernet" }));
    expect(words.join(" ")).not.toMatch(/flit|stall|cycle|router/);
    expect(wordsOf({ technology: "ethernet" }).ratio).toBe("pause ratio");
  });

  it("speaks of words on InfiniBand, and of no flit", () => {
    const words = Object.values(wordsOf({ technology: "infiniband" }));
    expect(words.join(" ")).not.toMatch(/flit|cycle/);
    expect(wordsOf({ technology: "infiniband" }).ratio).toBe("stalls per word");
  });

  it("speaks of bytes on Slingshot, and of no flit", () => {
    expect(Object.values(wordsOf({ technology: "slingshot" })).join(" ")).not.toMatch(/flit|cycle|pause/);
  });

  it("speaks of flits elsewhere, and if nothing is known", () => {
    for (const fabric of [{ technology: "opa" }, { technology: null }, null])
      expect(wordsOf(fabric).ratio).toBe("stalls per flit");
  });
});
