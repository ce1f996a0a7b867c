import { describe, expect, it } from "vitest";
import type { IncidentHead } from "../../api/incident";
import { costText, hoursText, lastedSeconds, slowedText, untilText, whenText } from "./words";

const now = Date.parse("2026-03-02T12:00:00Z");
const over = { state: "over", began: "2026-03-02T11:40:03Z", ended: "2026-03-02T11:45:42Z" } as const;
const open = { ...over, state: "open", ended: null } as const;

describe("the words of an incident", () => {
  it("say when it was, and how long so far", () => {
    expect(whenText(over, now)).toBe("from 11:40:03 to 11:45:42 UTC, 5 min 39 s");
    expect(whenText(open, now)).toBe("open since 11:40:03 UTC, 19 min 57 s so far");
    expect(lastedSeconds(over, now)).toBe(339);
  });

  it("say what a job cost others", () => {
    const slowed = { jobs: 2, lost_s: 348, lost_low_s: 310, lost_high_s: 390 };
    expect(slowedText(slowed)).toBe("Slowed 2 jobs by 5 min 48 s in total (95 %: 5 min 10 s to 6 min 30 s)");
    expect(slowedText({ ...slowed, jobs: 1, lost_s: 37, lost_low_s: 30 })).toBe(
      "Slowed 1 job by 37 s (95 %: 30 s to 6 min 30 s)",
    );
  });

  it("say node-hours with their interval, or that they are unknown", () => {
    const head = { node_hours: 4.2, node_hours_low: 3.1, node_hours_high: 5.3 } as IncidentHead;
    expect(hoursText(head)).toBe("4.2 (3.1 to 5.3)");
    expect(hoursText({ ...head, node_hours: null, node_hours_low: null, node_hours_high: null })).toBe("unknown");
  });

  it("sum up what a user's jobs cost others, without what was withdrawn", () => {
    const some = [
      { state: "over", node_hours: 3.1, node_hours_low: 2.8, node_hours_high: 3.7 },
      { state: "open", node_hours: 1.1, node_hours_low: 0.7, node_hours_high: 1.9 },
      { state: "withdrawn", node_hours: 0, node_hours_low: 0, node_hours_high: 0 },
    ] as const;
    expect(costText(some, false)).toBe(
      "Named for 2 incidents in which slowed jobs lost 4.2 node-hours (95 %: 3.7 to 5.2)",
    );
    expect(costText(some.slice(0, 1), true)).toBe(
      "Named for at least 1 incident in which slowed jobs lost at least 3.1 node-hours",
    );
    expect(
      costText([...some, { state: "over", node_hours: null, node_hours_low: null, node_hours_high: null }], false),
    ).toBe("Named for 3 incidents in which slowed jobs lost at least 4.2 node-hours");
    expect(costText(some.slice(2), false)).toBeNull();
    expect(costText([], false)).toBeNull();
  });

  it("say until when a job was slow", () => {
    expect(untilText({ until: "2026-03-02T11:44:00Z", state: "COMPLETED" }, now)).toBe("11:44:00");
    expect(untilText({ until: null, state: "RUNNING" }, now)).toBe("still slow");
    expect(untilText({ until: null, state: "COMPLETED" }, now)).toBe("its end");
  });
});
