/** A small synthetic dragonfly for tests. */
import type { Machine } from "./arrange";

export function dragonfly(groups: number, rows: number, cols: number): Machine {
  const size = groups * rows * cols;
  const each = <T>(of: (i: number) => T) => Array.from({ length: size }, (_, i) => of(i));
  return {
    kind: "dragonfly",
    size,
    name: each((i) => `r${i}`),
    group: each((i) => Math.floor(i / (rows * cols))),
    row: each((i) => Math.floor(i / cols) % rows),
    col: each((i) => i % cols),
    level: each(() => null),
    coords: null,
    nodes: each(() => 4),
    sampled: each(() => true),
  };
}
