import { expect, test } from "vitest";
import type { Story } from "../../api/incident";
import { linkBundles } from "./CarryingLinks";

const link = (number: number, from: number, to: number, ratio: number): Story["links"][number] => ({
  link: number,
  link_class: from === to ? "green" : "blue",
  from_router: number,
  from_name: `a${number}`,
  to_router: number + 1,
  to_name: `b${number}`,
  from_group: from,
  to_group: to,
  stall_ratio_before: 0.1,
  stall_ratio_after: ratio,
});

test("cables between the same groups are one line, which names each and shows the worst", () => {
  const bundles = linkBundles([link(1, 2, 3, 9), link(2, 3, 2, 8), link(3, 2, 3, 7), link(4, 2, 2, 6)]);
  expect(bundles.map((one) => one.label)).toEqual(["2 × blue g2 → g3", "blue g3 → g2", "green in g2"]);
  expect(bundles[0]?.worst.link).toBe(1);
  expect(bundles[0]?.names).toEqual(["a1 to b1", "a3 to b3"]);
});
