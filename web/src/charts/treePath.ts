// A way through a drawn tree, numbered hop by hop: where its lines and numbers stand.
import { font, type Palette } from "./palette";
import type { TreeLayout } from "./treeLayout";

/** Ends are vertices: a switch, or the number of switches plus a node. */
export interface Hop {
  src: number;
  dst: number;
}

export interface PlacedHop {
  from: [number, number];
  to: [number, number];
  /** Where its number stands. */
  at: [number, number];
  label: string;
}

/** How far below its leaf a node's end of a hop lies, and the radius of a number. */
const [STUB, BADGE] = [26, 8];

/** Hops whose switches are drawn, each with the number of its place on the way. */
export function placePath(layout: TreeLayout, path: readonly Hop[]): PlacedHop[] {
  const inside = (vertex: number) => vertex < layout.x.length && (layout.x[vertex] ?? -1) > 0;
  return path.flatMap((hop, i): PlacedHop[] => {
    const [src, dst] = [inside(hop.src), inside(hop.dst)];
    if (!src && !dst) return [];
    const place = (vertex: number, other: number): [number, number] | null =>
      inside(vertex)
        ? [layout.x[vertex] as number, layout.y[vertex] as number]
        : vertex >= layout.x.length
          ? [layout.x[other] as number, (layout.y[other] as number) + STUB]
          : null;
    const [from, to] = [place(hop.src, hop.dst), place(hop.dst, hop.src)];
    if (!from || !to) return [];
    return [{ from, to, at: [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2], label: String(i + 1) }];
  });
}

export function drawPath(context: CanvasRenderingContext2D, hops: PlacedHop[], palette: Palette): void {
  const stroke = (colour: string, width: number) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const { from, to } of hops) {
      context.moveTo(...from);
      context.lineTo(...to);
    }
    context.stroke();
  };
  stroke(palette.surface, 4);
  stroke(palette.accent, 2);
  context.font = font(11);
  context.textAlign = "center";
  for (const { at, label } of hops) {
    context.fillStyle = palette.accent;
    context.beginPath();
    context.arc(...at, BADGE, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = palette.surface;
    context.fillText(label, at[0], at[1] + 4);
  }
  context.textAlign = "left";
}
