/** Who slows whom, over which links, since when, and what would help: the API's one answer, as a chain from cause to remedy. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Incident, SlowJob, Story } from "../../api/incident";
import type { Overview } from "../../api/shapes";
import { Sparkline } from "../../charts/Sparkline";
import { AlertMe } from "../alerts/AlertMe";
import { CarryingLinks } from "./CarryingLinks";
import { SeverityMark } from "../../components/Icon";
import { refused, Unanswered } from "../../components/Notice";
import { change, count, lostTime, plural, ratio } from "../../lib/format";
import { day, moment as momentText, parseTime, ZONE } from "../../lib/time";
import { slowWindow } from "../lab/replays";
import { savedText } from "./texts";

interface Props {
  fabric: string;
  /** What a ratio of stalls is called: stalls per flit. */
  ratioWord: string;
  answer: UseQueryResult<Incident>;
  /** Mean stalls per flit by minute of the last hour. */
  trend: Trend | null;
  /** The end of what the page shows, while that is of the past. */
  at: string | undefined;
  now: number;
}

type Trend = Pick<Overview, "ts" | "ratio">;

const SHOWN = 3;

export function IncidentCard({ fabric, ratioWord, answer, trend, at, now }: Props) {
  const newest = answer.data;
  const shown: Story | undefined = newest && (newest.verdict === "none" && newest.last ? newest.last : newest);
  const over = shown !== undefined && shown === newest?.last;
  const level = newest?.verdict === "incident" ? "high" : newest?.verdict === "cannot tell" ? "medium" : "info";
  return (
    <section
      className="card home-incident"
      aria-label="Incident"
      data-verdict={refused([answer]) ? "unknown" : newest?.verdict}
    >
      {refused([answer]) ? (
        <Unanswered line what="the incident" asked={[answer]} />
      ) : !newest || !shown ? (
        <Placeholder fabric={fabric} />
      ) : (
        <>
          <div className="incident-head">
            <SeverityMark level={level} />
            <div>
              <h2>
                <Stored story={newest} />
              </h2>
              <p className="muted">{newest.detail}</p>
            </div>
            <AllIncidents fabric={fabric} />
          </div>
          {over && (
            <p className="incident-last">
              <b>Last incident{dayText(shown, now)}</b> <Stored story={shown} />
            </p>
          )}
          {newest.verdict === "cannot tell" && newest.last && (
            <p className="incident-last">
              <b>Last incident{dayText(newest.last, now)}</b> <Stored story={newest.last} />{" "}
              {newest.last.victims[0] && <JobLink job={newest.last.victims[0]} at={newest.last.until ?? at} />}
            </p>
          )}
          {trend && !shown.victims.length && !shown.others.length && (
            <LastHour fabric={fabric} ratioWord={ratioWord} trend={trend} past={at !== undefined} />
          )}
          <Chain
            fabric={fabric}
            ratioWord={ratioWord}
            story={shown}
            asOf={newest.as_of}
            over={over}
            at={over ? (shown.until ?? at) : at}
            now={now}
          />
        </>
      )}
    </section>
  );
}

/** The day of an incident that was not today: its title has times alone. */
function dayText(story: Story, now: number): string {
  const since = parseTime(story.since);
  return since === null || day(since, true) === day(now, true) ? "" : ` (${day(since, true)})`;
}

/** An incident's title, which leads to its page once it is stored. */
const Stored = ({ story }: { story: Story }) =>
  story.incident_id === null ? (
    story.title
  ) : (
    <Link to="/incidents/$incident" params={{ incident: String(story.incident_id) }}>
      {story.title}
    </Link>
  );

const AllIncidents = ({ fabric }: { fabric: string }) => (
  <Link className="incident-all" to="/incidents" search={{ fabric }}>
    All incidents
  </Link>
);

/** As high as an answer, so that nothing moves when it comes. */
function Placeholder({ fabric }: { fabric: string }) {
  return (
    <div className="incident-head" role="status">
      <SeverityMark level="info" />
      <div>
        <h2 className="muted">Loading the incident…</h2>
        <p className="muted">Comparing running jobs with their earlier runs.</p>
      </div>
      <AllIncidents fabric={fabric} />
    </div>
  );
}

interface LastHourProps {
  fabric: string;
  ratioWord: string;
  trend: Trend;
  past: boolean;
}

/** What a quiet machine shows where an incident's chain would stand. */
function LastHour({ fabric, ratioWord, trend, past }: LastHourProps) {
  const known = trend.ratio.filter((value): value is number => value !== null);
  if (known.length < 2) return null;
  return (
    <div className="incident-trend">
      <div className="trend-head">
        <p className="muted">
          Mean {ratioWord}, {past ? "hour before: then" : "last hour: now"} {ratio(known.at(-1))}, highest{" "}
          {ratio(Math.max(...known))}
        </p>
        <AlertMe
          watched={() => {
            const samples = trend.ts.map((at, i) => ({ at: parseTime(at) ?? NaN, value: trend.ratio[i] ?? NaN }));
            const [from, to] = [samples[0]?.at ?? 0, samples.at(-1)?.at ?? 0];
            return { signal: "stall_ratio", where: { fabric }, samples, span: { from, to } };
          }}
        />
      </div>
      <Sparkline
        ts={trend.ts.map((text) => parseTime(text) ?? 0)}
        values={trend.ratio}
        width={320}
        height={56}
        label={`Mean ${ratioWord}, last hour`}
      />
    </div>
  );
}

interface ChainProps {
  fabric: string;
  ratioWord: string;
  story: Story;
  asOf: string;
  over: boolean;
  at: string | undefined;
  now: number;
}

function Chain({ fabric, ratioWord, story, asOf, over, at, now }: ChainProps) {
  const slow = story.victims.length ? story.victims : story.others;
  if (!slow.length && !story.aggressor) return null;
  const since = parseTime(story.since);
  const jobs = [story.aggressor, slow[0]].flatMap((one) => (one ? [one.job_id] : []));
  return (
    <ol className="incident-chain">
      <Step title="Cause">
        {story.aggressor ? (
          <>
            <JobLink job={story.aggressor} at={at} />
            <span className="muted">
              {[story.aggressor.user, story.aggressor.nodes === null ? null : plural(story.aggressor.nodes, "node")]
                .filter(Boolean)
                .join(" · ")}
            </span>
            <span className="muted">
              {since !== null && `${over ? "from" : "since"} ${momentText(since, now, true)} ${ZONE}`}
            </span>
          </>
        ) : (
          <span className="muted">
            Not known. {since !== null && `Slow since ${momentText(since, now, true)} ${ZONE}.`}
          </span>
        )}
      </Step>
      <Step title={`Links, ${ratioWord}`}>
        <CarryingLinks fabric={fabric} links={story.links} since={since} jobs={jobs} most={SHOWN} />
        {!story.links.length && <span className="muted">No link with counters has more stalls than before.</span>}
      </Step>
      <Step title={over ? "Jobs it slowed" : "Slower jobs"}>
        {slow.slice(0, SHOWN).map((one) => (
          <span key={one.job_pk} className="incident-link">
            <JobLink job={one} at={at} />
            <span className="numeric alarm" title={`${lostTime(one.lost_s)} lost`}>
              {change(one.factor)}
            </span>
          </span>
        ))}
        {slow.length > SHOWN && <span className="muted">and {count(slow.length - SHOWN)} more</span>}
      </Step>
      <Step title={over ? "What would have helped" : "What to do"}>
        {/* A past one has a line more above. */}
        {story.remedies.slice(0, over ? 1 : 2).map((one) => (
          <span key={one.kind} className="incident-remedy" title={one.text}>
            {one.text}
            {savedText(one, asOf) && <b> {savedText(one, asOf)}</b>}
          </span>
        ))}
        {slow[0] && (
          <Link
            to="/lab"
            search={{
              replay: "on",
              fabric,
              job: slow[0].job_id,
              ...slowWindow(slow[0].since, slow[0].until ?? at ?? null, now),
            }}
          >
            Replay with another placement
          </Link>
        )}
      </Step>
    </ol>
  );
}

const Step = ({ title, children }: { title: string; children: ReactNode }) => (
  <li>
    <h3>{title}</h3>
    {children}
  </li>
);

const JobLink = ({ job, at }: { job: Pick<SlowJob, "job_id" | "name">; at: string | undefined }) => (
  <Link className="ellipsis" to="/jobs/$job" params={{ job: job.job_id }} search={{ at }}>
    {job.job_id} {job.name ?? ""}
  </Link>
);
