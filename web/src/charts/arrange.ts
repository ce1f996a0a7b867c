/**
 * Where the routers of a fabric stand, without pixels: panels of cells, derived from the fabric model alone.
 *
 * A dragonfly gives one panel a group (chassis rows, slot columns), a torus one a slice, a tree one a level or group, anything else
 * one for all. Everything that draws routers as cells draws these panels, so no view knows a kind of machine.
 */
export interface Machine {
  kind: string;
  size: number;
  name: string[];
  group: (number | null)[];
  row: (number | null)[];
  col: (number | null)[];
  level: (number | null)[];
  coords: (number[] | null)[] | null;
  nodes: (number | null)[];
  sampled: boolean[];
}

export interface Panel {
  key: number;
  /** Short name, as on the axes of the matrix. */
  label: string;
  /** The group of the dragonfly that it stands for, if any. */
  group: number | null;
  rows: number;
  cols: number;
  routers: number[];
}

export interface Arrangement {
  panels: Panel[];
  /** The largest panel, for one cell size everywhere. */
  rows: number;
  cols: number;
  panelOf: Int32Array;
  rowOf: Int32Array;
  colOf: Int32Array;
  /** What one panel is called: group, slice, level, part. */
  noun: string;
}

const WIDEST = 32;

interface Place {
  panel: number;
  row: number | null;
  col: number | null;
}

interface Scheme {
  noun: string;
  label: (key: number, members: number[]) => string;
  place: (router: number) => Place;
}

export const routerLevels = (machine: Machine): number[] =>
  [...new Set(machine.level.filter((level): level is number => level !== null))].sort((a, b) => a - b);

/** Names of a tree's levels, leaves first. */
export function levelName(level: number, levels: number[]): string {
  const at = levels.indexOf(level);
  if (at === 0) return "leaf";
  if (levels.length > 2 && at === levels.length - 1) return "core";
  return levels.length > 3 ? `spine ${at}` : "spine";
}

const AXIS_NAMES = ["x", "y", "z", "u", "v", "w"];

/** Planes of a torus across one axis: the first two others lie in the plane, all that remains numbers it. */
function planes(coords: (number[] | null)[], axis: number | undefined): Scheme {
  const dimensions = Math.max(0, ...coords.map((place) => place?.length ?? 0));
  const along = dimensions > 2 ? Math.min(axis ?? dimensions - 1, dimensions - 1) : dimensions;
  const [across = 0, down = 1, ...left] = Array.from({ length: dimensions }, (_, d) => d).filter((d) => d !== along);
  const rest = along < dimensions ? [along, ...left] : left;
  return {
    noun: "slice",
    label: (_, members) =>
      rest.map((d) => `${AXIS_NAMES[d] ?? `axis ${d}`} ${coords[members[0] ?? 0]?.[d] ?? "?"}`).join(", ") || "all",
    place: (r) => ({
      panel: rest.reduce((sum, d, i) => sum + (coords[r]?.[d] ?? 0) * 1024 ** i, 0),
      row: coords[r]?.[down] ?? null,
      col: coords[r]?.[across] ?? null,
    }),
  };
}

function scheme(machine: Machine, axis?: number): Scheme {
  const { group, row, col, level, coords } = machine;
  if (machine.kind === "torus" && coords) return planes(coords, axis);
  const levels = routerLevels(machine);
  if (machine.kind === "fat_tree" && levels.length > 1) {
    return {
      noun: "level",
      label: (key) => levelName(key, levels),
      place: (r) => ({ panel: level[r] ?? -1, row: null, col: null }),
    };
  }
  if (group.some((g) => g !== null)) {
    return {
      noun: "group",
      label: (key) => (key < 0 ? "no group" : `g${key}`),
      place: (r) => ({ panel: group[r] ?? -1, row: row[r] ?? null, col: col[r] ?? null }),
    };
  }
  return { noun: "part", label: () => "all", place: () => ({ panel: 0, row: null, col: null }) };
}

/** Cells for members without a place: rows of equal length, about three times as wide as high. */
function wrapped(count: number): { rows: number; cols: number } {
  const cols = Math.max(1, Math.min(WIDEST, Math.ceil(Math.sqrt(count * 2.7))));
  return { rows: Math.max(1, Math.ceil(count / cols)), cols };
}

/** `axis` is that of a torus across which its planes are cut. */
export function arrange(machine: Machine, axis?: number): Arrangement {
  const { noun, label, place } = scheme(machine, axis);
  const members = new Map<number, number[]>();
  const places = Array.from({ length: machine.size }, (_, r) => place(r));
  places.forEach((p, r) => {
    const list = members.get(p.panel);
    if (list) list.push(r);
    else members.set(p.panel, [r]);
  });
  const panelOf = new Int32Array(machine.size);
  const rowOf = new Int32Array(machine.size);
  const colOf = new Int32Array(machine.size);
  const panels = [...members.keys()]
    .sort((a, b) => a - b)
    .map((key, index): Panel => {
      const routers = members.get(key) as number[];
      const rows = Math.max(...routers.map((r) => (places[r] as Place).row ?? -1)) + 1;
      const cols = Math.max(...routers.map((r) => (places[r] as Place).col ?? -1)) + 1;
      const distinct = new Set(routers.map((r) => `${(places[r] as Place).row},${(places[r] as Place).col}`)).size;
      const placed =
        distinct === routers.length && rows > 0 && cols > 0 && cols <= 64 && (rows > 1 || cols <= WIDEST / 2);
      const grid = placed ? { rows, cols } : wrapped(routers.length);
      routers.forEach((r, i) => {
        panelOf[r] = index;
        rowOf[r] = placed ? ((places[r] as Place).row as number) : Math.floor(i / grid.cols);
        colOf[r] = placed ? ((places[r] as Place).col as number) : i % grid.cols;
      });
      return { key, label: label(key, routers), group: noun === "group" && key >= 0 ? key : null, ...grid, routers };
    });
  return {
    panels,
    panelOf,
    rowOf,
    colOf,
    noun,
    rows: Math.max(1, ...panels.map((p) => p.rows)),
    cols: Math.max(1, ...panels.map((p) => p.cols)),
  };
}

/** The router one step from another on its panel, or the nearest one of the next panel over the edge; null if none is. */
export function neighbour(arrangement: Arrangement, router: number, dRow: number, dCol: number): number | null {
  const { panels, panelOf, rowOf, colOf } = arrangement;
  const index = panelOf[router] as number;
  const panel = panels[index];
  if (!panel) return null;
  const at = (p: Panel, row: number, col: number) =>
    p.routers.find((r) => rowOf[r] === row && colOf[r] === col) ?? null;
  const row = (rowOf[router] as number) + dRow;
  const col = (colOf[router] as number) + dCol;
  if (row >= 0 && row < panel.rows && col >= 0 && col < panel.cols) return at(panel, row, col);
  const next = panels[index + (dRow + dCol)];
  if (!next) return null;
  const wrap = (n: number, size: number) => (n < 0 ? size - 1 : n >= size ? 0 : Math.min(n, size - 1));
  return (
    at(next, wrap(row, dRow ? next.rows : panel.rows), wrap(col, dCol ? next.cols : panel.cols)) ??
    next.routers[0] ??
    null
  );
}

/** Router by (panel, row, column); -1 if no router stands. */
export function cellsOf(arrangement: Arrangement): Int32Array {
  const { panels, rows, cols, rowOf, colOf } = arrangement;
  const index = new Int32Array(panels.length * rows * cols).fill(-1);
  panels.forEach((panel, p) => {
    for (const r of panel.routers) index[(p * rows + (rowOf[r] as number)) * cols + (colOf[r] as number)] = r;
  });
  return index;
}

/** The same arrangement with some panels only. Routers of the others point at panel 0 and are not in `members`. */
export function selectPanels(
  whole: Arrangement,
  chosen: number[],
): { arrangement: Arrangement; members: ReadonlySet<number> } {
  const panels = chosen.map((panel) => whole.panels[panel]).filter((panel): panel is Panel => panel !== undefined);
  const members = new Set<number>();
  const panelOf = new Int32Array(whole.panelOf.length);
  panels.forEach((panel, index) => {
    for (const router of panel.routers) {
      panelOf[router] = index;
      members.add(router);
    }
  });
  const arrangement = {
    ...whole,
    panels,
    panelOf,
    rows: Math.max(1, ...panels.map((p) => p.rows)),
    cols: Math.max(1, ...panels.map((p) => p.cols)),
  };
  return { arrangement, members };
}

// The outline of a set of routers on their panels: the edges between a member and what is not one.

/** Edge of a cell: 0 top, 1 right, 2 bottom, 3 left. */
export interface Edge {
  router: number;
  side: 0 | 1 | 2 | 3;
}

export function outline(arrangement: Arrangement, index: Int32Array, members: ReadonlySet<number>): Edge[] {
  const { panels, panelOf, rowOf, colOf, rows, cols } = arrangement;
  const edges: Edge[] = [];
  const inside = (panel: number, row: number, col: number) => {
    const shape = panels[panel];
    if (!shape || row < 0 || col < 0 || row >= shape.rows || col >= shape.cols) return false;
    return members.has(index[(panel * rows + row) * cols + col] as number);
  };
  for (const router of members) {
    const panel = panelOf[router];
    if (panel === undefined) continue;
    const row = rowOf[router] as number;
    const col = colOf[router] as number;
    if (!inside(panel, row - 1, col)) edges.push({ router, side: 0 });
    if (!inside(panel, row, col + 1)) edges.push({ router, side: 1 });
    if (!inside(panel, row + 1, col)) edges.push({ router, side: 2 });
    if (!inside(panel, row, col - 1)) edges.push({ router, side: 3 });
  }
  return edges;
}
