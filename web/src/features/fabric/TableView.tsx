/** The picture in tables, for reading, sorting and screen readers: routers, links, pairs of groups. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { linkFiguresQuery, type Moment } from "../../api/queries";
import type { Congestion, LinkFigures } from "../../api/shapes";
import { hottestPairs, type Pair, pairsOf } from "../../charts/matrix";
import { SILENT } from "../../charts/scale";
import { type Column, OrderedTable, type Sort, useAddressOrder } from "../../components/DataTable";
import { Empty, Unanswered, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { change, count, percent, ratio, si } from "../../lib/format";
import { useStore } from "../../lib/store";
import type { Scene, Values } from "../../machine/scene";
import type { ViewProps } from "../../machine/usePicture";
import { capital, classText, type Words, wordsOf } from "../../machine/words";
import type { Rows } from "./address";

// What matrices, ring and tree show, as rows: counted links, and pairs of groups.

/** The worst first, until a reader orders otherwise. */
export const WORST: Sort = { key: "ratio", descending: true };

export interface LinkRow {
  link: number;
  from: string;
  to: string;
  fromRouter: number | null;
  class: string;
  fromPort: number | null;
  toPort: number | null;
  ratio: number | null;
  flits: number | null;
  stalls: number | null;
}

export function linkRows({ machine }: Pick<Scene, "machine">, figures: LinkFigures): LinkRow[] {
  const name = (router: number | null | undefined) =>
    router == null ? "node" : (machine.name[router] ?? String(router));
  return figures.link.map((link, i) => ({
    link,
    from: name(figures.src[i]),
    to: name(figures.dst[i]),
    fromRouter: figures.src[i] ?? null,
    class: figures.class[i] ?? "",
    fromPort: figures.src_port[i] ?? null,
    toPort: figures.dst_port[i] ?? null,
    ratio: figures.ratio[i] ?? null,
    flits: figures.flits[i] ?? null,
    stalls: figures.stall_cycles[i] ?? null,
  }));
}

export const linkColumns = (words: Words): Column<LinkRow>[] => [
  { key: "from", header: "From", value: (r) => r.from },
  { key: "fromPort", header: "port", numeric: true, value: (r) => r.fromPort },
  { key: "to", header: "To", value: (r) => r.to },
  { key: "toPort", header: "port there", numeric: true, value: (r) => r.toPort },
  { key: "class", header: "Class", value: (r) => classText(r.class) },
  { key: "ratio", header: words.ratio, numeric: true, value: (r) => r.ratio, render: (r) => ratio(r.ratio) },
  { key: "flits", header: words.flits, numeric: true, value: (r) => r.flits, render: (r) => si(r.flits) },
  { key: "stalls", header: words.stalls, numeric: true, value: (r) => r.stalls, render: (r) => si(r.stalls) },
];

const NO_LINKS: LinkRow[] = [];
const NO_PAIRS: Pair[] = [];

const pairColumns = (words: Words): Column<Pair>[] => [
  { key: "src", header: "From group", value: (p) => p.src, render: (p) => `g${p.src}` },
  { key: "dst", header: "To group", value: (p) => p.dst, render: (p) => `g${p.dst}` },
  { key: "ratio", header: words.ratio, numeric: true, value: (p) => p.ratio, render: (p) => ratio(p.ratio) },
  { key: "flits", header: words.flits, numeric: true, value: (p) => p.flits, render: (p) => si(p.flits) },
  { key: "stalls", header: words.stalls, numeric: true, value: (p) => p.stalls, render: (p) => si(p.stalls) },
];

/** Links of one group on a dragonfly, as the group view draws them; of another fabric all. */
export const linkScope = (scene: Scene, selected: number | null): number | null =>
  scene.fabric.kind === "dragonfly" ? (scene.machine.group[selected ?? 0] ?? null) : null;

interface LinkProps {
  scene: Scene;
  moment: Moment;
  linkClass: string | null;
  selected: number | null;
  onSelect: (router: number) => void;
}

function LinkTable({ scene, moment, linkClass, selected, onSelect }: LinkProps) {
  const group = linkScope(scene, selected);
  const answer = useQuery(
    linkFiguresQuery(scene.fabric.id, moment, {
      ...(group !== null && { group }),
      ...(linkClass && { class: linkClass }),
    }),
  );
  const rows = useMemo(() => (answer.data ? linkRows(scene, answer.data) : null), [answer.data, scene]);
  const columns = useMemo(() => linkColumns(wordsOf(scene.fabric)), [scene.fabric]);
  const order = useAddressOrder(rows ?? NO_LINKS, columns, WORST);
  if (!rows) return <Unanswered what="the links" asked={[answer]} />;
  if (!rows.length)
    return (
      <Empty title={`No link${group === null ? "" : ` of g${group}`} has counters`}>
        Unknown links are not listed, because unknown is not zero.
      </Empty>
    );
  return (
    <OrderedTable
      label={group === null ? "Counted links" : `Counted links of g${group}`}
      order={order}
      columns={columns}
      id={(r) => String(r.link)}
      onPick={(r) => {
        if (r.fromRouter !== null) onSelect(r.fromRouter);
      }}
    />
  );
}

function PairTable({ groups, words, congestion }: { groups: number[]; words: Words; congestion: Congestion | null }) {
  const columns = useMemo(() => pairColumns(words), [words]);
  const rows = useMemo(
    () => (congestion ? hottestPairs(pairsOf(groups, congestion.groups)) : null),
    [groups, congestion],
  );
  const order = useAddressOrder(rows ?? NO_PAIRS, columns, WORST);
  if (!rows) return <Waiting what="the pairs of groups" />;
  if (!rows.length)
    return (
      <Empty title={congestion?.groups.note ?? "No link between groups has counters"}>
        Unknown pairs are not listed, because unknown is not zero.
      </Empty>
    );
  return <OrderedTable label="Pairs of groups" order={order} columns={columns} id={(p) => `${p.src} ${p.dst}`} />;
}

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
    { key: "jobs", header: "Jobs", value: (r) => r.jobs, width: 240 },
  ];
  return all.filter((column): column is Column<RouterRow> => column !== false);
}

interface Props extends ViewProps {
  moment: Moment;
  /** Whether another window is compared with. */
  compared: boolean;
  congestion: Congestion | null;
  linkClass: string | null;
}

export function TableView({ moment, compared, congestion, linkClass, ...props }: Props) {
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
        <RouterTable {...props} compared={compared} />
      )}
    </div>
  );
}

function RouterTable({
  scene,
  values,
  selected,
  jobsAt,
  label,
  onSelect,
  compared,
}: ViewProps & Pick<Props, "compared">) {
  const shown = useStore(values);
  const rows = useMemo(() => (shown ? routerRows(scene, shown, jobsAt) : []), [scene, shown, jobsAt]);
  const columns = useMemo(() => routerColumns(scene, compared), [scene, compared]);
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
