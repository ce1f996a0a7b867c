/** Which data there are: what was counted of the last hour, and how far each stream is behind. */
import { Link } from "@tanstack/react-router";
import type { IngestStatus, Overview } from "../../api/shapes";
import { duration, percent, UNKNOWN } from "../../lib/format";

interface Props {
  /** Router, or switch. */
  device: string;
  overview: Overview | null;
  ingest: IngestStatus | null;
  /** Text that stands if nothing is known yet. */
  children?: React.ReactNode;
}

/** Less than this of what was due is drawn as a gap. */
const WHOLE = 0.95;

export function Coverage({ device, overview, ingest, children }: Props) {
  const minutes = overview?.coverage ?? [];
  const known = minutes.filter((share): share is number => share !== null);
  const mean = known.length ? known.reduce((sum, share) => sum + share, 0) / minutes.length : null;
  return (
    <section className="card home-coverage" aria-label="Data">
      <div className="card-head">
        <div className="card-title">
          <h2>Data</h2>
          <span className="subtitle">last hour, share of the expected samples</span>
        </div>
        <Link to="/health">Health</Link>
      </div>
      {children}
      <dl>
        <div>
          <dt>{device} counters</dt>
          <dd>
            <span
              className="coverage-bar"
              role="img"
              aria-label={`${minutes.filter((share) => (share ?? 0) >= WHOLE).length} of ${minutes.length} minutes are whole`}
            >
              {minutes.map((share, i) => (
                <i key={i} data-share={share === null ? "none" : share >= WHOLE ? "whole" : "part"} />
              ))}
            </span>
            <span className="numeric">{mean === null ? UNKNOWN : percent(Math.min(1, mean))}</span>
          </dd>
        </div>
        {(ingest?.topics ?? []).map((topic) => (
          <div key={topic.topic}>
            <dt>{topic.topic}</dt>
            <dd>
              <span className="spacer" />
              <span className={`numeric${(topic.lag_s ?? 0) > 5 ? " alarm" : ""}`}>
                {topic.lag_s == null ? UNKNOWN : `${duration(topic.lag_s)} behind`}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
