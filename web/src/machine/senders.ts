/** Who sends over a link or over the links of a router: the jobs with their estimated shares, asked for once the pointer rests. */
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { type HotLink, type HotLinkFilter, hotLinksQuery } from "../api/links";
import type { Moment } from "../api/queries";
import type { More } from "../components/tooltip";
import { percent, plural } from "../lib/format";

export interface Sender {
  job_id: string;
  name: string | null;
  share: number;
}

/** Links of one router, or of one pair of groups, at most. */
const MOST = 200;
const NAMED = 4;

/** Jobs by their share of what those links carry together that can be explained; null if no link tells. */
export function sendersOf(links: readonly HotLink[]): Sender[] | null {
  const explained = links.filter((link) => link.cannot_tell === null && (link.flits ?? 0) > 0);
  const total = explained.reduce((sum, link) => sum + (link.flits ?? 0), 0);
  if (!explained.length) return null;
  const found = new Map<number, Sender>();
  for (const link of explained)
    for (const { job_pk, job_id, name, share } of link.jobs) {
      const held = found.get(job_pk) ?? { job_id, name, share: 0 };
      held.share += (share * (link.flits ?? 0)) / total;
      found.set(job_pk, held);
    }
  return [...found.values()].sort((a, b) => b.share - a.share);
}

export function sendersText(links: readonly HotLink[]): string {
  const senders = sendersOf(links);
  if (!senders) return links.length ? `senders: cannot tell. ${links[0]?.cannot_tell ?? ""}`.trim() : "";
  const lines = senders
    .slice(0, NAMED)
    .map(({ job_id, name, share }) => [job_id, name, percent(share)].filter(Boolean).join(" "));
  const more = senders.length - NAMED;
  return ["sent by (estimated)", ...lines, ...(more > 0 ? [`and ${plural(more, "more job")}`] : [])].join("\n");
}

/** What a tooltip adds for a router, a link or a pair of groups; `to`: only of a router's links to that one. Stable while the moment is. */
export type Senders = (filter: HotLinkFilter, to?: number) => More;

export const sendersQuery = (fabric: number, moment: Moment, filter: HotLinkFilter) =>
  hotLinksQuery(fabric, moment, filter, MOST);

export function useSenders(fabric: number, moment: Moment): Senders {
  const queries = useQueryClient();
  return useMemo(
    () => (filter, to) => ({
      key: JSON.stringify([fabric, moment, filter, to]),
      ask: async () => {
        const { items } = await queries.fetchQuery(sendersQuery(fabric, moment, filter));
        return sendersText(
          to === undefined ? items : items.filter((one) => one.src === filter.router && one.dst === to),
        );
      },
    }),
    [queries, fabric, moment],
  );
}
