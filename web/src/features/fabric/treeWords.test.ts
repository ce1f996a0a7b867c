import { expect, it } from "vitest";
import type { Machine } from "../../charts/arrange";
import type { JobOverlay } from "../../machine/scene";
import { linkText, ringsOf } from "./treeWords";

const machine = { name: ["leaf0", "spine0"] } as Machine;

it("says which link is pointed at, with its value or that it is not counted", () => {
  const value = (number: number) => `${number} stalls per word`;
  expect(linkText(machine, 0, 1, { links: 2, counted: 1, flits: 10, stalls: 30 }, value)).toBe(
    "leaf0 → spine0\n3 stalls per word\n2 parallel cables",
  );
  expect(linkText(machine, 1, 0, { links: 1, counted: 0, flits: 0, stalls: 0 }, value)).toBe(
    "spine0 → leaf0\nnot counted",
  );
});

it("rings each job's switches in its own pattern, a shared one in the first job's", () => {
  const job = (routers: number[]) => ({ routers: new Set(routers) }) as unknown as JobOverlay;
  expect([...ringsOf([job([1, 2]), job([2, 3])])].sort()).toEqual([
    [1, 0],
    [2, 0],
    [3, 1],
  ]);
});
