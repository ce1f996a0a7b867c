import { useQuery } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { linkFiguresQuery, linksQuery, type Moment } from "../../api/queries";
import { contextOf, Layers, useFontReady, useSize } from "../../charts/Canvas";
import { HeatLegend } from "../../charts/legends";
import { drawTree, switchAt, treeLayout, treeOf } from "../../charts/tree";
import { usePalette } from "../../charts/usePalette";
import { hideTooltip, showTooltip } from "../../components/tooltip";
import { Failure, Waiting } from "../../components/Notice";
import { count } from "../../lib/format";
import { useStore } from "../../lib/store";
import { routerText } from "./scene";
import type { ViewProps } from "./usePicture";

/** Switches by level with their up and down links. */
export function TreeView({ scene, values, selected, jobs, jobsAt, label, onSelect, moment }: ViewProps & { moment: Moment }) {
  const { machine, fabric } = scene;
  const [box, size] = useSize();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const font = useFontReady();
  const [hovered, setHovered] = useState<number | null>(null);
  const topology = useQuery(linksQuery(fabric.id));
  const figures = useQuery(linkFiguresQuery(fabric.id, moment, {}));
  const shown = useStore(values);
  const tree = useMemo(() => (topology.data ? treeOf(machine, topology.data, figures.data ?? null) : null), [machine, topology.data, figures.data]);
  const layout = useMemo(() => (tree && size && size.width > 120 && size.height > 80 ? treeLayout(tree, machine, size.width, size.height) : null), [tree, machine, size]);
  const counted = tree?.edges.some((edge) => edge.up.counted + edge.down.counted > 0) ?? false;

  useLayoutEffect(() => {
    if (base.current && size && layout && tree) drawTree(contextOf(base.current, size), layout, tree, machine, shown?.window.ratio ?? null, palette);
  }, [size, layout, tree, machine, shown, palette, font]);
  useLayoutEffect(() => {
    if (!overlay.current || !size || !layout || !tree) return;
    const context = contextOf(overlay.current, size);
    const ring = (router: number, grow: number, colour: string, width: number) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(layout.x[router] as number, layout.y[router] as number, (layout.radius[router] as number) + grow, 0, 2 * Math.PI);
      context.stroke();
    };
    const focus = hovered ?? selected;
    if (focus !== null) {
      context.strokeStyle = palette.accent;
      context.lineWidth = 1.25;
      context.beginPath();
      for (const edge of tree.edges) {
        if (edge.lower !== focus && edge.upper !== focus) continue;
        context.moveTo(layout.x[edge.lower] as number, layout.y[edge.lower] as number);
        context.lineTo(layout.x[edge.upper] as number, layout.y[edge.upper] as number);
      }
      context.stroke();
    }
    for (const job of jobs) for (const router of job.routers) ring(router, 2.5, palette.accent, 2);
    if (hovered !== null) ring(hovered, 2, palette.ink, 1.25);
    if (selected !== null) ring(selected, 2.5, palette.ink, 2);
  }, [size, layout, tree, jobs, selected, hovered, palette]);
  useEffect(() => hideTooltip, []);

  if (topology.error && !topology.data) return <Failure error={topology.error} retry={() => void topology.refetch()} />;
  return (
    <div className="tree-view">
      <div className="tree-head">
        <span className="subtitle">upper half of an edge: down link · lower half: up link · {counted ? `width: flits${tree?.edges.some((edge) => edge.up.counted + edge.down.counted < edge.up.links + edge.down.links) ? " · dashed: no counter" : ""}` : "width: parallel cables; no link is counted"}{tree?.sideways ? ` · ${count(tree.sideways)} links within a level are not drawn` : ""}</span>
        <span className="spacer" />
        {counted && <HeatLegend theme={palette.theme} what="links" width={240} />}
      </div>
      <div ref={box} className="view-box">
        {!topology.data && <Waiting what="the links" />}
        {size && layout && (
          <Layers
            size={size} base={base} overlay={overlay} label={label}
            onHover={(at) => {
              const router = at ? switchAt(layout, at.x, at.y) : null;
              setHovered(router);
              if (at && router !== null) showTooltip(at.clientX, at.clientY, routerText(scene, shown, router, jobsAt(router)));
              else hideTooltip();
            }}
            onPick={({ x, y }) => {
              const router = switchAt(layout, x, y);
              if (router !== null) onSelect(router);
            }}
          />
        )}
      </div>
    </div>
  );
}
