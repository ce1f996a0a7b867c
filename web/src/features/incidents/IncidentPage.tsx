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
  const stored = answer.data;
  // The API answers with the incident that this one became part of: the address follows.
  const number = stored && String(stored.incident_id);
  useEffect(() => {
    if (number === undefined || number === incident) return;
    queries.setQueryData(storedIncidentQuery(number).queryKey, stored);
    void navigate({ to: "/incidents/$incident", params: { incident: number }, replace: true });
  }, [number, incident, stored, queries, navigate]);
  if (answer.error && !stored) return <Failure page error={answer.error} retry={() => void answer.refetch()} />;
  if (!stored || !fabrics.data) return <Unanswered what="the incident" asked={[answer, fabrics]} />;
  const ratioWord = wordsOf(fabrics.data.items.find((one) => one.name === stored.fabric) ?? null).ratio;
  return <Body key={stored.incident_id} stored={stored} ratioWord={ratioWord} now={answer.dataUpdatedAt} />;
}

/** `now`: when the answer came, for what goes on. */
function Body({ stored, ratioWord, now }: { stored: IncidentDetail; ratioWord: string; now: number }) {
  const since = parseTime(stored.began);
  const withdrawn = stored.state === "withdrawn";
  useEffect(() => rememberMachine(stored.fabric), [stored.fabric]);
  useOrigin({
    machine: stored.fabric,
    simulated: stored.simulated,
    window: since === null ? null : { from: since, to: parseTime(stored.ended) ?? now },
  });
  const [first] = stored.victims;
  const jobs = [stored.causes[0], first].flatMap((one) => (one ? [one.job_id] : []));
  const replay = first && {
    fabric: stored.fabric,
    job: first.job_id,
    ...slowWindow(first.since, first.until ?? stored.ended, now),
  };
  return (
    <div className="job-page incident-page">
      <div className="context">
        <h1>Incident {stored.incident_id}</h1>
        {stored.simulated && <span className="tag">simulated</span>}
        <span className="subtitle">
          {stored.fabric} · {whenText(stored, now)}
        </span>
        <span className="spacer" />
        <Link
          className="button"
          to="/fabric/$fabric"
          params={{ fabric: stored.fabric }}
          search={{ ...aroundOnset(since), job: jobs.join(",") || undefined }}
        >
          On the fabric
        </Link>
        {replay && (
          <Link className="button" to="/lab" search={{ replay: "on", ...replay }}>
            Replay with another placement
          </Link>
        )}
        <Link className="button" to="/incidents" search={{ fabric: stored.fabric }}>
          All incidents
        </Link>
      </div>
      <section className="card job-verdict" aria-label="Verdict" data-state={stored.state}>
        <div className="incident-verdict">
          <SeverityMark level={stored.state === "open" ? "high" : "info"} />
          <div>
            <h2>{stored.title}</h2>
            {withdrawn ? (
              <p>
                The job looked slow while it ran, but its complete run does not confirm this. No job is named, and no
                loss is counted. Do not use this incident as evidence.
              </p>
            ) : (
              <p className="muted">{stored.detail}</p>
            )}
          </div>
        </div>
        {!withdrawn && (
          <div className="figures">
            <Figure
              value={count(stored.slowed)}
              label={`${stored.slowed === 1 ? "job" : "jobs"} slowed${stored.state === "open" ? `, ${count(stored.slow_now)} now` : ""}`}
              bad={stored.slow_now > 0}
            />
            <Figure
              value={ratio(stored.node_hours)}
              label={
                stored.node_hours === null
                  ? "node-hours lost: the nodes of a job are unknown"
                  : `node-hours lost, 95 %: ${hoursInterval(stored)}`
              }
            />
            <Figure value={lostTime(stored.lost_s)} label="lost, all jobs together" />
            <Figure
              value={lostTime(lastedSeconds(stored, now))}
              label={stored.state === "open" ? "open so far" : "lasted"}
            />
          </div>
        )}
      </section>
      <div className="job-main">
        <div className="job-left">
          <IncidentChart stored={stored} ratioWord={ratioWord} now={now} />
          {!withdrawn && <SlowedJobs stored={stored} now={now} />}
          <AlertsSent alerts={stored.alerts} now={now} />
        </div>
        <div className="job-right">
          {!withdrawn && <Causes stored={stored} now={now} />}
          {!withdrawn && (
            <Part title={`Links, ${ratioWord}`} note="before and during · opens the fabric at that time">
              {stored.links.length ? (
                <div className="incident-links">
                  <CarryingLinks
                    fabric={stored.fabric}
                    links={stored.links}
                    since={since}
                    jobs={jobs}
                    most={MOST_LINKS}
                  />
                </div>
              ) : (
                <p className="muted card-note">
                  The links are unknown, because their ports had no counters, or the counters were already deleted.
                </p>
              )}
            </Part>
          )}
          {!withdrawn && (
            <Part title={stored.state === "open" ? "What to do" : "What would have helped"}>
              {stored.remedies.length ? (
                <ul className="incident-list">
                  {stored.remedies.map((one) => (
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
          <Notes incident={stored.incident_id} notes={stored.notes} now={now} />
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

function Causes({ stored, now }: { stored: IncidentDetail; now: number }) {
  const ran = (text: string | null, none: string) => {
    const at = parseTime(text);
    return at === null ? none : moment(at, now, true);
  };
  return (
    <Part title="Causes" note="share of the added waiting, from traffic and time · not proof of cause">
      {stored.causes.length ? (
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
              {stored.causes.map((one) => (
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
                      <Link
                        className="neighbour-who"
                        to="/incidents"
                        search={{ user: one.user }}
                        title={`${one.user}: incidents of this user's jobs`}
                      >
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

function SlowedJobs({ stored, now }: { stored: IncidentDetail; now: number }) {
  return (
    <section
      className="card incident-table"
      aria-label="Slowed jobs"
      style={{ "--rows": Math.max(1, stored.victims.length) } as React.CSSProperties}
    >
      <div className="card-head">
        <div className="card-title">
          <h2>{stored.state === "open" ? "Slowed jobs" : "Jobs it slowed"}</h2>
          <span className="subtitle">most wasted nodes first</span>
        </div>
      </div>
      <DataTable label="Slowed jobs" rows={stored.victims} columns={slowedColumns(now)} id={(j) => String(j.job_pk)} />
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
