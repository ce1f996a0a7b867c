import { expect, it } from "vitest";
import type { HotLink } from "../api/links";
import { sendersOf, sendersText } from "./senders";

const link = (flits: number, shares: Record<string, number>, cannot_tell: string | null = null) =>
  ({
    flits,
    cannot_tell,
    jobs: Object.entries(shares).map(([job_id, share]) => ({ job_pk: Number(job_id), job_id, name: "amg", share })),
  }) as unknown as HotLink;

it("weights the shares of a router's links by what they carry", () => {
  const links = [link(300, { 1: 0.8, 2: 0.2 }), link(100, { 2: 1 }), link(900, {}, "it does not fit")];
  expect(sendersOf(links)?.map((one) => [one.job_id, one.share])).toEqual([
    ["1", 0.6],
    ["2", 0.4],
  ]);
  expect(sendersText(links)).toBe("sent by (estimated)\n1 amg 60 %\n2 amg 40 %");
});

it("names no job where no link tells", () => {
  expect(sendersText([link(900, {}, "It does not fit.")])).toBe("senders: cannot tell. It does not fit.");
  expect(sendersText([])).toBe("");
});
