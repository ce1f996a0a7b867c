/** The causal chain of a slow job: how slow, what carries it, who feeds it, since when and how sure; and what would help, with minutes or a replay. */
import { Link } from "@tanstack/react-router";
import type { Explanation } from "../../api/estimateShapes";
import { amountScale } from "../../charts/intervals";
import { DownloadButton, PrintButton } from "../../components/buttons";
import { IntervalBar } from "../../components/Figure";

const PARTS: Record<string, string> = {
  slowed: "Cost to others",
  steps: "Slowdown",
  links: "Affected links",
  jobs: "Jobs that send most",
  since: "Since when",
  certainty: "Confidence",
};
type Remedy = Explanation["remedies"][number];
/** Remedies that a replay of the moment can put minutes to. */
const REPLAYED: Record<string, string> = {
  move: "Estimate with a replay",
  "re-route": "Estimate other routes with a replay",
};

interface Props {
  explanation: Explanation;
  cluster: string;
  job: string;
}

export function Chain({ explanation, cluster, job }: Props) {
  const facts = explanation.chain.filter((one) => one.part !== "help");
  const evidence = `/jobs/${encodeURIComponent(job)}/case?cluster=${encodeURIComponent(cluster)}`;
  if (!facts.length) return null;
  return (
    <section className="card job-chain" aria-label="Why">
      <div className="card-head">
        <div className="card-title">
          <h2>Why</h2>
        </div>
        <DownloadButton path={evidence} name={`job-${job}-evidence.html`}>
          Evidence as HTML
        </DownloadButton>
        <PrintButton path={evidence}>Print or save as PDF</PrintButton>
      </div>
      <dl>
        {facts.map((one) => (
          <div key={one.part}>
            <dt>{PARTS[one.part] ?? one.part}</dt>
            <dd>{one.text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Minutes with their interval; null where nothing is known or saved. */
const savedInterval = ({ minutes_saved: middle, minutes_saved_low: low, minutes_saved_high: high }: Remedy) =>
  middle === null || low == null || high == null ? null : { middle, low, high };

interface HelpProps {
  explanation: Explanation;
  /** What the lab's address holds to replay this job at its moment; null if it cannot be replayed. */
  replay: { fabric: string; job: string; at: string } | null;
}

export function Help({ explanation, replay }: HelpProps) {
  const helps = explanation.chain.filter((one) => one.part === "help");
  if (!helps.length) return null;
  const savings = explanation.remedies.map(savedInterval);
  const bars = savings.filter((one) => one !== null);
  const x = amountScale(bars);
  return (
    <section className="card job-help" aria-label="What would help">
      <div className="card-head">
        <div className="card-title">
          <h2>What would help</h2>
          {bars.length > 0 && <span className="subtitle">bar: time saved, 95 %; line: nothing saved</span>}
        </div>
      </div>
      <ul>
        {helps.map((one, i) => {
          const remedy = explanation.remedies[i];
          const saved = savings[i];
          const label = remedy?.minutes_saved === null ? REPLAYED[remedy.kind] : undefined;
          return (
            <li key={one.text}>
              <span>{one.text}</span>
              {saved && <IntervalBar of={saved} x={x} />}
              {label && replay && (
                <Link className="button" to="/lab" search={{ replay: "on", ...replay }}>
                  {label}
                </Link>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
