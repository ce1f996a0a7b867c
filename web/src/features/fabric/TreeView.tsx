import { wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { earlierLinksQuery, linkFiguresQuery, linksQuery, type Moment } from "../../api/queries";
import { sampleContextsQuery } from "../../api/samples";
import { ChangeLegend, HeatLegend } from "../../charts/legends";
import { changeOf, slicesOf, treeOf } from "../../charts/tree";
import { isBundled } from "../../charts/treePlot";
import type { Hop } from "../../charts/treeLayout";
import { TreePicture } from "../../charts/TreePicture";
import { usePalette } from "../../charts/Canvas";
import { Segmented } from "../../components/choices";
import { refused, Unanswered } from "../../components/Notice";
import { refuseUnless } from "../../lib/address";
import { change, count, ratio } from "../../lib/format";
import { useStore } from "../../lib/store";
import { linkText, measureOf, ringsOf } from "./sampled";
import { SampledTree } from "./SampledTree";
import { useDiagnosis } from "./DiagnosisPanel";
import { routerText } from "../../machine/scene";
import type { ViewProps } from "../../machine/usePicture";

interface Props extends ViewProps {
  moment: Moment;
  earlier: Moment | null;
  slice: number | null;
  onSlice: (group: number | null) => void;
}

const NO_PATH: readonly Hop[] = [];

/** Switches by level with their up and down links, whole or a slice at a time: by counters, or by sampled packets if there are any. */
export function TreeView(props: Props) {
  const { fabric, machine } = props.scene;
  const search = useSearch({ from: "/fabric/$fabric" });
  const navigate = useNavigate({ from: "/fabric/$fabric" });
  const sampled = useQuery(sampleContextsQuery(fabric.id));
  const contexts = sampled.data?.items ?? [];
  const topology = useQuery(linksQuery(fabric.id));
  const slices = useMemo(
    () => (topology.data ? slicesOf(treeOf(machine, topology.data, null), machine) : []),
    [machine, topology.data],
  );
  const slice = props.slice !== null && slices.includes(props.slice) ? props.slice : null;
  const measure = measureOf(search, fabric);
  const diagnosis = useDiagnosis(fabric, search, props.moment).answer.data;
  const path = diagnosis?.worst_path ?? NO_PATH;
  const controls = (
    <>
      {refused([sampled]) && <Unanswered line what="the sampled packets" asked={[sampled]} />}
      {contexts.length > 0 && (
        <Segmented
          label="Colour"
          value={measure}
          onChange={(value) => void navigate({ to: ".", search: (old) => ({ ...old, measure: value }), replace: true })}
          options={[
            { value: "stalls", label: "Counters" },
            { value: "packets", label: "Packets", title: "Congested fraction of sampled packets" },
            { value: "both", label: "Both", title: "Counters and packets, next to each other" },
          ]}
        />
      )}
      {slices.length > 0 && slices.length <= 8 && (
        <Segmented
          label="Slice"
          value={slice === null ? "all" : String(slice)}
          options={[{ value: "all", label: "All" }, ...slices.map((g) => ({ value: String(g), label: `Pod ${g}` }))]}
          onChange={(v) => props.onSlice(v === "all" ? null : Number(v))}
        />
      )}
    </>
  );
  if (!topology.data) return <Unanswered what="the links" asked={[topology]} />;
  refuseUnless(slice === props.slice, `${fabric.name} has no pod ${props.slice}.`, "slice");
  refuseUnless(
    !sampled.data || sampled.isFetching || contexts.length > 0 || search.measure === undefined || measure === "stalls",
    `No packets were sampled on ${fabric.name}, so its congested fraction is unknown.`,
    "measure",
  );
  if (contexts.length > 0 && measure === "packets")
    return <SampledTree {...props} slice={slice} contexts={contexts} controls={controls} path={path} />;
  if ((contexts.length > 0 || sampled.isPending) && measure === "both")
    return (
      <div className="tree-both">
        <div className="tree-pair">
          <CountedTree {...props} slice={slice} controls={controls} path={path} />
          <SampledTree
            {...props}
            slice={slice}
            contexts={contexts}
            controls={null}
            path={path}
            counted={props.moment}
          />
        </div>
        <p className="subtitle" data-caption>
          {wordsOf(fabric).ratio}: how long a link held back all traffic, from port counters · congested fraction: the
          share of the sampled packets that waited on a link. They differ if the waiting traffic was not sampled.
        </p>
      </div>
    );
  return <CountedTree {...props} slice={slice} controls={controls} path={path} />;
}

function CountedTree({
  scene,
  values,
  selected,
  jobs,
  jobsAt,
  senders,
  label,
  onSelect,
  moment,
  earlier,
  slice,
  onSlice,
  controls,
  path,
}: Props & { controls: ReactNode; path: readonly Hop[] }) {
  const { machine, fabric } = scene;
  const palette = usePalette();
  const topology = useQuery(linksQuery(fabric.id));
  const figures = useQuery(linkFiguresQuery(fabric.id, moment, {}));
  const then = useQuery(earlierLinksQuery(fabric.id, earlier, {}));
  const compared = earlier !== null;
  const asked = [topology, figures, ...(compared ? [then] : [])];
  const shown = useStore(values);
  const tree = useMemo(() => {
    if (!topology.data || !figures.data || (compared && !then.data)) return null;
    const now = treeOf(machine, topology.data, figures.data);
    return compared && then.data ? changeOf(now, treeOf(machine, topology.data, then.data)) : now;
  }, [machine, topology.data, figures.data, then.data, compared]);
  const rings = useMemo(() => ringsOf(jobs), [jobs]);
  const { counted, partly } = useMemo(() => {
    const edges = tree?.edges ?? [];
    return {
      counted: edges.some(({ up, down }) => up.counted + down.counted > 0),
      partly: edges.some(({ up, down }) => up.counted + down.counted < up.links + down.links),
    };
  }, [tree]);

  return (
    <div className="tree-view">
      <div className="tree-head">
        {controls}
        <span className="subtitle">
          upper half of an edge: down link · lower half: up link ·{" "}
          {compared ? `colour: change of ${wordsOf(fabric).ratio} · ` : ""}
          {counted
            ? `width: ${wordsOf(fabric).flits}${partly ? " · dashed: no counter" : ""}`
            : "width: parallel cables; no link has counters"}
          {tree && isBundled(tree) && slice === null
            ? " · bundles have the colour of their worst link; open a pod to see each link"
            : ""}
          {tree?.sideways ? ` · ${count(tree.sideways)} links within a level are not drawn` : ""}
          {figures.data?.note ? ` · ${figures.data.note}` : ""}
        </span>
        <span className="spacer" />
        {counted &&
          (compared ? (
            <ChangeLegend theme={palette.theme} against="the other" width={240} />
          ) : (
            <HeatLegend theme={palette.theme} what="links" words={wordsOf(fabric).ratio} width={240} />
          ))}
      </div>
      {tree ? (
        <TreePicture
          tree={tree}
          machine={machine}
          measure={compared ? "change" : "stalls"}
          ratios={(compared ? shown?.window.factor : shown?.window.ratio) ?? null}
          slice={slice}
          onSlice={onSlice}
          selected={selected}
          onSelect={onSelect}
          rings={rings}
          label={label}
          path={path}
          describe={(router) => routerText(scene, shown, router, jobsAt(router))}
          more={(router) => senders?.({ router })}
          describeLink={({ src, dst, half }) =>
            linkText(
              machine,
              src,
              dst,
              half,
              compared ? change : (value) => `${ratio(value)} ${wordsOf(fabric).amount}`,
            )
          }
          moreOfLink={({ src, dst }) => senders?.({ router: src }, dst)}
        />
      ) : (
        <Unanswered what="the links" asked={asked} />
      )}
    </div>
  );
}
