import { describe, expect, it } from "vitest";
import type { SlowCable } from "../../api/links";
import { conditionOf, speedText } from "./CablesPanel";

const cable = (of: Partial<SlowCable>): SlowCable => ({
  link: 1,
  link_class: "host",
  src_name: "c02",
  src_port: 1,
  dst_name: "leafA",
  dst_port: 2,
  bandwidth_bps: 50e9,
  usual_bps: 200e9,
  slow: true,
  flapping: false,
  link_downs: null,
  link_recoveries: null,
  ...of,
});

describe("what is wrong with a cable", () => {
  it("is its speed, its failures, or both", () => {
    expect(conditionOf(cable({}))).toBe("4.0× slower than its kind");
    const failing = { flapping: true, link_downs: 1, link_recoveries: 12 };
    expect(conditionOf(cable(failing))).toBe("4.0× slower than its kind; down 1 time, recovered 12 times in 24 h");
    expect(conditionOf(cable({ ...failing, slow: false }))).toBe("down 1 time, recovered 12 times in 24 h");
  });

  it("an unknown speed is said to be unknown", () => {
    expect(speedText(50e9)).toBe("50 Gb/s");
    expect(speedText(null)).toBe("unknown");
    expect(conditionOf(cable({ bandwidth_bps: null, slow: false, flapping: true, link_downs: 3 }))).not.toContain(
      "slower",
    );
  });
});
