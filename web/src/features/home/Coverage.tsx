/** Which data there are, by source: what came in each step of the span, and how far each is behind. */
import { Link } from "@tanstack/react-router";
import { type IngestCoverage, type IngestStatus, LATE_S, type Overview } from "../../api/shapes";
import { duration, percent, UNKNOWN } from "../../lib/format";

// What the strips of coverage show of each source: steps with records, with refused ones, and without any.

/** Of a step: all that came was used, some was refused or is missing, nothing came. */
type Share = "whole" | "part" | "none";

export const sharesOf = ({ records, dead }: IngestCoverage["sources"][number]): Share[] =>
  records.map((written, i) => ((dead[i] ?? 0) > 0 ? "part" : written > 0 ? "whole" : "none"));

/** The largest lag of a source's topics in seconds; null where none is known. */
export function lagOf(topics: string[], status: IngestStatus["topics"]): number | null {
  const known = status.flatMap((one) => (topics.includes(one.topic) && one.lag_s != null ? [one.lag_s] : []));
  return known.length ? Math.max(...known) : null;
}

export const stepText = (shares: Share[], what: string): string =>
  `${shares.filter((share) => share === "whole").length} of ${shares.length} steps are ${what}`;

interface Props {
  /** Router, or switch. */
  device: string;
  /** The span in words. */
  span: string;
  overview: Overview | null;
  coverage: IngestCoverage | null;
  ingest: IngestStatus | null;
  /** Text that stands if nothing is known yet. */
  children?: React.ReactNode;
}

/** Less than this of what was due is drawn as a gap. */
const WHOLE = 0.95;

export function Coverage({ device, span, overview, coverage, ingest, children }: Props) {
  const steps = overview?.coverage ?? [];
  const known = steps.filter((share): share is number => share !== null);
  const mean = known.length ? known.reduce((sum, share) => sum + share, 0) / steps.length : null;
  const shares = steps.map((share): Share => (share === null ? "none" : share >= WHOLE ? "whole" : "part"));
  return (
    <section className="card home-coverage" aria-label="Data">
      <div className="card-head">
        <div className="card-title">
          <h2>Data</h2>
          <span className="subtitle">{span} · right: share counted, or how far behind</span>
        </div>
        <Link to="/health">Health</Link>
      </div>
      {children}
      <dl>
        <div>
          <dt>{device}s counted</dt>
          <dd>
            <Strip shares={shares} label={stepText(shares, "complete")} />
            <span className="numeric" title="Share of the expected samples">
              {mean === null ? UNKNOWN : percent(Math.min(1, mean))}
            </span>
          </dd>
        </div>
        {(coverage?.sources ?? []).map((source) => {
          const lag = ingest && lagOf(source.topics, ingest.topics);
          const drawn = sharesOf(source);
          return (
            <div key={source.source} title={source.topics.join(", ")}>
              <dt>{source.source}</dt>
              <dd>
                <Strip shares={drawn} label={stepText(drawn, "with records, none refused")} />
                <span className={`numeric${(lag ?? 0) > LATE_S ? " alarm" : ""}`}>
                  {lag === null ? UNKNOWN : duration(lag)}
                </span>
              </dd>
            </div>
          );
        })}
      </dl>
    </section>
  );
}

const Strip = ({ shares, label }: { shares: Share[]; label: string }) => (
  <span className="coverage-bar" role="img" aria-label={label}>
    {shares.map((share, i) => (
      <i key={i} data-share={share} />
    ))}
  </span>
);
