/** A tree (or any fabric with levels): levels, edges with both directions, nodes under their leaf, and slices of it (State). */
import { bytes, fraction } from "../lib/format";
import type { Machine } from "./arrange";
import { changeFactor } from "./scale";

export interface HalfEdge {
  links: number;
  counted: number;
  flits: number;
  stalls: number;
  /** Drawn instead of the ratio: its change against another window. */
  change?: number;
}

export interface TreeEdge {
  lower: number;
  upper: number;
  up: HalfEdge;
  down: HalfEdge;
}

/** A node's cable: `down` to the node, `up` from it. */
export interface Terminal {
  port: number;
  up: HalfEdge;
  down: HalfEdge;
}

export interface Tree {
  /** Level of each router, leaves 0; routers without nodes and level stand at the level of their distance to a leaf. */
  level: Int32Array;
  levels: number[];
  /** Routers of each level in drawing order. */
  order: number[][];
  edges: TreeEdge[];
  /** Links between routers of one level: counted, not drawn. */
  sideways: number;
  /** Counted cables to nodes, by router, in the order of their ports. */
  terminals: ReadonlyMap<number, Terminal[]>;
}

interface LinkEnds {
  link: number[];
  src: (number | null)[];
  dst: (number | null)[];
}

/**
 * What links carried: flits and stall cycles, or bytes and congested bytes; what is drawn is their ratio. Rows with one end alone are
 * cables to nodes.
 */
export interface LinkSums {
  flits: (number | null)[];
  stall_cycles: (number | null)[];
  link: number[];
  src?: (number | null)[];
  dst?: (number | null)[];
  src_port?: (number | null)[];
  dst_port?: (number | null)[];
}

/** Stalls per flit, congested fraction, or the change of either; -1 if nothing was counted. */
export const ratioOf = (half: HalfEdge): number =>
  half.counted ? (half.change ?? (half.flits > 0 ? half.stalls / half.flits : 0)) : -1;

function changed(now: HalfEdge, before: HalfEdge | undefined): HalfEdge {
  if (!now.counted || !before?.counted) return { ...now, counted: 0 };
  return { ...now, change: changeFactor(ratioOf(now), ratioOf(before)) };
}

/** The same tree in the changes of its links between two windows: both made of the same links. */
export function changeOf(now: Tree, before: Tree): Tree {
  const edges = now.edges.map((edge, i): TreeEdge => ({
    ...edge,
    up: changed(edge.up, before.edges[i]?.up),
    down: changed(edge.down, before.edges[i]?.down),
  }));
  const terminals = new Map(
    [...now.terminals].map(([router, list]): [number, Terminal[]] => {
      const earlier = new Map(before.terminals.get(router)?.map((terminal) => [terminal.port, terminal]));
      return [
        router,
        list.map((one) => ({
          port: one.port,
          up: changed(one.up, earlier.get(one.port)?.up),
          down: changed(one.down, earlier.get(one.port)?.down),
        })),
      ];
    }),
  );
  return { ...now, edges, terminals };
}

const emptyHalf = (): HalfEdge => ({ links: 0, counted: 0, flits: 0, stalls: 0 });

function take(half: HalfEdge, flits: number, stalls: number): void {
  half.counted++;
  half.flits += flits;
  half.stalls += stalls;
}

function terminalsOf(sums: LinkSums | null): Map<number, Terminal[]> {
  const all = new Map<number, Map<number, Terminal>>();
  sums?.link.forEach((_, i) => {
    const [src, dst] = [sums.src?.[i] ?? null, sums.dst?.[i] ?? null];
    const [flits, router] = [sums.flits[i] ?? null, src ?? dst];
    if (flits === null || router === null || (src !== null && dst !== null)) return;
    const port = (src === null ? sums.dst_port?.[i] : sums.src_port?.[i]) ?? 0;
    const ports = all.get(router) ?? new Map<number, Terminal>();
    all.set(router, ports);
    const terminal = ports.get(port) ?? { port, up: emptyHalf(), down: emptyHalf() };
    ports.set(port, terminal);
    take(src === null ? terminal.up : terminal.down, flits, sums.stall_cycles[i] ?? 0);
  });
  return new Map([...all].map(([router, ports]) => [router, [...ports.values()].sort((a, b) => a.port - b.port)]));
}

function levelsOf(machine: Machine, links: LinkEnds): Int32Array {
  const level = Int32Array.from(machine.level, (l) => l ?? -1);
  if (level.every((l) => l >= 0)) return level;
  const next = new Map<number, number[]>();
  links.src.forEach((src, i) => {
    const dst = links.dst[i];
    if (src == null || dst == null) return;
    const list = next.get(src);
    if (list) list.push(dst);
    else next.set(src, [dst]);
  });
  level.fill(-1);
  let front = machine.nodes.flatMap((nodes, r) => ((nodes ?? 0) > 0 ? [r] : []));
  if (!front.length && machine.size) front = [0];
  for (let depth = 0; front.length; depth++) {
    front.forEach((r) => (level[r] = depth));
    front = [...new Set(front.flatMap((r) => next.get(r) ?? []))].filter((r) => level[r] === -1);
  }
  return level.map((l) => Math.max(0, l));
}

/** Levels, edges between them and an order of each level that keeps connected routers near each other. */
export function treeOf(machine: Machine, links: LinkEnds, sums: LinkSums | null): Tree {
  const level = levelsOf(machine, links);
  const levels = [...new Set(level)].sort((a, b) => a - b);
  const counted = new Map<number, { flits: number; stalls: number }>();
  sums?.link.forEach((link, i) => {
    const flits = sums.flits[i];
    if (flits != null) counted.set(link, { flits, stalls: sums.stall_cycles[i] ?? 0 });
  });
  const edges = new Map<number, TreeEdge>();
  let sideways = 0;
  links.link.forEach((link, i) => {
    const [src, dst] = [links.src[i], links.dst[i]];
    if (src == null || dst == null) return;
    const [from, to] = [level[src] as number, level[dst] as number];
    if (from === to) {
      sideways++;
      return;
    }
    const [lower, upper] = from < to ? [src, dst] : [dst, src];
    const key = lower * machine.size + upper;
    const edge = edges.get(key) ?? { lower, upper, up: emptyHalf(), down: emptyHalf() };
    edges.set(key, edge);
    const side = from < to ? edge.up : edge.down;
    const value = counted.get(link);
    side.links++;
    if (value) take(side, value.flits, value.stalls);
  });
  const list = [...edges.values()];
  return {
    level,
    levels,
    order: ordered(machine, level, levels, list),
    edges: list,
    sideways,
    terminals: terminalsOf(sums),
  };
}

function ordered(machine: Machine, level: Int32Array, levels: number[], edges: TreeEdge[]): number[][] {
  const place = new Float64Array(machine.size);
  const members = levels.map((l) => Array.from(level.keys()).filter((r) => level[r] === l));
  const byGroup = (a: number, b: number) => (machine.group[a] ?? 1e9) - (machine.group[b] ?? 1e9) || a - b;
  const settle = (routers: number[]) => routers.forEach((r, i) => (place[r] = (i + 0.5) / routers.length));
  members.forEach((routers) => settle(routers.sort(byGroup)));
  const sweep = (routers: number[], near: (edge: TreeEdge) => [number, number]) => {
    const sum = new Map<number, [number, number]>();
    for (const edge of edges) {
      const [own, other] = near(edge);
      const old = sum.get(own) ?? [0, 0];
      sum.set(own, [old[0] + (place[other] as number), old[1] + 1]);
    }
    const mean = (r: number) => {
      const [total, n] = sum.get(r) ?? [place[r] as number, 1];
      return total / n;
    };
    settle(routers.sort((a, b) => mean(a) - mean(b) || a - b));
  };
  // Leaves grouped as the model says; each level above leans on the one below, then the leaves on their parents once.
  for (let i = 1; i < members.length; i++) sweep(members[i] as number[], (edge) => [edge.upper, edge.lower]);
  if (members[0] && machine.group.every((g) => g === null)) {
    sweep(members[0], (edge) => [edge.lower, edge.upper]);
    for (let i = 1; i < members.length; i++) sweep(members[i] as number[], (edge) => [edge.upper, edge.lower]);
  }
  return members;
}

/** One group's leaves with all that stands above them; null: the whole tree. */
export function sliceOf(tree: Tree, machine: Machine, group: number | null): Tree {
  if (group === null) return tree;
  const inside = new Set((tree.order[0] ?? []).filter((router) => machine.group[router] === group));
  // An edge belongs to the slice where its lower end does; so the slice grows level by level.
  const edges = [...tree.edges]
    .sort((a, b) => (tree.level[a.lower] as number) - (tree.level[b.lower] as number))
    .filter((edge) => {
      const within = inside.has(edge.lower);
      if (within) inside.add(edge.upper);
      return within;
    });
  return {
    ...tree,
    edges,
    order: tree.order
      .map((routers) => routers.filter((router) => inside.has(router)))
      .filter((routers) => routers.length > 0),
  };
}

/** Groups of leaves that may be looked at by themselves. */
export function slicesOf(tree: Tree, machine: Machine): number[] {
  const groups = [...new Set((tree.order[0] ?? []).map((router) => machine.group[router] ?? null))]
    .filter((g): g is number => g !== null)
    .sort((a, b) => a - b);
  return groups.length > 1 && groups.length <= 64 ? groups : [];
}

/** The worst ratio around a leaf, by what is above and below it; NaN: not counted. */
export interface LeafWorst {
  leaf: number;
  fromSpines: number;
  toSpines: number;
  toNodes: number;
  fromNodes: number;
}

export function worstOfLeaves(tree: Tree): LeafWorst[] {
  const rows = new Map(
    (tree.order[0] ?? []).map((leaf): [number, LeafWorst] => [
      leaf,
      { leaf, fromSpines: NaN, toSpines: NaN, toNodes: NaN, fromNodes: NaN },
    ]),
  );
  const raise = (old: number, half: HalfEdge) =>
    half.counted ? Math.max(Number.isNaN(old) ? 0 : old, ratioOf(half)) : old;
  for (const edge of tree.edges) {
    const row = rows.get(edge.lower);
    if (!row) continue;
    row.fromSpines = raise(row.fromSpines, edge.down);
    row.toSpines = raise(row.toSpines, edge.up);
  }
  for (const [router, terminals] of tree.terminals) {
    const row = rows.get(router);
    if (!row) continue;
    for (const terminal of terminals) {
      row.toNodes = raise(row.toNodes, terminal.down);
      row.fromNodes = raise(row.fromNodes, terminal.up);
    }
  }
  return [...rows.values()];
}

export const mostTraffic = (tree: Tree): number =>
  tree.edges.reduce((most, { up, down }) => Math.max(most, up.flits, down.flits), 0);

/** The leaf with the most congested link to a spine, in words. */
export function worstLeafText(tree: Tree, machine: Machine): string {
  if (!tree.edges.some(({ up, down }) => up.counted || down.counted)) return "no link is known";
  const leaves = worstOfLeaves(tree)
    .map((leaf) => ({ leaf: leaf.leaf, value: Math.max(leaf.fromSpines || 0, leaf.toSpines || 0) }))
    .sort((a, b) => b.value - a.value);
  const first = leaves[0];
  return first ? `worst at ${machine.name[first.leaf] ?? first.leaf}: ${fraction(first.value)}` : "";
}

/** Congested bytes of the links of a switch, in words. */
export function congestedText(tree: Tree, machine: Machine, router: number): string {
  const edges = tree.edges.filter((edge) => edge.lower === router || edge.upper === router);
  const share = (side: "up" | "down") => {
    const [all, marked] = edges.reduce(([a, b], edge) => [a + edge[side].flits, b + edge[side].stalls], [0, 0]);
    if (edges.every((edge) => !edge[side].counted)) return "not known";
    return all > 0 ? `${fraction(marked / all)} of ${bytes(all)}` : "nothing";
  };
  return `${machine.name[router] ?? router}\nup links congested: ${share("up")}\ndown links congested: ${share("down")}`;
}
