import { expect, it } from "vitest";
import { MOST_RECENT, withRecent, type Recent } from "./recent";

const job = (n: number): Recent => ({ title: `${n}`, href: `/jobs/${n}` });

it("keeps newest first, each once, and no more than it may", () => {
  let recent: Recent[] = [];
  for (let n = 0; n < 20; n++) recent = withRecent(recent, job(n));
  recent = withRecent(recent, job(15));
  expect(recent).toHaveLength(MOST_RECENT);
  expect(recent.slice(0, 3)).toEqual([job(15), job(19), job(18)]);
});
