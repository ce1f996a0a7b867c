import { expect, it } from "vitest";
import { stepLine } from "./stepLine";

it("draws a step that takes twice as long at twice the height, and the usual ones on the same scale", () => {
  const { time, usual, last } = stepLine([1, 2], [1, 1], 106, 26);
  expect(time).toBe("M3,13L103,3");
  expect(usual).toBe("M3,13L103,13");
  expect(last).toEqual([103, 3]);
});

it("leaves a gap where no other run has the step, and draws nothing of nothing", () => {
  expect(stepLine([1, 1, 1, 1], [1, null, 1, 1], 106, 26).usual.match(/M/g)).toHaveLength(2);
  expect(stepLine([], [], 106, 26)).toEqual({ time: "", usual: "", last: null });
});
