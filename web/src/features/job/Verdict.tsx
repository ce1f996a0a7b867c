/** What a job's page says first: what it cost others, whether it was slow and since when, and its figures. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Explanation, Outlook } from "../../api/estimateShapes";
import type { Congestion, Fabric, JobDetail } from "../../api/shapes";
import { isSilent, paceOf, type RunVerdict, type StepClock, type StepSeries } from "../../charts/steps";
import { Figure } from "../../components/Figure";
import { refused, Unanswered } from "../../components/Notice";
import { change, inWords, lostTime, plural, ratio } from "../../lib/format";
import { parseTime } from "../../lib/time";
import { wordsOf } from "../../machine/words";
import { slowedText } from "../incidents/words";
import { aheadOf, endsSentence, type Life, outsideText, type usualTime, wholeText } from "./life";

interface Props {
  job: JobDetail;
  fabric: Fabric | null;
  life: Life;
  /** The moment that the address names. */
  asked: number | null;
  now: number;
  running: boolean;
  elapsed: number | null;
  usual: ReturnType<typeof usualTime>;
  steps: StepSeries | null;
  time: StepClock | undefined;
  figures: RunVerdict | null;
  explained: UseQueryResult<Explanation>;
  outlook: Outlook | undefined;
  congestion: UseQueryResult<Congestion>;
}

export function Verdict({
  job,
  fabric,
  life,
  asked,
  now,
  running,
  elapsed,
  usual,
  steps,
  time,
  figures,
  explained,
  outlook,
  congestion,
}: Props) {
  const routers = useMemo(() => job.routers ?? [], [job.routers]);
  const stalls = useMemo(() => {
    const columns = congestion.data?.routers;
    if (!columns) return { own: null, machine: null };
    const members = new Set(routers);
    const sums = { own: [0, 0], machine: [0, 0] };
    columns.router.forEach((router, i) => {
      const [flits, stall] = [columns.flits[i] ?? null, columns.stall_cycles[i] ?? 0];
      if (flits === null) return;
      for (const key of members.has(router) ? (["own", "machine"] as const) : (["machine"] as const)) {
        sums[key][0] = (sums[key][0] ?? 0) + flits;
        sums[key][1] = (sums[key][1] ?? 0) + stall;
      }
    });
    const of = ([flits = 0, stall = 0]: number[]) => (flits > 0 ? stall / flits : null);
    return { own: of(sums.own), machine: of(sums.machine) };
  }, [congestion.data, routers]);
  const pace = useMemo(() => (steps && running ? paceOf(steps) : null), [steps, running]);
  const ends = outlook?.run_time?.expected_s ?? null;
  const late = ends !== null && usual.median !== null ? ends - usual.median : null;
  const ahead = pace && aheadOf(explained.data, late, usual.median);
  // One step above its range is no slow job: no figure raises an alarm that the verdict does not.
  const calm = explained.data?.verdict === "not slow";
  const slow = explained.data?.slowdown;
  const whole = slow && wholeText(slow.factor, usual);
  const outside = outsideText(life, parseTime(job.end), asked, now);
  return (
    <section className="card job-verdict" aria-label="Verdict">
      <div>
        {outside && <p className="job-outside">{outside}</p>}
        {explained.data?.slowed && <Slowed slowed={explained.data.slowed} job={job.job_id} />}
        {refused([explained]) ? (
          <Unanswered line what="what changed" asked={[explained]} />
        ) : (
          <>
            <h2>{explained.data?.title ?? "Looking for changes"}</h2>
            <p className="muted">
              {explained.data?.detail ?? explained.failureReason?.message ?? " "} {whole}{" "}
              {running && outlook?.run_time && endsSentence(outlook.run_time, now)}
              {explained.data?.incident_id != null && (
                <>
                  {" "}
                  <IncidentLink incident={explained.data.incident_id} />
                </>
              )}
            </p>
          </>
        )}
        {refused([congestion]) && routers.length > 0 && <Unanswered line what="the counters" asked={[congestion]} />}
      </div>
      <div className="figures">
        {pace ? (
          <>
            <Figure
              value={`${ratio(pace.now)} s`}
              label={steps && isSilent(steps, time) ? "last step" : "step time now"}
              bad={pace.slow && !calm}
            />
            <Figure value={`${ratio(pace.usual)} s`} label="mean of other runs" />
          </>
        ) : (
          <>
            <Figure
              value={lostTime(elapsed)}
              label={running ? "elapsed so far" : "elapsed"}
              bad={usual.factor !== null && usual.factor >= 1.1 && !calm}
            />
            <Figure
              value={usual.median === null ? "unknown" : lostTime(usual.median)}
              label={
                usual.median === null
                  ? "usual: too few jobs"
                  : `usual, ${plural(usual.runs, "job")} of the same ${inWords(usual.basis)}`
              }
            />
          </>
        )}
        {ahead && <Figure {...ahead} />}
        {stalls.own !== null && (
          <Figure
            value={ratio(stalls.own)}
            label={
              stalls.machine === null
                ? wordsOf(fabric).ratio
                : `${wordsOf(fabric).ratio}, machine ${ratio(stalls.machine)}`
            }
            bad={stalls.machine !== null && stalls.own > 1.5 * stalls.machine}
          />
        )}
        {stalls.own === null && congestion.isLoading && (
          <Figure value="0.0" label={`${wordsOf(fabric).ratio}, machine 0.0`} pending />
        )}
        {figures && figures.steps > 0 && !pace && (
          <Figure
            value={figures.factor === null ? `${ratio(figures.mean)} s` : change(figures.factor)}
            label={figures.factor === null ? "mean step" : "mean step, compared with other runs"}
            bad={(figures.factor ?? 1) >= 1.1}
          />
        )}
      </div>
    </section>
  );
}

const IncidentLink = ({ incident }: { incident: number }) => (
  <Link to="/incidents/$incident" params={{ incident: String(incident) }}>
    Incident {incident}
  </Link>
);

/** Incidents that a verdict names before it counts the rest. */
const NAMED = 3;

/** What a job cost others: the first that its page says of it. */
function Slowed({ slowed, job }: { slowed: NonNullable<Explanation["slowed"]>; job: string }) {
  const more = slowed.incidents.length - NAMED;
  return (
    <div className="job-slowed">
      <h2>{slowedText(slowed)}</h2>
      <p className="job-incidents">
        {slowed.incidents.slice(0, NAMED).map((incident) => (
          <IncidentLink key={incident} incident={incident} />
        ))}
        {more > 0 && (
          <Link to="/incidents" search={{ job }}>
            {plural(more, "more", "more")}
          </Link>
        )}
        <span className="muted">Based on traffic and timing; not proof of cause</span>
      </p>
    </div>
  );
}
