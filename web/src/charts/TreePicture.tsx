/** The plot of a tree with the strip of its leaves above it: slices, hover, selection. It knows no page. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Machine } from "./arrange";
import { contextOf, Layers, useFontReady, usePalette, useSize } from "./Canvas";
import { DASHES } from "./cells";
import { sliceOf, worstOfLeaves, type Tree } from "./tree";
import { drawPath, type Hop, linkAt, placePath, switchAt, treeLayout, type TreeLink } from "./treeLayout";
import {
  drawStrip,
  drawTree,
  isBundled,
  STRIP_HEIGHT,
  stripAt,
  stripLayout,
  type Measure,
  type TreePaint,
} from "./treePlot";
import { hideTooltip, type More, showTooltip } from "../components/tooltip";
import { zoomOf } from "../lib/screen";

interface Props {
  tree: Tree;
  machine: Machine;
  measure: Measure;
  ratios?: Float64Array | null;
  /** Traffic of the widest half edge, where plots are compared. */
  most?: number;
  slice: number | null;
  onSlice?: (group: number | null) => void;
  selected?: number | null;
  onSelect?: (router: number) => void;
  /** Switches of jobs, each with the place of its job's pattern in DASHES. */
  rings?: ReadonlyMap<number, number>;
  label: string;
  describe: (router: number) => string;
  /** A way through the tree that is laid over it, numbered. */
  path?: readonly Hop[];
  /** What the tooltip adds once the pointer rests on a switch. */
  more?: (router: number) => More | undefined;
  /** The text of a link, and what it adds: without them links are not pointed at. */
  describeLink?: (link: TreeLink) => string;
  moreOfLink?: (link: TreeLink) => More | undefined;
}

const NO_RINGS: ReadonlyMap<number, number> = new Map();
const NO_PATH: readonly Hop[] = [];

export function TreePicture({
  tree,
  machine,
  measure,
  ratios = null,
  most,
  slice,
  onSlice,
  selected = null,
  onSelect,
  rings = NO_RINGS,
  label,
  path = NO_PATH,
  describe,
  more,
  describeLink,
  moreOfLink,
}: Props) {
  const [box, size] = useSize();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const font = useFontReady();
  const [hovered, setHovered] = useState<number | null>(null);
  const leaves = useMemo(() => worstOfLeaves(tree), [tree]);
  const counted = useMemo(
    () => leaves.some((leaf) => !Number.isNaN(leaf.fromSpines) || !Number.isNaN(leaf.toNodes)),
    [leaves],
  );
  const part = useMemo(() => sliceOf(tree, machine, slice), [tree, machine, slice]);
  const plot = useMemo(
    () => size && { width: size.width, height: size.height - (counted ? STRIP_HEIGHT + 8 : 0) },
    [size, counted],
  );
  const layout = useMemo(
    () => (plot && plot.width > 120 && plot.height > 80 ? treeLayout(part, machine, plot.width, plot.height) : null),
    [part, machine, plot],
  );
  const columns = useMemo(
    () => (size && counted ? stripLayout(leaves, machine, size.width) : null),
    [size, counted, leaves, machine],
  );
  const paint = useMemo<TreePaint>(() => ({ measure, ratios, most, palette }), [measure, ratios, most, palette]);

  useLayoutEffect(() => {
    if (base.current && plot && layout) drawTree(contextOf(base.current, plot), layout, part, machine, paint);
  }, [plot, layout, part, machine, paint, font]);
  useLayoutEffect(() => {
    if (strip.current && size && columns)
      drawStrip(contextOf(strip.current, { width: size.width, height: STRIP_HEIGHT }), columns, leaves, slice, paint);
  }, [size, columns, leaves, slice, paint, font]);
  useLayoutEffect(() => {
    if (!overlay.current || !plot || !layout) return;
    const context = contextOf(overlay.current, plot);
    const ring = (router: number, grow: number, colour: string, width: number) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(
        layout.x[router] as number,
        layout.y[router] as number,
        (layout.radius[router] as number) + grow,
        0,
        2 * Math.PI,
      );
      context.stroke();
    };
    // Heat is not covered: the links of a switch are traced while it is pointed at.
    const focus = hovered;
    if (focus !== null) {
      context.strokeStyle = palette.accent;
      context.lineWidth = 1.25;
      context.beginPath();
      for (const edge of part.edges) {
        if (edge.lower !== focus && edge.upper !== focus) continue;
        context.moveTo(layout.x[edge.lower] as number, layout.y[edge.lower] as number);
        context.lineTo(layout.x[edge.upper] as number, layout.y[edge.upper] as number);
      }
      context.stroke();
    }
    drawPath(context, placePath(layout, path), palette);
    for (const [router, dash] of rings) {
      context.setLineDash(DASHES[dash] ?? []);
      ring(router, 2.5, palette.accent, 2);
    }
    context.setLineDash([]);
    if (hovered !== null) ring(hovered, 2, palette.ink, 1.25);
    if (selected !== null) ring(selected, 2.5, palette.ink, 2);
  }, [plot, layout, part, rings, selected, hovered, path, palette]);
  useEffect(() => hideTooltip, []);

  return (
    <div ref={box} className="view-box tree-picture">
      {size && columns && (
        // The slices are also buttons of the page; this is the pointer's way to them.

        <canvas
          ref={strip}
          className="tree-strip"
          style={{ width: size.width, height: STRIP_HEIGHT }}
          role="img"
          aria-label={`The worst link at each of ${leaves.length} leaves, to and from spines and nodes`}
          onPointerMove={(event) => {
            const leaf = stripAt(columns, leaves, event.nativeEvent.offsetX / zoomOf());
            if (leaf) showTooltip(event.clientX, event.clientY, describe(leaf.leaf), more?.(leaf.leaf));
            else hideTooltip();
          }}
          onPointerLeave={hideTooltip}
          onClick={(event) => {
            const leaf = stripAt(columns, leaves, event.nativeEvent.offsetX / zoomOf())?.leaf;
            if (leaf === undefined) return;
            const group = machine.group[leaf] ?? null;
            if (onSlice && columns.groups.length > 1) onSlice(group === slice ? null : group);
            onSelect?.(leaf);
          }}
        />
      )}
      {plot && layout && (
        <Layers
          size={plot}
          base={base}
          overlay={overlay}
          label={label}
          onHover={(at) => {
            const router = at ? switchAt(layout, at.x, at.y) : null;
            setHovered(router);
            const link =
              at && router === null && describeLink && !isBundled(part) ? linkAt(layout, part, at.x, at.y) : null;
            if (at && router !== null) showTooltip(at.clientX, at.clientY, describe(router), more?.(router));
            else if (at && link && describeLink)
              showTooltip(at.clientX, at.clientY, describeLink(link), moreOfLink?.(link));
            else hideTooltip();
          }}
          onPick={({ x, y }) => {
            const router = switchAt(layout, x, y);
            if (router !== null) onSelect?.(router);
          }}
        />
      )}
    </div>
  );
}
