/** The hottest links of the machine, of a pair of groups, or one link: with the jobs that use them and their estimated shares. */
import { classText, type Words, wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type HotLink, hotLinksQuery } from "../../api/links";
import type { Moment } from "../../api/queries";
import { Swatch } from "../../charts/legends";
import { heatColour } from "../../charts/scale";
import { type Column, OrderedTable, useAddressOrder } from "../../components/DataTable";
import { Icon } from "../../components/Icon";
import { Empty, Unanswered } from "../../components/Notice";
import { count, percent, plural, ratio, si } from "../../lib/format";
import { useStore } from "../../lib/store";
import { themeStore, type ThemeName } from "../../lib/theme";
import type { Scene } from "../../machine/scene";
import type { FabricSearch } from "./address";
import { WORST } from "./TableView";

/** Links in the table. */
const MOST = 100;
/** Jobs that are named in a row; the rest are counted. */
const NAMED = 2;

interface Props {
  scene: Scene;
  moment: Moment;
  search: FabricSearch;
  selected: number | null;
  onSelect: (router: number) => void;
  change: (patch: Partial<FabricSearch>, push?: boolean) => void;
}

/** `3-7` of the address: the groups of a pair. */
export function pairOf(text: string | undefined): { src: number; dst: number } | null {
  const match = /^(\d+)-(\d+)$/.exec(text ?? "");
  return match ? { src: Number(match[1]), dst: Number(match[2]) } : null;
}

const users = (link: HotLink) =>
  link.cannot_tell ?? link.jobs.map((job) => `${job.job_id} ${percent(job.share)}`).join("; ");

/** Why nobody can tell who uses a link, once for all links that share the reason: rows have no room for it. */
export function reasonsOf(links: HotLink[]): { reason: string; links: number }[] {
  const found = new Map<string, number>();
  for (const { cannot_tell: reason } of links) if (reason !== null) found.set(reason, (found.get(reason) ?? 0) + 1);
  return [...found].map(([reason, links]) => ({ reason, links }));
}

function Users({ link, at }: { link: HotLink; at: string | undefined }) {
  if (link.cannot_tell !== null)
    return (
      <span className="muted" title={link.cannot_tell}>
        Cannot tell
      </span>
    );
  const more = link.jobs.length - NAMED + link.jobs_more;
  return (
    <span className="link-users">
      {link.jobs.slice(0, NAMED).map((job) => (
        <span key={job.job_pk}>
          <Link to="/jobs/$job" params={{ job: job.job_id }} search={{ at }}>
            {job.job_id} {job.name ?? ""} {percent(job.share)}
          </Link>
        </span>
      ))}
      {more > 0 && (
        <span className="muted" title={users(link)}>
          and {count(more)} more
        </span>
      )}
    </span>
  );
}

export const hotLinkColumns = (at: string | undefined, theme: ThemeName, words: Words): Column<HotLink>[] => [
  {
    key: "ratio",
    header: words.ratio,
    numeric: true,
    value: (r) => r.ratio,
    render: (r) => (
      <>
        <Swatch colour={heatColour(r.ratio ?? NaN, theme)} />
        {ratio(r.ratio)}
      </>
    ),
  },
  { key: "from", header: "From", value: (r) => r.src_name },
  { key: "to", header: "To", value: (r) => r.dst_name },
  { key: "groups", header: "Groups", value: (r) => `g${r.src_group} → g${r.dst_group}` },
  { key: "class", header: "Class", value: (r) => classText(r.link_class) },
  { key: "flits", header: words.flits, numeric: true, value: (r) => r.flits, render: (r) => si(r.flits) },
  {
    key: "stalls",
    header: words.stalls,
    numeric: true,
    value: (r) => r.stall_cycles,
    render: (r) => si(r.stall_cycles),
  },
  // The longest comes last: it pushes no figure out of sight.
  {
    key: "jobs",
    header: "Jobs that use it, estimated share",
    value: users,
    render: (r) => <Users link={r} at={at} />,
  },
];

const NONE: HotLink[] = [];

export function HotLinksView({ scene, moment, search, selected, onSelect, change }: Props) {
  const theme = useStore(themeStore);
  const pair = pairOf(search.pair);
  const answer = useQuery(
    hotLinksQuery(
      scene.fabric.id,
      moment,
      {
        ...(search.class && { class: search.class }),
        ...(search.link !== undefined && { link: search.link }),
        ...(pair && { src_group: pair.src, dst_group: pair.dst }),
      },
      MOST,
    ),
  );
  const columns = useMemo(
    () => hotLinkColumns(search.to, theme, wordsOf(scene.fabric)),
    [search.to, theme, scene.fabric],
  );
  const data = answer.data;
  const order = useAddressOrder(data?.items ?? NONE, columns, WORST);
  const filter =
    search.link !== undefined ? `Link ${search.link}` : pair ? `Links from g${pair.src} to g${pair.dst}` : null;
  return (
    <div className="tables hot-links">
      <div className="hot-links-head">
        <h2 className="block-title">{filter ?? "Hottest links"}</h2>
        {filter && (
          <button className="button" onClick={() => change({ pair: undefined, link: undefined })}>
            <Icon name="close" />
            All links
          </button>
        )}
        {data && (
          <span className="subtitle">
            {data.items.length < data.links_counted ? `the hottest ${count(data.items.length)} of ` : ""}
            {plural(data.links_counted, "counted link")} · shares are estimated from network cards and routes
            {data.note ? ` · ${data.note}` : ""}
          </span>
        )}
        {data &&
          reasonsOf(data.items).map(({ reason, links }) => (
            <span className="subtitle hot-links-reason" key={reason}>
              {links < data.items.length
                ? `Cannot tell for ${plural(links, "link")}`
                : "Cannot tell which jobs use them"}
              : {reason}
            </span>
          ))}
      </div>
      {!data ? (
        <Unanswered what="the links" asked={[answer]} />
      ) : data.items.length ? (
        <OrderedTable
          label={filter ?? "Hottest links and the jobs that use them"}
          order={order}
          columns={columns}
          id={(r) => String(r.link)}
          current={data.items.find((r) => r.src === selected)?.link.toString() ?? null}
          onPick={(r) => onSelect(r.src)}
        />
      ) : (
        <Empty title="No link here has counters in this window">
          Unknown links are not listed, because unknown is not zero.
        </Empty>
      )}
    </div>
  );
}
