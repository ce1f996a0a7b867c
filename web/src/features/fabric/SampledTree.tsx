/** A tree in the colours of its packets: how many of a job's, a tag's or a phase's packets found each link congested. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState, type ReactNode } from "react";
import { linksQuery, type Moment } from "../../api/queries";
import { cablesQuery, type SampleContexts, sampleMapQuery } from "../../api/samples";
import { FractionLegend } from "../../charts/legends";
import { congestedText, treeOf, worstLeafText } from "../../charts/tree";
import type { Hop } from "../../charts/treeLayout";
import { TreePicture } from "../../charts/TreePicture";
import { usePalette } from "../../charts/Canvas";
import { type Column, DataTable } from "../../components/DataTable";
import { Dialog } from "../../components/Dialog";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/choices";
import { Empty, Unanswered } from "../../components/Notice";
import { bytes, count, fraction, plural, si } from "../../lib/format";
import { intervalText, isoTime, parseTime, ZONE } from "../../lib/time";
import { choices, FILTERS, linkText, ringsOf, type SampledLink, sampledLinks, sampledSums } from "./sampled";
import type { ViewProps } from "../../machine/usePicture";
import { capital } from "../../machine/words";
import { address } from "../../api/client";
import { tableEntries } from "../../components/TableExport";

type Row = SampledLink & { from: string; to: string };

const columns: Column<Row>[] = [
  { key: "from", header: "From", value: (r) => r.from },
  { key: "to", header: "To", value: (r) => r.to },
  { key: "class", header: "Class", value: (r) => r.class },
  {
    key: "fraction",
    header: "congested",
    numeric: true,
    value: (r) => r.fraction,
    render: (r) => fraction(r.fraction),
  },
  { key: "packets", header: "packets", numeric: true, value: (r) => r.packets, render: (r) => si(r.packets) },
  {
    key: "packetsError",
    header: "± packets",
    numeric: true,
    value: (r) => r.packetsError,
    render: (r) => si(r.packetsError),
  },
  { key: "bytes", header: "bytes", numeric: true, value: (r) => r.bytes, render: (r) => bytes(r.bytes) },
];

interface Props extends Pick<ViewProps, "scene" | "selected" | "jobs" | "senders" | "onSelect"> {
  /** The worst path of the diagnosis. */
  path: readonly Hop[];
  contexts: SampleContexts["items"];
  slice: number | null;
  onSlice: (group: number | null) => void;
  /** Controls that stand before those of the packets. */
  controls: ReactNode;
  /** Window of the counters shown next to it: its packets are of the same window. */
  counted?: Moment;
}

export function SampledTree({
  scene,
  contexts,
  selected,
  jobs,
  senders,
  onSelect,
  slice,
  onSlice,
  controls,
  path,
  counted,
}: Props) {
  const { machine, fabric } = scene;
  const palette = usePalette();
  const search = useSearch({ from: "/fabric/$fabric" });
  const navigate = useNavigate({ from: "/fabric/$fabric" });
  const [table, setTable] = useState(false);
  const window =
    counted && counted.at !== null
      ? { from: isoTime(counted.at - counted.windowMs), to: isoTime(counted.at) }
      : { from: search.from, to: search.to };
  const chosen = { job: search.packets, tag: search.tag, phase: search.phase };
  const topology = useQuery(linksQuery(fabric.id));
  const cables = useQuery(cablesQuery(fabric.id));
  const answer = useQuery({
    ...sampleMapQuery(fabric.id, { ...chosen, ...window }),
    placeholderData: counted && keepPreviousData,
  });
  const map = answer.data;
  const rows = useMemo(() => (cables.data && map ? sampledLinks(cables.data, map) : null), [cables.data, map]);
  const tree = useMemo(
    () => (topology.data && rows ? treeOf(machine, topology.data, sampledSums(rows)) : null),
    [topology.data, rows, machine],
  );
  const rings = useMemo(() => ringsOf(jobs), [jobs]);
  const listed = useMemo(
    () =>
      (rows ?? []).map((row): Row => ({
        ...row,
        from: row.src === null ? "node" : (machine.name[row.src] ?? ""),
        to: row.dst === null ? "node" : (machine.name[row.dst] ?? ""),
      })),
    [rows, machine],
  );
  const span = map ? { from: parseTime(map.from), to: parseTime(map.to) } : null;
  const when =
    span && span.from !== null && span.to !== null
      ? `${intervalText({ from: span.from, to: span.to }, span.to)} ${ZONE}`
      : "";
  const choose = (part: (typeof FILTERS)[number], value: string | undefined) =>
    void navigate({
      to: ".",
      search: (old) => ({ ...old, [part === "job" ? "packets" : part]: value }),
      replace: true,
    });
  const said = [
    FILTERS.flatMap((part) => (chosen[part] ? [`${part} ${chosen[part]}`] : [])).join(", ") || "all sampled packets",
    when,
  ]
    .filter(Boolean)
    .join(" · ");

  return (
    <div className="tree-view">
      <div className="tree-head">
        {controls}
        {FILTERS.map((part) => {
          const values = choices(contexts, chosen, part);
          return values.length || chosen[part] ? (
            <Menu
              key={part}
              heading={`Packets of one ${part}`}
              trigger={
                <>
                  {chosen[part] ? (
                    <>
                      {part} <span className="ellipsis">{chosen[part]}</span>
                    </>
                  ) : (
                    capital(part)
                  )}
                  <Icon name="down" />
                </>
              }
              entries={[
                { id: "", label: `Any ${part}`, onSelect: () => choose(part, undefined) },
                ...values.slice(0, 50).map((value) => ({
                  id: value,
                  label: <span className="ellipsis">{value}</span>,
                  onSelect: () => choose(part, value),
                })),
              ]}
            />
          ) : null;
        })}
        <span className="spacer" />
        <Menu
          trigger={
            <>
              <span className="visually-hidden">Sampled links as </span>Table
              <Icon name="down" />
            </>
          }
          entries={[
            { id: "table", label: "Show the table", onSelect: () => setTable(true) },
            ...tableEntries({
              name: `${fabric.name}-packets`,
              rows: () => listed,
              columns,
              source: address(`/fabrics/${fabric.id}/samples`, { ...chosen, ...window }),
            }),
          ]}
        />
        <FractionLegend theme={palette.theme} />
      </div>
      <p className="subtitle tree-note" data-caption>
        {said} · upper half of an edge: down link · lower half: up link · width: bytes · dashed: not sampled
        {map?.simulated ? " · simulated" : ""}
      </p>
      {!tree ? (
        <Unanswered what="the packets" asked={[topology, cables, answer]} />
      ) : !rows?.length ? (
        <Empty title="No packets were sampled then">Choose another window, job, tag or phase.</Empty>
      ) : (
        <TreePicture
          tree={tree}
          machine={machine}
          measure="fraction"
          slice={slice}
          onSlice={onSlice}
          selected={selected}
          onSelect={onSelect}
          rings={rings}
          label={`Congested fraction of ${plural(rows.length, "link")}, ${said}; ${worstLeafText(tree, machine)}. The table lists the same figures.`}
          path={path}
          describe={(router) => congestedText(tree, machine, router)}
          more={(router) => senders?.({ router })}
          describeLink={({ src, dst, half }) =>
            linkText(machine, src, dst, half, (value) => `congested fraction ${fraction(value)}`)
          }
          moreOfLink={({ src, dst }) => senders?.({ router: src }, dst)}
        />
      )}
      {table && (
        <Dialog open title={`Sampled links, ${said}`} onClose={() => setTable(false)}>
          <div className="time-table">
            <DataTable
              label={`${count(listed.length)} sampled links`}
              rows={listed}
              columns={columns}
              id={(r) => String(r.link)}
            />
          </div>
        </Dialog>
      )}
    </div>
  );
}
