import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { linkFiguresQuery, linksQuery, type Moment } from "../../api/queries";
import { HeatLegend } from "../../charts/legends";
import { slicesOf, treeOf } from "../../charts/tree";
import { TreePicture } from "../../charts/TreePicture";
import { usePalette } from "../../charts/usePalette";
import { Segmented } from "../../components/Segmented";
import { Failure, Waiting } from "../../components/Notice";
import { count } from "../../lib/format";
import { useStore } from "../../lib/store";
import { routerText } from "./scene";
import type { ViewProps } from "./usePicture";

interface Props extends ViewProps {
  moment: Moment;
  slice: number | null;
  onSlice: (group: number | null) => void;
}

/** Switches by level with their up and down links, whole or a slice at a time. */
export function TreeView({ scene, values, selected, jobs, jobsAt, label, onSelect, moment, slice, onSlice }: Props) {
  const { machine, fabric } = scene;
  const palette = usePalette();
  const topology = useQuery(linksQuery(fabric.id));
  const figures = useQuery(linkFiguresQuery(fabric.id, moment, {}));
  const shown = useStore(values);
  const tree = useMemo(() => (topology.data ? treeOf(machine, topology.data, figures.data ?? null) : null), [machine, topology.data, figures.data]);
  const slices = useMemo(() => (tree ? slicesOf(tree, machine) : []), [tree, machine]);
  const rings = useMemo(() => new Set(jobs.flatMap((job) => [...job.routers])), [jobs]);
  const counted = tree?.edges.some((edge) => edge.up.counted + edge.down.counted > 0) ?? false;
  const partly = tree?.edges.some((edge) => edge.up.counted + edge.down.counted < edge.up.links + edge.down.links) ?? false;
  const chosen = slice !== null && slices.includes(slice) ? slice : null;

  if (topology.error && !topology.data) return <Failure error={topology.error} retry={() => void topology.refetch()} />;
  return (
    <div className="tree-view">
      <div className="tree-head">
        {slices.length > 0 && slices.length <= 8 && (
          <Segmented label="Slice" value={chosen === null ? "all" : String(chosen)} options={[{ value: "all", label: "All" }, ...slices.map((g) => ({ value: String(g), label: `Pod ${g}` }))]} onChange={(v) => onSlice(v === "all" ? null : Number(v))} />
        )}
        <span className="subtitle">upper half of an edge: down link · lower half: up link · {counted ? `width: flits${partly ? " · dashed: no counter" : ""}` : "width: parallel cables; no link is counted"}{tree?.sideways ? ` · ${count(tree.sideways)} links within a level are not drawn` : ""}</span>
        <span className="spacer" />
        {counted && <HeatLegend theme={palette.theme} what="links" width={240} />}
      </div>
      {tree ? (
        <TreePicture
          tree={tree} machine={machine} measure="stalls" ratios={shown?.window.ratio ?? null} slice={chosen} onSlice={onSlice} selected={selected} onSelect={onSelect} rings={rings} label={label}
          describe={(router) => routerText(scene, shown, router, jobsAt(router))}
        />
      ) : <Waiting what="the links" />}
    </div>
  );
}
