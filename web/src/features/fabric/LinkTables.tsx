/** What matrices, ring and tree show, as rows: counted links, and pairs of groups. */
import { classText, type Words, wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { linkFiguresQuery, type Moment } from "../../api/queries";
import type { Congestion, LinkFigures } from "../../api/shapes";
import { hottestPairs, pairsOf, type Pair } from "../../charts/matrix";
import { useAddressOrder } from "../../components/addressSort";
import { OrderedTable, type Column, type Sort } from "../../components/DataTable";
import { Empty, Unanswered, Waiting } from "../../components/Notice";
import { ratio, si } from "../../lib/format";
import type { Scene } from "../../machine/scene";

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

export function LinkTable({ scene, moment, linkClass, selected, onSelect }: LinkProps) {
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
      <Empty title={`No link${group === null ? "" : ` of g${group}`} is counted`}>
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

export function PairTable({
  groups,
  words,
  congestion,
}: {
  groups: number[];
  words: Words;
  congestion: Congestion | null;
}) {
  const columns = useMemo(() => pairColumns(words), [words]);
  const rows = useMemo(
    () => (congestion ? hottestPairs(pairsOf(groups, congestion.groups)) : null),
    [groups, congestion],
  );
  const order = useAddressOrder(rows ?? NO_PAIRS, columns, WORST);
  if (!rows) return <Waiting what="the pairs of groups" />;
  if (!rows.length)
    return (
      <Empty title={congestion?.groups.note ?? "No link between groups is counted"}>
        Unknown pairs are not listed, because unknown is not zero.
      </Empty>
    );
  return <OrderedTable label="Pairs of groups" order={order} columns={columns} id={(p) => `${p.src} ${p.dst}`} />;
}
