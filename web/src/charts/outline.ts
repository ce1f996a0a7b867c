/** The outline of a set of routers on their panels: the edges between a member and what is not one. */
import type { Arrangement } from "./arrange";

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
