/** Why was this job slow: the verdict, its evidence over time, its neighbours and its place. */
import { wordsOf } from "../../machine/words";
import { slowWindow } from "../lab/replays";
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { explanationQuery, outlookQuery, runForecastQuery } from "../../api/estimates";
import { congestionQuery, fabricsQuery, jobQuery, runStepsQuery } from "../../api/queries";
import type { Fabric, JobDetail, Run } from "../../api/shapes";
import { NARROW, WIDE } from "../../charts/timeRows";
import { refuseUnless } from "../../lib/address";
import { useMedia } from "../../lib/screen";
import { runVerdict, type StepClock, stepEnds, type StepSeries, stepsUntil } from "../../charts/steps";
import { CopyMoment } from "../../components/buttons";
import { Failure, Unanswered, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { rememberMachine } from "../../lib/machine";
import { plural } from "../../lib/format";
import { isoTime, moment as momentText, parseTime, ZONE } from "../../lib/time";
import "./job.css";
import { fabricTime, lastMinutes, lifeOf, usualTime } from "./life";
import { Chain, Help } from "./Chain";
import { Neighbours } from "./Neighbours";
import { NetworkNoiseCard, NoiseSets } from "./NetworkNoise";
import { onsetOf } from "./StepChart";
import { PartsCard } from "./PartsCard";
import { CompareMenu, Placement } from "./Placement";
import { Past } from "./Past";
import { RootCard } from "./RootCard";
import { RunCounters } from "./RunCounters";
import { RunCard } from "./RunCard";
import { RunsBeside } from "./RunsBeside";
import { Verdict } from "./Verdict";
import { useOrigin } from "../../lib/origin";

export function JobPage() {
  const { job: id } = useParams({ from: "/jobs/$job" });
  const { cluster, run, compare } = useSearch({ from: "/jobs/$job" });
  const job = useQuery(jobQuery(id, cluster));
  const fabrics = useQuery(fabricsQuery());
  if (job.error && !job.data) return <Failure page error={job.error} retry={() => void job.refetch()} />;
  if (!job.data || !fabrics.data) return <Unanswered what="the job" asked={[job, fabrics]} />;
  const runs = job.data.runs ?? [];
  refuseUnless(
    run === undefined || job.isFetching || runs.some((one) => one.run_id === run),
    `Job ${id} has no run ${run}.`,
    "run",
  );
  refuseUnless(
    compare === undefined || job.isFetching || runs.length > 0,
    `Job ${id} has no run to compare with others.`,
    "compare",
  );
  const fabric =
    fabrics.data.items.find((f) => f.id === job.data.fabric_id) ??
    fabrics.data.items.find((f) => f.name === job.data.cluster) ??
    null;
  return <JobBody key={`${job.data.cluster} ${id}`} job={job.data} fabric={fabric} />;
}

/** The series of the chosen run and of those compared with it. `running`: whether steps are still to come; a finished job has no forecast. */
function useSteps(run: Run | undefined, compare: string | undefined, running: boolean): StepSeries | null {
  const others = useMemo(
    () =>
      compare
        ?.split(",")
        .map(Number)
        .filter((n) => Number.isInteger(n) && n !== run?.run_id) ?? [],
    [compare, run],
  );
  const ids = useMemo(() => (run ? [run.run_id, ...others] : []), [run, others]);
  const results = useQueries({
    queries: ids.map((id) => runStepsQuery(id)),
    combine: (all) => all.map((r) => r.data ?? null),
  });
  const forecast = useQuery({ ...runForecastQuery(run?.run_id ?? 0), enabled: running && run !== undefined });
  const band = running ? forecast.data?.band : undefined;
  return useMemo(() => {
    const own = results[0];
    if (!own) return null;
    return {
      step: own.step,
      time: own.time_s,
      mean: own.mean_time_s,
      p10: own.p10_s,
      p90: own.p90_s,
      ...(band ? { ahead: { step: band.step, expected: band.expected_s, low: band.low_s, high: band.high_s } } : {}),
      others: results
        .slice(1)
        .flatMap((other, i) => (other ? [{ label: `run ${others[i]}`, time: other.time_s }] : [])),
    };
  }, [results, others, band]);
}

function JobBody({ job, fabric }: { job: JobDetail; fabric: Fabric | null }) {
  const search = useSearch({ from: "/jobs/$job" });
  const navigate = useNavigate({ from: "/jobs/$job" });
  const setNeighbour = (job: string | null) =>
    void navigate({ search: (old) => ({ ...old, beside: job ?? "none" }), replace: true });
  const [now] = useState(() => Date.now());
  const machine = fabric?.name;
  useEffect(() => {
    if (machine) rememberMachine(machine);
  }, [machine]);
  const runs = job.runs ?? [];
  const run = runs.find((r) => r.run_id === search.run) ?? runs[0];
  const outlook = useQuery(outlookQuery(job.job_id, job.cluster));
  const past = outlook.data?.past;
  const life = useMemo(
    () => lifeOf(job, parseTime(fabric?.last_ts) ?? now, parseTime(search.at)),
    [job, fabric?.last_ts, now, search.at],
  );
  const { start, until } = life;
  const running = job.state === "RUNNING" && !life.fixed;
  // A shared address shows what was known at its moment; outside the job's life it names none.
  const asked = parseTime(search.at);
  const within = asked !== null && start !== null && asked > start && asked < (parseTime(job.end) ?? now);
  const elapsed = within ? (asked - start) / 1000 : job.elapsed_s;
  const usual = useMemo(
    () => usualTime({ elapsed_s: elapsed, state: within ? "RUNNING" : job.state }, past ?? []),
    [elapsed, within, job.state, past],
  );
  const recorded = useSteps(run, search.compare, running);
  // Only the first run's steps are waited for: another one is chosen on the page, which stays.
  const [first] = useState(run?.run_id);
  const stepsAnswer = useQuery({ ...runStepsQuery(first ?? 0), enabled: first !== undefined });
  const begin = parseTime(run?.start);
  const steps = useMemo(
    () => (within && recorded && begin !== null ? stepsUntil(recorded, begin, asked) : recorded),
    [within, recorded, begin, asked],
  );
  const routers = useMemo(() => job.routers ?? [], [job.routers]);
  const placed = fabric !== null && !fabric.snapshot && routers.length > 0 && start !== null && until > start;
  const moment = useMemo(
    () => (fabric?.snapshot ? { ...lastMinutes(life), at: null } : lastMinutes(life)),
    [life, fabric],
  );
  const when = useMemo(() => (fabric?.snapshot ? {} : fabricTime(life)), [life, fabric]);
  const congestion = useQuery({
    ...congestionQuery(fabric?.id ?? 0, moment, null),
    enabled: fabric !== null && routers.length > 0,
  });
  const runFigures = useMemo(() => (steps ? runVerdict(steps) : null), [steps]);
  const explained = useQuery(explanationQuery(job.job_id, job.cluster, within ? isoTime(asked) : null));
  // Who is named is drawn from the start, until the reader chooses another neighbour or none.
  const asNeighbour = search.beside ?? explained.data?.named ?? "none";
  const neighbour = asNeighbour === "none" ? null : asNeighbour;
  const onset = useMemo(() => onsetOf(explained.data), [explained.data]);
  const gutters = useMedia("(max-width: 720px)") ? NARROW : WIDE;
  const time = useMemo((): StepClock | undefined => {
    if (begin === null || !steps) return undefined;
    const ends = stepEnds(begin, steps);
    const last = Math.max(until, ...ends.values());
    return {
      end: (step) => ends.get(step) ?? begin,
      span: { from: Math.min(begin, start ?? begin), to: last },
      until,
      ...gutters,
    };
  }, [begin, steps, start, until, gutters]);
  useOrigin({
    machine: job.cluster ?? "unknown",
    simulated: job.simulated,
    window: start === null ? null : { from: start, to: until },
    search: () => ({ at: isoTime(until) }),
  });
  const span = useMemo(() => time?.span ?? { from: start ?? until - 1, to: until }, [time, start, until]);
  const slow = explained.data?.slowdown;
  const replay =
    fabric && placed && routers.length > 1
      ? {
          fabric: fabric.name,
          job: job.job_id,
          ...(slow ? slowWindow(slow.since, slow.until, until) : { at: isoTime(moment.at ?? until) }),
        }
      : null;
  const facts = [
    job.name,
    job.user && `user ${job.user}`,
    job.nodes !== null && plural(job.nodes, "node"),
    routers.length > 0 &&
      `${plural(routers.length, wordsOf(fabric).router, wordsOf(fabric).routers)}${job.groups?.length && fabric?.kind === "dragonfly" ? ` in ${plural(job.groups.length, "group")}` : ""}`,
    start !== null && `started ${momentText(start, now)} ${ZONE}`,
    within ? `as of ${momentText(asked, now, true)} ${ZONE}` : job.state.toLowerCase(),
  ]
    .filter(Boolean)
    .join(" · ");

  // Cards whose height these decide come above others: shown one by one they would push those down.
  if (outlook.isPending || [explained, stepsAnswer].some((one) => one.isLoading && !one.failureCount))
    return <Waiting what="the job" />;
  return (
    <div className="job-page">
      <div className="context">
        <h1>Job {job.job_id}</h1>
        {job.simulated && <span className="tag">simulated</span>}
        <span className="subtitle" title={facts}>
          {facts}
        </span>
        <span className="spacer" />
        {runs.length > 1 && run && (
          <Segmented
            label="Run"
            value={String(run.run_id)}
            options={runs.slice(0, 4).map((r) => ({ value: String(r.run_id), label: `Run ${r.run_key ?? r.run_id}` }))}
            onChange={(value) => void navigate({ search: (old) => ({ ...old, run: Number(value) }), replace: true })}
          />
        )}
        {run && (
          <CompareMenu
            run={run}
            compare={search.compare}
            onChange={(compare) => void navigate({ search: (old) => ({ ...old, compare }), replace: true })}
          />
        )}
        {fabric && (
          <Link
            className="button"
            to="/fabric/$fabric"
            params={{ fabric: fabric.name }}
            search={{ job: job.job_id, ...when }}
          >
            On the fabric
          </Link>
        )}
        {replay && (
          <Link className="button" to="/lab" search={{ replay: "on", ...replay }}>
            Replay with another placement
          </Link>
        )}
        {placed && <CopyMoment search={() => ({ at: isoTime(until) })} />}
        {job.user && (
          <Link className="button" to="/jobs" search={{ user: job.user }}>
            Jobs of this user
          </Link>
        )}
        {job.links.map((link) => (
          <a className="button" key={link.name + link.url} href={link.url} target="_blank" rel="noreferrer">
            Open in {link.name}
          </a>
        ))}
      </div>
      <Verdict
        job={job}
        fabric={fabric}
        life={life}
        asked={asked}
        now={now}
        running={running}
        elapsed={elapsed}
        usual={usual}
        steps={steps}
        time={time}
        figures={runFigures}
        explained={explained}
        outlook={outlook.data}
        congestion={congestion}
      />
      <div className="job-main">
        <div className="job-left">
          <RunCard
            run={run ?? null}
            running={running}
            series={steps}
            figures={runFigures}
            compare={search.compare}
            time={time}
            onset={onset}
          />
          {placed && (
            <PartsCard
              gutters={gutters}
              job={job.job_id}
              cluster={job.cluster ?? ""}
              span={span}
              until={until}
              onset={onset}
            />
          )}
          {explained.data && <Chain explanation={explained.data} cluster={job.cluster ?? ""} job={job.job_id} />}
          {placed && (
            <RootCard
              job={job.job_id}
              cluster={job.cluster ?? ""}
              words={wordsOf(fabric)}
              moment={{ at: life.fixed ? until : null, windowMs: 60_000 }}
              explained={explained.data}
            />
          )}
          {!run && !within && <Past job={job.job_id} cluster={job.cluster} words={wordsOf(fabric)} />}
          {run && <RunsBeside run={run} compare={search.compare} known={within ? steps?.step.length : undefined} />}
          {run && steps && <RunCounters run={run.run_id} steps={steps.step} />}
          {job.runs && job.runs.length > 0 && <NoiseSets runs={job.runs.map((one) => one.run_id)} />}
          {!placed && (
            <section className="card job-note">
              <p className="muted">{placementNote(job, fabric)}</p>
            </section>
          )}
        </div>
        <div className="job-right">
          <Neighbours
            job={job.job_id}
            cluster={job.cluster}
            neighbours={job.neighbours.filter((one) => !within || (parseTime(one.start) ?? asked) <= asked)}
            candidates={explained.data?.candidates ?? []}
            timed={start !== null}
            chosen={neighbour}
            at={life.fixed ? isoTime(until) : undefined}
            onChoose={setNeighbour}
          />
          {fabric && routers.length > 0 && (
            <Placement
              fabric={fabric}
              job={job.job_id}
              routers={routers}
              neighbour={neighbour}
              moment={moment}
              when={when}
            />
          )}
          {explained.data && <Help explanation={explained.data} replay={replay} />}
          {run && !within && <Past job={job.job_id} cluster={job.cluster} words={wordsOf(fabric)} />}
          {placed && !within && <NetworkNoiseCard job={job.job_id} cluster={job.cluster ?? ""} />}
        </div>
      </div>
    </div>
  );
}

function placementNote(job: JobDetail, fabric: Fabric | null): string {
  if (!fabric) return "None of this job's nodes belongs to a known machine, so its routers and stalls are unknown.";
  if (!(job.routers ?? []).length)
    return `The job's nodes are not on ${fabric.name} in the imported topology, so its stalls are unknown.`;
  if (fabric.snapshot) return `${fabric.name} has one sample without a time, so stalls over time are unknown.`;
  return "The job has no start time or ran before the first counters, so its stalls over time are unknown.";
}
