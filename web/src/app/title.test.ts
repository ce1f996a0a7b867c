import { describe, expect, it } from "vitest";
import { titleOf } from "./title";

describe("titleOf", () => {
  it("names the subject before the product", () => {
    expect(titleOf("/", {})).toBe("Now · Flitwatch");
    expect(titleOf("/jobs/", {})).toBe("Jobs · Flitwatch");
    expect(titleOf("/jobs/3609441", { job: "3609441" })).toBe("Job 3609441 · Flitwatch");
    expect(titleOf("/incidents/12", { incident: "12" })).toBe("Incident 12 · Flitwatch");
    expect(titleOf("/fabric/edison", { fabric: "edison" })).toBe("edison, fabric · Flitwatch");
    const at = Date.UTC(2026, 10, 28, 14, 5);
    expect(titleOf("/", {}, at)).toBe("28 Nov 2026 14:05 UTC · Flitwatch");
    expect(titleOf("/jobs/7", { job: "7" }, at)).toBe("Job 7, 28 Nov 2026 14:05 UTC · Flitwatch");
    expect(titleOf("/nowhere/at/all", {})).toBe("No such page · Flitwatch");
  });
});
