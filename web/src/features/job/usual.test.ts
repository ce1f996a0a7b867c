import { expect, it } from "vitest";
import { application, usualTime } from "./usual";
import type { Job } from "../../api/shapes";

const job = (part: Partial<Job>): Job => ({
  job_pk: 1, cluster: "c", job_id: "1", user: "u1", account: null, name: "amg", partition: null, state: "COMPLETED", submit: null, start: null, end: null,
  elapsed_s: 100, nodes: 8, routers: null, groups: [], runs: 0, simulated: false, ...part,
});

it("compares with finished jobs of the same user, application and size only", () => {
  const past = [90, 100, 110].map((elapsed_s, i) => job({ job_pk: 10 + i, name: `AMG-${i}`, elapsed_s }));
  const others = [job({ job_pk: 20, user: "u2", elapsed_s: 1 }), job({ job_pk: 21, nodes: 16, elapsed_s: 1 }), job({ job_pk: 22, state: "FAILED", elapsed_s: 1 }), job({ job_pk: 23, name: "milc", elapsed_s: 1 })];
  expect(usualTime(job({ elapsed_s: 150 }), [...past, ...others])).toMatchObject({ runs: 3, median: 100, factor: 1.5 });
  expect(application("amg_17")).toBe("amg");
});

it("does not call a running job fast, nor guess from two", () => {
  const past = [90, 100, 110].map((elapsed_s, i) => job({ job_pk: 10 + i, elapsed_s }));
  expect(usualTime(job({ state: "RUNNING", elapsed_s: 20 }), past).factor).toBeNull();
  expect(usualTime(job({ state: "RUNNING", elapsed_s: 200 }), past).factor).toBe(2);
  expect(usualTime(job({}), past.slice(0, 2))).toMatchObject({ median: null, factor: null });
});
