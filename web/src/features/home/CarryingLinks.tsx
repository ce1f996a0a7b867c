/** The links of an incident, bundled, each with the fabric at its time. */
import { Link } from "@tanstack/react-router";
import type { CarryingLink } from "../../api/incident";
import { ratio } from "../../lib/format";
import { isoTime } from "../../lib/time";
import "./home.css";
import { linkBundles } from "./linkBundles";

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
