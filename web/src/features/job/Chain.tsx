/** The causal chain of a slow job on one screen: how slow, what carries it, who feeds it, since when, how sure, and what would help. */
import { Link } from "@tanstack/react-router";
import type { Explanation } from "../../api/estimateShapes";
import { DownloadButton } from "../../components/DownloadButton";
import { PrintButton } from "../../components/PrintButton";

const PARTS: Record<string, string> = {
  steps: "How slow",
  links: "What carries it",
  jobs: "Who feeds it",
  since: "Since when",
  certainty: "How sure",
};
/** Remedies that a replay of the moment can put minutes to. */
const REPLAYED: Record<string, string> = {
  move: "Estimate by a replay",
  "re-route": "Estimate other routes by a replay",
};

interface Props {
  told: Explanation;
  /** What the lab's address holds to replay this job at its moment; null where it cannot be replayed. */
  replay: { fabric: string; job: string; at: string } | null;
  cluster: string;
  job: string;
}

export function Chain({ told, replay, cluster, job }: Props) {
  if (!told.chain.length) return null;
  const facts = told.chain.filter((one) => one.part !== "help");
  const evidence = `/jobs/${encodeURIComponent(job)}/case?cluster=${encodeURIComponent(cluster)}`;
  const helps = told.chain.filter((one) => one.part === "help");
  return (
    <section className="card job-chain" aria-label="Why, and what would help">
      <div className="card-head">
        <h2>Why, and what would help</h2>
        <DownloadButton path={evidence} name={`job-${job}-evidence.html`}>
          Evidence as HTML
        </DownloadButton>
        <PrintButton path={evidence}>Print, or save as PDF</PrintButton>
      </div>
      <div className="chain-columns">
        <dl>
          {facts.map((one) => (
            <div key={one.part}>
              <dt>{PARTS[one.part] ?? one.part}</dt>
              <dd>{one.text}</dd>
            </div>
          ))}
        </dl>
        {helps.length > 0 && (
          <ul aria-label="What would help">
            {helps.map((one, i) => {
              const remedy = told.remedies[i];
              const label = remedy && remedy.minutes_saved === null ? REPLAYED[remedy.kind] : undefined;
              return (
                <li key={one.text}>
                  {one.text}{" "}
                  {label && replay && (
                    <Link className="button" to="/lab" search={{ replay: "on", ...replay }}>
                      {label}
                    </Link>
                  )}
                </li>
              );
            })}
          </ul>
        )}
      </div>
    </section>
  );
}
