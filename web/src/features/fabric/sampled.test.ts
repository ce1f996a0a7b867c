import { describe, expect, it } from "vitest";
import type { Machine } from "../../charts/arrange";
import { ratioOf, treeOf } from "../../charts/tree";
import type { JobOverlay } from "../../machine/scene";
import { choices, linkText, ringsOf, sampledLinks, sampledSums } from "./sampled";

const named = { name: ["leaf0", "spine0"] } as Machine;

it("says which link is pointed at, with its value or that it is not counted", () => {
  const value = (number: number) => `${number} stalls per word`;
  expect(linkText(named, 0, 1, { links: 2, counted: 1, flits: 10, stalls: 30 }, value)).toBe(
    "leaf0 → spine0\n3 stalls per word\n2 parallel cables",
  );
  expect(linkText(named, 1, 0, { links: 1, counted: 0, flits: 0, stalls: 0 }, value)).toBe(
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

// A leaf with two nodes below a spine: links 0 and 1 between them, 2 to a node, 3 from it; the API gives a node's router at both ends.
const cables = {
  link: [0, 1, 2, 3],
  src: [0, 1, 0, 0],
  dst: [1, 0, 0, 0],
  src_port: [5, 1, 2, null],
  dst_port: [1, 5, null, 2],
  class: ["up", "down", "host", "host"],
  src_endpoint: [null, null, null, 7],
  dst_endpoint: [null, null, 7, null],
};
const machine: Machine = {
  kind: "fat_tree",
  size: 2,
  name: ["leaf", "spine"],
  group: [0, null],
  row: [null, null],
  col: [null, null],
  level: [0, 1],
  coords: null,
  nodes: [2, 0],
  sampled: [false, false],
};
const map = {
  links: {
    link: [0, 2, 3, 99],
    traffic: [100, 40, 0, 1],
    traffic_error: [10, 6, 0, 1],
    bytes: [4000, 1000, 0, 1],
    congested: [25, 40, 0, 1],
    congested_error: [5, 6, 0, 1],
    congested_fraction: [0.25, 1, null, 1],
  },
};

describe("sampled links", () => {
  const rows = sampledLinks(cables, map);
  const tree = treeOf(machine, cables, sampledSums(rows));
  it("keep unknown, no traffic and traffic apart", () => {
    const [edge] = tree.edges;
    expect(edge && ratioOf(edge.up)).toBeCloseTo(0.25);
    expect(edge?.up.flits).toBe(4000);
    expect(edge?.down.counted).toBe(0);
    const [terminal] = tree.terminals.get(0) ?? [];
    expect(terminal && ratioOf(terminal.down)).toBe(1);
    expect(terminal?.up).toMatchObject({ counted: 1, flits: 0 });
    expect(rows.map((row) => row.fraction)).toEqual([0.25, 1, null]);
  });
});

describe("choices of a context", () => {
  const at = { first: "", last: "", simulated: false };
  const contexts = [
    { context_id: 3, job_id: "42", tag: "7", phase: "solve", ...at },
    { context_id: 2, job_id: "42", tag: "9", phase: null, ...at },
    { context_id: 1, job_id: "41", tag: "7", phase: "setup", ...at },
  ];
  it("are those that the other choices leave", () => {
    expect(choices(contexts, {}, "job")).toEqual(["42", "41"]);
    expect(choices(contexts, { tag: "9" }, "job")).toEqual(["42"]);
    expect(choices(contexts, { job: "42" }, "tag")).toEqual(["7", "9"]);
    expect(choices(contexts, { job: "42", tag: "9" }, "phase")).toEqual([]);
  });
});
