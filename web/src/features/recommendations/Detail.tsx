/** One recommendation: verdict, gain, before and after, what to take away, and the traffic that it rests on. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type RecommendationDetail, recommendationQuery, type Side } from "../../api/recommendations";
import { ratioScale } from "../../charts/intervals";
import { CopyButton, DownloadButton } from "../../components/buttons";
import { Failure, HowToRead, Waiting } from "../../components/Notice";
import { IntervalBar } from "../../components/Figure";
import { refuseUnless } from "../../lib/address";
import { bytes, count, isKnown, percent, plural, ratio } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import { fieldLabel } from "../lab/studies";
import { BeforeAfterPlots } from "./BeforeAfterPlots";
import { TrafficCard } from "./TrafficCard";
import { gainInterval, gainSaid, intervalText, parameterText, timeText, valueText } from "./words";

export function Detail({ id }: { id: number }) {
  const { slice, by } = useSearch({ from: "/advice" });
  const navigate = useNavigate({ from: "/advice" });
  // A pod is one of this advice, whatever newer advice comes.
  const cut = (group: number | null) =>
    void navigate({ search: (old) => ({ ...old, id, slice: group ?? undefined }), replace: true });
  const answer = useQuery(recommendationQuery(id));
  const one = answer.data;
  if (answer.error && !one)
    return (
      <section className="card" aria-label="Recommendation">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!one)
    return (
      <section className="card" aria-label="Recommendation">
        <Waiting what="the recommendation" />
      </section>
    );
  refuseUnless(slice === undefined || one.has_links, `Advice ${id} has no plots of a fabric, so no pod.`, "slice");
  refuseUnless(by === undefined || one.has_matrix, `Advice ${id} has no traffic matrix.`, "by");
  return (
    <div className="recommendation">
      {one.has_links && <BeforeAfterPlots id={id} slice={slice ?? null} onSlice={cut} />}
      <div className="recommendation-top">
        <Verdict one={one} />
        <Numbers one={one} />
      </div>
      {one.has_matrix && <TrafficCard id={id} />}
      <HowToRead
        lines={[
          <>
            The gain is time before ÷ time after, so above 1 is faster. The interval is that of{" "}
            {one.gain ? plural(one.gain.runs, "comparison") : "the comparisons"}
            {one.gain?.basis ? ` (${one.gain.basis})` : ""}. The bar is the interval, its tick is the gain, and the thin
            line at ×1 means no change.
          </>,
          <>
            In the plots, the upper half of an edge is the down link and the lower half is the up link. Darkness is the
            congested fraction (the load, if no packets were sampled), width the traffic, with one scale for both.
          </>,
          <>
            In the matrices, the column sends and the row receives. The true traffic is known only for simulations, and
            the optimiser never saw it.
          </>,
        ]}
        not={
          <>
            A simulation has one traffic pattern and no other jobs. Load new tables in a maintenance window, and compare
            the counters before and after.
          </>
        }
      />
    </div>
  );
}

function Verdict({ one }: { one: RecommendationDetail }) {
  const made = parseTime(one.created);
  return (
    <section className="card recommendation-verdict" aria-label="Recommendation">
      <p className="muted">
        {one.state === "recommended" ? "Recommended" : "Not recommended"}
        {made === null ? "" : `, ${moment(made, Date.now())} ${ZONE}`}{" "}
        {one.simulated && <span className="tag">simulated</span>}
      </p>
      <h2>{one.title}</h2>
      <p>{one.reason}</p>
      {one.why.length > 0 && (
        <ul className="why">
          {one.why.map((reason, i) => (
            <li key={i}>
              {reason.text}
              {reason.value !== null && <strong> {valueText(reason.value, reason.unit)}</strong>}
            </li>
          ))}
        </ul>
      )}
      <div className="alert-actions take-away">
        {one.has_lfts && (
          <DownloadButton
            className={`button ${one.state === "recommended" ? "primary" : ""}`}
            need="operate"
            path={`/advice/${one.recommendation_id}/lfts`}
            name={`recommendation-${one.recommendation_id}.lfts`}
          >
            Download LFTs
          </DownloadButton>
        )}
        {one.environment !== null && <Environment line={one.environment} />}
        {one.job_id !== null && (
          <Link className="button" to="/jobs/$job" params={{ job: one.job_id }}>
            Job {one.job_id}
          </Link>
        )}
        {one.task_id !== null && (
          <Link className="button" to="/lab" search={{ task: one.task_id }}>
            Task {one.task_id}
          </Link>
        )}
      </div>
      <dl className="facts made-with">
        {Object.entries(one.parameters)
          .filter(([, value]) => typeof value !== "object")
          .slice(0, 12)
          .map(([name, value]) => (
            <Parameter key={name} name={name} value={parameterText(name, value)} />
          ))}
      </dl>
    </section>
  );
}

const Environment = ({ line }: { line: string }) => (
  <span className="environment">
    <code>{line}</code>
    <CopyButton text={line} what="the environment line" />
  </span>
);

const errorText = (share: number | null) => (isKnown(share) ? `${ratio(100 * share)} %` : "unknown");

function Numbers({ one }: { one: RecommendationDetail }) {
  const { before, after, routes, reconstruction } = one;
  // What neither side tells has no row.
  const row = <T,>(name: string, value: (side: Side) => T | null, text: (value: T | null) => string) => {
    const sides = [before && value(before), after && value(after)];
    if (sides.every((one) => one === null)) return null;
    return (
      <tr>
        <th scope="row">{name}</th>
        <td className="numeric">{text(sides[0] ?? null)}</td>
        <td className="numeric">{text(sides[1] ?? null)}</td>
      </tr>
    );
  };
  return (
    <section className="card recommendation-numbers" aria-label="Gain">
      <div className="figures gain-figures">
        <div>
          <div className="figure-value">{gainSaid(one.gain)}</div>
          <div className="muted gain-cell">
            {intervalText(one.gain)}
            {one.gain && <IntervalBar of={gainInterval(one.gain)} x={ratioScale([gainInterval(one.gain)])} />}
          </div>
        </div>
        {reconstruction && (
          <div>
            <div className="figure-value">
              {errorText(reconstruction.estimated_error ?? reconstruction.relative_error)}
            </div>
            <div className="muted">
              {reconstruction.estimated_error === null
                ? "error of the reconstructed traffic"
                : "estimated error of the traffic"}
            </div>
          </div>
        )}
      </div>
      {(before ?? after) && (
        <table className="tight">
          <thead>
            <tr>
              <th scope="col">
                <span className="visually-hidden">Figure</span>
              </th>
              <th scope="col" className="numeric">
                {before?.label ?? "before"}
              </th>
              <th scope="col" className="numeric">
                {after?.label ?? "after"}
              </th>
            </tr>
          </thead>
          <tbody>
            {row("time", (side) => side.time_s, timeText)}
            {row("most loaded link", (side) => side.max_load_bytes, bytes)}
            {row("congested links", (side) => side.congested_links, count)}
            {one.alternatives.map((other) => (
              <tr key={other.label}>
                <th scope="row">time, {other.label}</th>
                <td />
                <td className="numeric">{timeText(other.time_s)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <dl className="facts">
        {routes && (routes.true_gap !== null || routes.ftree_gap !== null) && (
          <>
            <dt>gap to the bound</dt>
            <dd>
              {percent(routes.true_gap, 2)}, loaded routes {percent(routes.ftree_gap, 1)}
            </dd>
          </>
        )}
        {routes && routes.entries_changed !== null && (
          <>
            <dt>table entries changed</dt>
            <dd>
              {count(routes.entries_changed)} of {count(routes.entries)}
            </dd>
          </>
        )}
        {reconstruction && (
          <>
            <dt>traffic reconstructed with</dt>
            <dd>
              basis {reconstruction.basis}
              {reconstruction.relative_error !== null && `, true error ${errorText(reconstruction.relative_error)}`}
              {reconstruction.converged === false && <span className="alarm">, not converged</span>}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

const Parameter = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{fieldLabel(name)}</dt>
    <dd title={value}>{value}</dd>
  </div>
);
