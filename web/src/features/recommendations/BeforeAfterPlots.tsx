/** The congested fraction before and after, side by side, with one scale of width. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type BeforeAfter, beforeAfterQuery } from "../../api/recommendations";
import type { Machine } from "../../charts/arrange";
import { FractionLegend } from "../../charts/legends";
import { congestedText, mostTraffic, slicesOf, treeOf, worstLeafText, type Tree } from "../../charts/tree";
import { TreePicture } from "../../charts/TreePicture";
import { usePalette } from "../../charts/Canvas";
import { capital } from "../../machine/words";
import type { Column } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { Segmented } from "../../components/choices";
import { refuseUnless } from "../../lib/address";
import { bytes, count, fraction } from "../../lib/format";
import { address } from "../../api/client";

export function machineOf(links: BeforeAfter): Machine {
  const size = links.router.length;
  const none = Array<null>(size).fill(null);
  return {
    kind: "fat_tree",
    size,
    name: links.name,
    group: links.group,
    row: none,
    col: none,
    level: links.level,
    coords: null,
    nodes: links.nodes,
    sampled: Array<boolean>(size).fill(true),
  };
}

/** Whether packets were sampled; of counters alone the congested fraction is unknown, and the load is shown in its place. */
export const isSampled = (links: BeforeAfter): boolean =>
  [...links.before.congested, ...links.after.congested].some((value) => value !== null);

/** Bytes and congested bytes take the places of flits and stalls: their ratio is the congested fraction, weighted by traffic.
 *
 * Without samples it is the load of a link, as a share of the busiest link of both sides. */
export function treeAt(links: BeforeAfter, machine: Machine, which: "before" | "after"): Tree {
  const { traffic_bytes: traffic } = links[which];
  const busiest = Math.max(...links.before.traffic_bytes.map(Number), ...links.after.traffic_bytes.map(Number), 1);
  const congested = isSampled(links) ? links[which].congested : traffic.map((value) => (value ?? 0) / busiest);
  const known = traffic.map((value, i) => (congested[i] == null ? null : value));
  const sums = {
    link: links.link,
    src: links.src,
    dst: links.dst,
    flits: known,
    stall_cycles: traffic.map((value, i) => (value ?? 0) * (congested[i] ?? 0)),
  };
  return treeOf(machine, links, sums);
}

interface Row {
  link: number;
  from: string;
  to: string;
  class: string;
  before: number | null;
  after: number | null;
  beforeBytes: number | null;
  afterBytes: number | null;
}

const columns: Column<Row>[] = [
  { key: "from", header: "From", value: (r) => r.from },
  { key: "to", header: "To", value: (r) => r.to },
  { key: "class", header: "Class", value: (r) => r.class },
  {
    key: "before",
    header: "congested before",
    numeric: true,
    value: (r) => r.before,
    render: (r) => fraction(r.before),
  },
  { key: "after", header: "congested after", numeric: true, value: (r) => r.after, render: (r) => fraction(r.after) },
  {
    key: "beforeBytes",
    header: "traffic before",
    numeric: true,
    value: (r) => r.beforeBytes,
    render: (r) => bytes(r.beforeBytes),
  },
  {
    key: "afterBytes",
    header: "traffic after",
    numeric: true,
    value: (r) => r.afterBytes,
    render: (r) => bytes(r.afterBytes),
  },
];

interface Props {
  id: number;
  /** Group of leaves that is drawn by itself. */
  slice: number | null;
  onSlice: (group: number | null) => void;
}

export function BeforeAfterPlots({ id, slice, onSlice }: Props) {
  const palette = usePalette();
  const answer = useQuery(beforeAfterQuery(id));
  const links = answer.data;
  const made = useMemo(() => {
    if (!links) return null;
    const machine = machineOf(links);
    const trees = { before: treeAt(links, machine, "before"), after: treeAt(links, machine, "after") };
    return {
      machine,
      trees,
      most: Math.max(mostTraffic(trees.before), mostTraffic(trees.after)),
      slices: slicesOf(trees.before, machine),
    };
  }, [links]);
  const rows = useMemo(
    () =>
      links
        ? links.link.map((link, i): Row => ({
            link,
            from: links.name[links.src[i] ?? -1] ?? "",
            to: links.name[links.dst[i] ?? -1] ?? "",
            class: links.class[i] ?? "",
            before: links.before.congested[i] ?? null,
            after: links.after.congested[i] ?? null,
            beforeBytes: links.before.traffic_bytes[i] ?? null,
            afterBytes: links.after.traffic_bytes[i] ?? null,
          }))
        : [],
    [links],
  );
  if (answer.error && !links)
    return (
      <section className="card" aria-label="Before and after">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!made)
    return (
      <section className="card before-after" aria-label="Before and after">
        <Waiting what="the links" />
      </section>
    );
  const { machine, trees, most, slices } = made;
  const what = links && isSampled(links) ? "congested fraction" : "load ÷ busiest link";
  refuseUnless(slice === null || slices.includes(slice), `This fabric has no pod ${slice}.`, "slice");
  return (
    <PictureCard
      title="Before and after"
      name={`recommendation-${id}-links`}
      source={address(`/advice/${id}/links`)}
      rows={rows}
      columns={columns}
      id={(r) => String(r.link)}
      className="before-after"
      note="upper half of an edge: down link · lower half: up link · width: traffic"
      actions={
        <>
          <FractionLegend theme={palette.theme} what={what} />
          {slices.length > 1 && slices.length <= 8 && (
            <Segmented
              label="Slice"
              value={slice === null ? "all" : String(slice)}
              options={[
                { value: "all", label: "All" },
                ...slices.map((g) => ({ value: String(g), label: `Pod ${g}` })),
              ]}
              onChange={(v) => onSlice(v === "all" ? null : Number(v))}
            />
          )}
        </>
      }
    >
      <div className="plots">
        {(["before", "after"] as const).map((which) => (
          <figure key={which}>
            <figcaption>
              {which === "before" ? "Before" : "After"}{" "}
              <span className="muted">{worstLeafText(trees[which], machine)}</span>
            </figcaption>
            <TreePicture
              tree={trees[which]}
              machine={machine}
              measure="fraction"
              most={most}
              slice={slice}
              onSlice={onSlice}
              label={`${capital(what)} of ${count(rows.length)} links ${which} the change; ${worstLeafText(trees[which], machine)}. The table lists the same figures.`}
              describe={(router) => congestedText(trees[which], machine, router)}
            />
          </figure>
        ))}
      </div>
    </PictureCard>
  );
}
