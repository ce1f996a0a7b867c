/** The links of an incident, bundled, each with the fabric at its time. */
import { Link } from "@tanstack/react-router";
import type { CarryingLink } from "../../api/incident";
import { count, ratio } from "../../lib/format";
import { isoTime } from "../../lib/time";
import "./home.css";

// The links of an incident as the pages list them: those of one kind between the same groups are one line.

export interface LinkBundle {
  label: string;
  /** All of them, as texts of a tooltip, the worst first. */
  names: string[];
  worst: CarryingLink;
}

/** Links come with the worst first, and so do bundles. */
export function linkBundles(links: readonly CarryingLink[]): LinkBundle[] {
  const bundles = new Map<string, CarryingLink[]>();
  for (const link of links) {
    const place =
      link.from_group === link.to_group ? `in g${link.from_group}` : `g${link.from_group} → g${link.to_group}`;
    const key = `${link.link_class} ${place}`;
    const held = bundles.get(key);
    if (held) held.push(link);
    else bundles.set(key, [link]);
  }
  return [...bundles].flatMap(([key, held]) => {
    const [worst] = held;
    if (!worst) return [];
    const label = held.length === 1 ? key : `${count(held.length)} × ${key}`;
    return [{ label, names: held.map((link) => `${link.from_name} to ${link.to_name}`), worst }];
  });
}

const AROUND_MS = 120_000;

/** What an address of the fabric page holds to show the minutes about an onset. */
export const aroundOnset = (since: number | null) =>
  since === null ? {} : { from: isoTime(since - AROUND_MS), to: isoTime(since + AROUND_MS) };

interface Props {
  fabric: string;
  links: CarryingLink[];
  /** When it began, in milliseconds. */
  since: number | null;
  /** Jobs that the fabric shows. */
  jobs: string[];
  /** As many bundles at most. */
  most: number;
}

export const CarryingLinks = ({ fabric, links, since, jobs, most }: Props) =>
  linkBundles(links)
    .slice(0, most)
    .map(({ label, names, worst }) => (
      <Link
        key={label}
        className="incident-link"
        to="/fabric/$fabric"
        params={{ fabric }}
        search={{ ...aroundOnset(since), job: jobs.join(",") || undefined, router: worst.to_router }}
        title={names.join("\n")}
      >
        <span className="ellipsis">{label}</span>
        <span className="numeric">
          {ratio(worst.stall_ratio_before)} → {ratio(worst.stall_ratio_after)}
        </span>
      </Link>
    ));
