/** One stored incident: what it cost, who caused it, where and when, what would help, and what was done. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { storedIncidentQuery, type IncidentDetail } from "../../api/incident";
import { fabricsQuery } from "../../api/queries";
import { type Column, DataTable } from "../../components/DataTable";
import { Figure } from "../../components/Figure";
import { SeverityMark } from "../../components/Icon";
import { Failure, Unanswered } from "../../components/Notice";
import { rememberMachine } from "../../lib/machine";
import { change, count, lostTime, percent, plural, ratio } from "../../lib/format";
import { useOrigin } from "../../lib/origin";
import { moment, parseTime, ZONE } from "../../lib/time";
import { slowWindow } from "../lab/replays";
import { wordsOf } from "../../machine/words";
import { aroundOnset, CarryingLinks } from "../home/CarryingLinks";
import { savedText } from "../home/texts";
import "../job/job.css";
import { IncidentChart } from "./IncidentChart";
import "./incidents.css";
import { Notes } from "./Notes";
import { hoursInterval, lastedSeconds, untilText, whenText } from "./words";

type Slowed = IncidentDetail["victims"][number];
type Alert = IncidentDetail["alerts"][number];

const MOST_LINKS = 8;

export function IncidentPage() {
  const { incident } = useParams({ from: "/incidents/$incident" });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const answer = useQuery(storedIncidentQuery(incident));
  const fabrics = useQuery(fabricsQuery());
  const told = answer.data;
  // The API answers with the incident that this one became part of: the address follows.
  const number = told && String(told.incident_id);
  useEffect(() => {
    if (number === undefined || number === incident) return;
    queries.setQueryData(storedIncidentQuery(number).queryKey, told);
    void navigate({ to: "/incidents/$incident", params: { incident: number }, replace: true });
  }, [number, incident, told, queries, navigate]);
  if (answer.error && !told) return <Failure page error={answer.error} retry={() => void answer.refetch()} />;
  if (!told || !fabrics.data) return <Unanswered what="the incident" asked={[answer, fabrics]} />;
  const ratioWord = wordsOf(fabrics.data.items.find((one) => one.name === told.fabric) ?? null).ratio;
  return <Body key={told.incident_id} told={told} ratioWord={ratioWord} now={answer.dataUpdatedAt} />;
}

/** `now`: when the answer came, for what goes on. */
function Body({ told, ratioWord, now }: { told: IncidentDetail; ratioWord: string; now: number }) {
  const since = parseTime(told.began);
  const withdrawn = told.state === "withdrawn";
  useEffect(() => rememberMachine(told.fabric), [told.fabric]);
  useOrigin({
    machine: told.fabric,
    simulated: told.simulated,
    window: since === null ? null : { from: since, to: parseTime(told.ended) ?? now },
  });
  const [first] = told.victims;
  const jobs = [told.causes[0], first].flatMap((one) => (one ? [one.job_id] : []));
  const replay = first && {
    fabric: told.fabric,
    job: first.job_id,
    ...slowWindow(first.since, first.until ?? told.ended, now),
  };
  return (
    <div className="job-page incident-page">
      <div className="context">
        <h1>Incident {told.incident_id}</h1>
        {told.simulated && <span className="tag">simulated</span>}
        <span className="subtitle">
          {told.fabric} · {whenText(told, now)}
        </span>
        <span className="spacer" />
        <Link
          className="button"
          to="/fabric/$fabric"
          params={{ fabric: told.fabric }}
          search={{ ...aroundOnset(since), job: jobs.join(",") || undefined }}
        >
          On the fabric
        </Link>
        {replay && (
          <Link className="button" to="/lab" search={{ replay: "on", ...replay }}>
            Replay with another placement
          </Link>
        )}
        <Link className="button" to="/incidents" search={{ fabric: told.fabric }}>
          All incidents
        </Link>
      </div>
      <section className="card job-verdict" aria-label="Verdict" data-state={told.state}>
        <div className="incident-verdict">
          <SeverityMark level={told.state === "open" ? "high" : "info"} />
          <div>
            <h2>{told.title}</h2>
            {withdrawn ? (
              <p>
                The job looked slow while it ran, but its complete run does not confirm this. No job is named, and no
                loss is counted. Do not use this incident as evidence.
              </p>
            ) : (
              <p className="muted">{told.detail}</p>
            )}
          </div>
        </div>
        {!withdrawn && (
          <div className="figures">
            <Figure
              value={count(told.slowed)}
              label={`${told.slowed === 1 ? "job" : "jobs"} slowed${told.state === "open" ? `, ${count(told.slow_now)} now` : ""}`}
              bad={told.slow_now > 0}
            />
            <Figure
              value={ratio(told.node_hours)}
              label={
                told.node_hours === null
                  ? "node-hours lost: the nodes of a job are unknown"
                  : `node-hours lost, 95 %: ${hoursInterval(told)}`
              }
            />
            <Figure value={lostTime(told.lost_s)} label="lost, all jobs together" />
            <Figure
              value={lostTime(lastedSeconds(told, now))}
              label={told.state === "open" ? "open so far" : "lasted"}
            />
          </div>
        )}
      </section>
      <div className="job-main">
        <div className="job-left">
          <IncidentChart told={told} ratioWord={ratioWord} now={now} />
          {!withdrawn && <SlowedJobs told={told} now={now} />}
          <AlertsSent alerts={told.alerts} now={now} />
        </div>
        <div className="job-right">
          {!withdrawn && <Causes told={told} now={now} />}
          {!withdrawn && (
            <Part title={`Links, ${ratioWord}`} note="before and during · opens the fabric at that time">
              {told.links.length ? (
                <div className="incident-links">
                  <CarryingLinks fabric={told.fabric} links={told.links} since={since} jobs={jobs} most={MOST_LINKS} />
                </div>
              ) : (
                <p className="muted card-note">
                  The links are unknown, because their ports had no counters, or the counters were already deleted.
                </p>
              )}
            </Part>
          )}
          {!withdrawn && (
            <Part title={told.state === "open" ? "What to do" : "What would have helped"}>
              {told.remedies.length ? (
                <ul className="incident-list">
                  {told.remedies.map((one) => (
                    <li key={one.kind + one.job_id}>
                      {one.text}
                      {savedText(one) && <b> {savedText(one)}</b>}
                    </li>
                  ))}
                </ul>
              ) : (
                <p className="muted card-note">No remedy is known for this incident.</p>
              )}
            </Part>
          )}
          <Notes incident={told.incident_id} notes={told.notes} now={now} />
        </div>
      </div>
    </div>
  );
}

function Part({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <section className="card incident-part" aria-label={title}>
      <div className="card-head">
        <div className="card-title">
          <h2>{title}</h2>
          {note && <span className="subtitle">{note}</span>}
        </div>
      </div>
      {children}
    </section>
  );
}

function Causes({ told, now }: { told: IncidentDetail; now: number }) {
  const ran = (text: string | null, none: string) => {
    const at = parseTime(text);
    return at === null ? none : moment(at, now, true);
  };
  return (
    <Part title="Causes" note="share of the added waiting, from traffic and time · not proof of cause">
      {told.causes.length ? (
        // A box that scrolls must be reachable by keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div className="neighbour-box" tabIndex={0}>
          <table className="tight">
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">User</th>
                <th scope="col" className="numeric">
                  Nodes
                </th>
                <th scope="col">Ran, {ZONE}</th>
                <th scope="col">Share</th>
              </tr>
            </thead>
            <tbody>
              {told.causes.map((one) => (
                <tr key={one.job_pk}>
                  <td className="neighbour-job">
                    <span className="neighbour-name">
                      <Link to="/jobs/$job" params={{ job: one.job_id }}>
                        {one.job_id}
                      </Link>
                    </span>
                    {one.name && <span className="neighbour-application">{one.name}</span>}
                  </td>
                  <td className="neighbour-user">
                    {one.user === null ? (
                      "–"
                    ) : (
                      <Link to="/incidents" search={{ user: one.user }} title="Incidents of this user's jobs">
                        {one.user}
                      </Link>
                    )}
                  </td>
                  <td className="numeric">{count(one.nodes)}</td>
                  <td className="incident-ran">
                    {ran(one.start, "unknown")}–{ran(one.end, "now")}
                  </td>
                  <td>
                    {one.part === null ? (
                      <span
                        className="muted"
                        title="Its traffic was not counted. It is named based on timing and placement"
                      >
                        unknown
                      </span>
                    ) : (
                      <span className="share" data-named="">
                        <span className="share-bar">
                          <i style={{ width: `${100 * one.part}%` }} />
                        </span>
                        {percent(one.part)}
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p className="muted card-note">No job is named for this incident.</p>
      )}
    </Part>
  );
}

function slowedColumns(now: number): Column<Slowed>[] {
  return [
    {
      key: "job",
      header: "Job",
      value: (j) => `${j.job_id} ${j.name ?? ""}`,
      render: (j) => (
        <span title={`${j.job_id} ${j.name ?? ""}`}>
          <Link to="/jobs/$job" params={{ job: j.job_id }} search={{ at: j.until ?? undefined }}>
            {j.job_id}
          </Link>{" "}
          {j.name}
        </span>
      ),
    },
    {
      key: "user",
      header: "User",
      value: (j) => j.user,
      render: (j) => <span title={j.user ?? undefined}>{j.user ?? "–"}</span>,
    },
    { key: "nodes", header: "Nodes", numeric: true, value: (j) => j.nodes, render: (j) => count(j.nodes) },
    {
      key: "factor",
      header: "Step time",
      numeric: true,
      value: (j) => j.factor,
      render: (j) => <span className="alarm">{change(j.factor)}</span>,
    },
    {
      key: "lost",
      header: "Lost (95 %)",
      numeric: true,
      value: (j) => j.lost_s,
      render: (j) => `${lostTime(j.lost_s)} (${lostTime(j.lost_low_s)} to ${lostTime(j.lost_high_s)})`,
    },
    {
      key: "since",
      header: `Since, ${ZONE}`,
      numeric: true,
      value: (j) => j.since,
      render: (j) => moment(parseTime(j.since) ?? NaN, now, true),
    },
    { key: "until", header: `Until, ${ZONE}`, numeric: true, value: (j) => j.until, render: (j) => untilText(j, now) },
    {
      key: "named",
      header: "Named cause",
      value: (j) => j.named.join(", ") || null,
      render: (j) => j.named.join(", ") || "none",
    },
  ];
}

function SlowedJobs({ told, now }: { told: IncidentDetail; now: number }) {
  return (
    <section
      className="card incident-table"
      aria-label="Slowed jobs"
      style={{ "--rows": Math.max(1, told.victims.length) } as React.CSSProperties}
    >
      <div className="card-head">
        <div className="card-title">
          <h2>{told.state === "open" ? "Slowed jobs" : "Jobs it slowed"}</h2>
          <span className="subtitle">most wasted nodes first</span>
        </div>
      </div>
      <DataTable label="Slowed jobs" rows={told.victims} columns={slowedColumns(now)} id={(j) => String(j.job_pk)} />
    </section>
  );
}

function alertText({ phase, fired_at, resolved_at, delivered }: Alert, now: number): string {
  const at = (text: string | null) => moment(parseTime(text) ?? NaN, now, true);
  const sent = delivered ? plural(delivered, "message") + " delivered" : "no message delivered";
  if (fired_at === null) return `${phase}, has not fired · ${sent}`;
  return `fired ${at(fired_at)}${resolved_at === null ? ", still firing" : `, resolved ${at(resolved_at)}`} · ${sent}`;
}

function AlertsSent({ alerts, now }: { alerts: Alert[]; now: number }) {
  return (
    <Part title="Alerts" note={alerts.length ? `times are ${ZONE}` : undefined}>
      {alerts.length ? (
        <ul className="incident-list">
          {alerts.map((one) => (
            <li key={one.alert_id} className="incident-alert">
              <Link to="/alerts" search={{ alert: one.alert_id }}>
                {one.rule}
              </Link>{" "}
              <span className="muted">{alertText(one, now)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p className="muted card-note">No alert fired for this incident.</p>
      )}
    </Part>
  );
}
