/** The picture in tables, for reading, sorting and screen readers: routers, links, pairs of groups. */
import { capital, wordsOf } from "../../machine/words";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Moment } from "../../api/queries";
import type { Congestion } from "../../api/shapes";
import { useAddressOrder } from "../../components/addressSort";
import { OrderedTable, type Column } from "../../components/DataTable";
import { Segmented } from "../../components/Segmented";
import { change, count, percent, ratio, si } from "../../lib/format";
import { useStore } from "../../lib/store";
import { SILENT } from "../../charts/scale";
import type { Rows } from "./address";
import { LinkTable, linkScope, PairTable, WORST } from "./LinkTables";
import type { ViewProps } from "../../machine/usePicture";
import type { Scene, Values } from "../../machine/scene";

export interface RouterRow {
  router: number;
  name: string;
  panel: string;
  row: number | null;
  col: number | null;
  ratio: number;
  factor: number;
  flits: number;
  stalls: number;
  coverage: number;
  state: string;
  nodes: number | null;
  jobs: string;
}

export function routerRows(scene: Scene, values: Values, jobsAt: (router: number) => string[]): RouterRow[] {
  const { machine, arrangement } = scene;
  return Array.from({ length: machine.size }, (_, router) => {
    const value = values.window.ratio[router] ?? NaN;
    const known = !Number.isNaN(value);
    return {
      router,
      name: machine.name[router] ?? "",
      panel: arrangement.panels[arrangement.panelOf[router] ?? 0]?.label ?? "",
      row: machine.row[router] ?? null,
      col: machine.col[router] ?? null,
      ratio: value,
      factor: values.window.factor?.[router] ?? NaN,
      flits: known ? (values.window.flits[router] ?? NaN) : NaN,
      stalls: known ? (values.window.stalls[router] ?? NaN) : NaN,
      coverage: known ? (values.window.coverage[router] ?? NaN) : NaN,
      state: known ? "counted" : values.window.codes[router] === SILENT ? "silent" : "not sampled",
      nodes: machine.nodes[router] ?? null,
      jobs: jobsAt(router).join("; "),
    };
  });
}

export function routerColumns(scene: Scene, difference: boolean): Column<RouterRow>[] {
  const noun = scene.arrangement.noun;
  const words = wordsOf(scene.fabric);
  const all: (Column<RouterRow> | false)[] = [
    { key: "name", header: capital(words.router), value: (r) => r.name },
    { key: "panel", header: noun.charAt(0).toUpperCase() + noun.slice(1), value: (r) => r.panel },
    scene.machine.row.some((row) => row !== null) && { key: "row", header: "Row", numeric: true, value: (r) => r.row },
    scene.machine.col.some((col) => col !== null) && {
      key: "col",
      header: "Column",
      numeric: true,
      value: (r) => r.col,
    },
    {
      key: "ratio",
      header: words.ratio,
      numeric: true,
      value: (r) => r.ratio,
      render: (r) => (r.state === "counted" ? ratio(r.ratio) : r.state),
    },
    difference && {
      key: "factor",
      header: "change",
      numeric: true,
      value: (r) => r.factor,
      render: (r) => change(r.factor),
    },
    { key: "flits", header: words.flits, numeric: true, value: (r) => r.flits, render: (r) => si(r.flits) },
    { key: "stalls", header: words.stalls, numeric: true, value: (r) => r.stalls, render: (r) => si(r.stalls) },
    { key: "coverage", header: "counted", numeric: true, value: (r) => r.coverage, render: (r) => percent(r.coverage) },
    { key: "nodes", header: "nodes", numeric: true, value: (r) => r.nodes, render: (r) => count(r.nodes) },
    { key: "jobs", header: "Jobs", value: (r) => r.jobs },
  ];
  return all.filter((column): column is Column<RouterRow> => column !== false);
}

interface Props extends ViewProps {
  moment: Moment;
  congestion: Congestion | null;
  linkClass: string | null;
}

export function TableView({ moment, congestion, linkClass, ...props }: Props) {
  const { scene, selected, onSelect } = props;
  const { rows = "routers" } = useSearch({ from: "/fabric/$fabric" });
  const navigate = useNavigate({ from: "/fabric/$fabric" });
  const group = linkScope(scene, selected);
  const options: { value: Rows; label: string }[] = [
    { value: "routers", label: capital(wordsOf(scene.fabric).routers) },
    { value: "links", label: group === null ? "Links" : `Links of g${group}` },
    ...(scene.groups.length > 1 && scene.fabric.kind === "dragonfly"
      ? [{ value: "pairs" as const, label: "Pairs of groups" }]
      : []),
  ];
  return (
    <div className="tables">
      <Segmented
        label="Rows"
        value={rows}
        options={options}
        onChange={(value) =>
          void navigate({
            to: ".",
            search: (old) => ({ ...old, rows: value === "routers" ? undefined : value, sort: undefined }),
            replace: true,
          })
        }
      />
      {rows === "links" ? (
        <LinkTable scene={scene} moment={moment} linkClass={linkClass} selected={selected} onSelect={onSelect} />
      ) : rows === "pairs" ? (
        <PairTable words={wordsOf(scene.fabric)} groups={scene.groups} congestion={congestion} />
      ) : (
        <RouterTable {...props} />
      )}
    </div>
  );
}

function RouterTable({ scene, values, selected, jobsAt, label, onSelect }: ViewProps) {
  const shown = useStore(values);
  const rows = useMemo(() => (shown ? routerRows(scene, shown, jobsAt) : []), [scene, shown, jobsAt]);
  const columns = useMemo(() => routerColumns(scene, shown?.window.factor != null), [scene, shown]);
  const order = useAddressOrder(rows, columns, WORST);
  return (
    <OrderedTable
      label={label}
      order={order}
      columns={columns}
      id={(row) => String(row.router)}
      current={selected === null ? null : String(selected)}
      onPick={(row) => onSelect(row.router)}
    />
  );
}
