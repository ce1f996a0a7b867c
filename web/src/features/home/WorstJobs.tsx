/** Running jobs by how slow their newest steps are against earlier runs, and when each ends. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { address } from "../../api/client";
import type { SlowRun } from "../../api/estimateShapes";
import { slowestQuery } from "../../api/estimates";
import { stepLine } from "../../charts/steps";
import { Unanswered } from "../../components/Notice";
import { TableExport } from "../../components/TableExport";
import { change, count, duration, plural } from "../../lib/format";
import { endsText } from "../job/life";
import { slowColumns, UNCOMPARED } from "./texts";

// Step times as a small line over those that are usual: shape only, figures are next to it.

const [WIDTH, HEIGHT] = [200, 22];

function StepLine({ time, usual, label }: { time: number[]; usual: (number | null)[]; label: string }) {
  const drawn = stepLine(time, usual, WIDTH, HEIGHT);
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
      className="step-line"
    >
      <path d={drawn.usual} className="usual" />
      <path d={drawn.time} className="own" />
      {drawn.last && <circle cx={drawn.last[0]} cy={drawn.last[1]} r={2} />}
    </svg>
  );
}

/** From here a job is slow enough to stand out. */
const SLOW = 1.1;

export function WorstJobs({ fabric, shown, now }: { fabric: string; shown: number; now: number }) {
  const answer = useQuery(slowestQuery(fabric, shown));
  const data = answer.data;
  return (
    <section
      className="card home-worst"
      aria-label="Worst jobs"
      data-answered={data !== undefined || answer.error !== null || undefined}
    >
      <div className="card-head">
        <div className="card-title">
          <h2>Worst jobs</h2>
          <span className="subtitle">
            compared with the mean of their earlier runs
            {data && data.running > data.items.length ? ` · ${plural(data.running, "job")} with steps run` : ""}
          </span>
        </div>
        {data && data.items.length > 0 && (
          <TableExport
            name={`${fabric}-worst-jobs`}
            rows={data.items}
            columns={slowColumns}
            source={address("/runs/slowest", { fabric, limit: shown })}
          />
        )}
        <Link to="/forecast">Forecasts</Link>
      </div>
      {!data ? (
        <Unanswered line what="the running jobs' steps" asked={[answer]} />
      ) : data.items.length ? (
        <Rows items={data.items} recent={data.recent_s} now={now} />
      ) : (
        <p className="muted home-note">
          No running job records its steps, so their slowdowns are unknown.{" "}
          <Link to="/connect">Connect your own data</Link> shows how.
        </p>
      )}
    </section>
  );
}

function Rows({ items, recent, now }: { items: SlowRun[]; recent: number; now: number }) {
  return (
    <table className="tight">
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">User</th>
          <th scope="col" className="numeric">
            Nodes
          </th>
          <th scope="col">Step time, last {duration(recent)}</th>
          <th
            scope="col"
            className="numeric"
            title="These steps compared with earlier runs. An incident counts from its start"
          >
            vs usual, {duration(recent)}
          </th>
          <th scope="col" className="numeric">
            Ends, 90 %
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((one) => (
          <tr key={one.run_id}>
            <td className="ellipsis">
              {one.job_id === null ? (
                one.exe
              ) : (
                <Link to="/jobs/$job" params={{ job: one.job_id }}>
                  {one.job_id} {one.name ?? one.exe}
                </Link>
              )}
            </td>
            <td className="ellipsis">{one.user ?? "–"}</td>
            <td className="numeric">{count(one.nodes)}</td>
            <td className="steps">
              <StepLine
                time={one.recent.time_s}
                usual={one.recent.usual_s}
                label={`${plural(one.recent.step.length, "step")}, ${one.slowdown === null ? UNCOMPARED : `${change(one.slowdown)} against ${plural(one.earlier_runs, "earlier run")}`}`}
              />
            </td>
            <td
              className={`numeric${(one.slowdown ?? 1) >= SLOW ? " alarm" : ""}`}
              title={one.slowdown === null ? UNCOMPARED : `against ${plural(one.earlier_runs, "earlier run")}`}
            >
              {change(one.slowdown)}
            </td>
            <td className="numeric" title={one.run_time?.rests_on ?? one.run_time?.lacks ?? undefined}>
              {endsText(one.run_time, now)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
