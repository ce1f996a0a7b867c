/** The run and those chosen to compare with it, side by side on one scale: step times, and what its NICs say of network noise. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { useMemo, type CSSProperties } from "react";
import { jobQuery, runsQuery, runStepsQuery } from "../../api/queries";
import type { Run } from "../../api/shapes";
import { ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { firstOf } from "../../charts/steps";
import type { Column } from "../../components/DataTable";
import { type QueryState, refused, Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { change, fraction, lostTime, plural, ratio, si } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import { comparable, guidelines, runNoise, type RunNoise } from "./noise";
import { address } from "../../api/client";

interface One {
  run: Run;
  time: (number | null)[];
  noise: RunNoise;
  nodes: string | null;
}

const MEASURES: {
  key: keyof RunNoise;
  name: string;
  show: (value: number | null) => string;
  compared: "always" | "one allocation" | "never";
}[] = [
  { key: "total_s", name: "time", show: lostTime, compared: "always" },
  { key: "mean_s", name: "mean step, s", show: ratio, compared: "always" },
  { key: "median_s", name: "median step, s", show: ratio, compared: "always" },
  { key: "slowest_s", name: "slowest step, s", show: ratio, compared: "always" },
  { key: "qcd", name: "Step variation (QCD)", show: fraction, compared: "never" },
  { key: "network_qcd", name: "Step variation due to the network", show: fraction, compared: "never" },
  { key: "stalls_per_flit", name: "NIC stalls per flit", show: ratio, compared: "one allocation" },
  {
    key: "latency_us",
    name: "NIC latency, µs",
    show: ratio,
    compared: "one allocation",
  },
  {
    key: "flits_per_s",
    name: "flits / s",
    show: (value) => (value === null ? "–" : si(value)),
    compared: "one allocation",
  },
  { key: "message_us", name: "64 KiB message, model, µs", show: ratio, compared: "one allocation" },
];

interface Row {
  name: string;
  values: (number | null)[];
  show: (value: number | null) => string;
}

/** `unlisted`: runs that the address names and that are not among the newest of the program. */
function useRuns(
  run: Run,
  compare: string | undefined,
  known: number | undefined,
): { all: One[]; asked: QueryState[]; unlisted: readonly number[] } {
  const others = useQuery(runsQuery(run.exe));
  const listed = others.data?.items;
  const { runs, unlisted } = useMemo(() => {
    const ids = (compare?.split(",").map(Number) ?? []).filter((id) => id !== run.run_id);
    const others = ids.flatMap((id) => listed?.find((one) => one.run_id === id) ?? []);
    const here = new Set(others.map((one) => one.run_id));
    return { runs: [run, ...others], unlisted: listed ? ids.filter((id) => !here.has(id)) : [] };
  }, [run, compare, listed]);
  const steps = useQueries({
    queries: runs.map((one) => runStepsQuery(one.run_id)),
    combine: (all) => all.map((one) => one.data ?? null),
  });
  const jobs = useQueries({
    queries: runs.map((one) => ({
      ...jobQuery(one.job_id ?? ""),
      enabled: one.job_id !== null && one.job_id !== undefined,
    })),
    combine: (all) => all.map((one) => one.data?.node_list ?? null),
  });
  const all = useMemo(
    () =>
      runs.flatMap((one, i): One[] => {
        const own = steps[i];
        if (!own) return [];
        const time = own.time_s.slice(0, known);
        const noise = runNoise(time, own.counters && firstOf(own.counters, known));
        return [{ run: one, time, noise, nodes: jobs[i] ?? null }];
      }),
    [runs, steps, jobs, known],
  );
  return { all, asked: compare ? [others] : [], unlisted };
}

const nameOf = (run: Run) => (run.job_id ? `job ${run.job_id}` : (run.run_key ?? `run ${run.run_id}`));

interface Props {
  run: Run;
  compare: string | undefined;
  /** Number of steps known at a past moment; each run is compared over as many. */
  known: number | undefined;
}

export function RunsBeside({ run, compare, known }: Props) {
  const { all, asked, unlisted } = useRuns(run, compare, known);
  const [first] = all;
  if (!first || known === 0) return null;
  const measures = MEASURES.filter(({ key }) => all.some((one) => one.noise[key] !== null));
  const rows = measures.map(({ key, name, show }): Row => ({ name, show, values: all.map((one) => one.noise[key]) }));
  const columns: Column<Row>[] = [
    { key: "name", header: "Measure", value: (r) => r.name },
    ...all.map((one, i): Column<Row> => ({
      key: String(one.run.run_id),
      header: nameOf(one.run),
      numeric: true,
      value: (r) => r.values[i] ?? null,
      render: (r) => r.show(r.values[i] ?? null),
    })),
  ];
  const most = Math.max(1e-9, ...all.flatMap((one) => one.time.filter((t): t is number => t !== null)));
  const warnings = guidelines(all);
  const alike = comparable(all);
  const unknown = all.every((one) => one.noise.stalls_per_flit === null && one.noise.latency_us === null);
  return (
    <PictureCard
      title={all.length > 1 ? "Runs side by side" : "Network noise"}
      name={`run-${run.run_id}-beside`}
      source={address("/runs", { exe: run.exe, limit: 50 })}
      className="runs-compared"
      rows={rows}
      columns={columns}
      id={(r) => r.name}
      note={
        all.length > 1
          ? `${known === undefined ? "" : `first ${plural(known, "step")} · `}same time scale · changes compared with ${nameOf(run)}`
          : "dispersion of steps and terms of the message model; use Compare to add other runs"
      }
    >
      {refused(asked) && <Unanswered line what="the other runs" asked={asked} />}
      {unlisted.map((id) => (
        <p key={id} className="alarm chart-key" role="alert">
          Run {id} is not compared: it is not among the newest runs of {run.exe}.
        </p>
      ))}
      <div
        className={all.length > 1 ? "compared-grid" : "compared-grid alone"}
        style={{ "--runs": all.length } as CSSProperties}
      >
        {all.map((one, i) => (
          <Side
            key={one.run.run_id}
            one={one}
            measures={measures}
            against={i ? first.noise : null}
            alike={alike}
            most={most}
          />
        ))}
      </div>
      {warnings.map((warning) => (
        <p key={warning} className="alarm chart-key" data-caption="">
          {warning}
        </p>
      ))}
      {unknown && (
        <p className="muted chart-key">
          NIC flits, stalls and latency were not recorded with {all.length > 1 ? "these runs" : "this run"}, so the
          model&apos;s terms are unknown.
        </p>
      )}
    </PictureCard>
  );
}

interface SideProps {
  one: One;
  /** Those that any of the runs has. */
  measures: typeof MEASURES;
  against: RunNoise | null;
  alike: boolean;
  most: number;
}

function Side({ one, measures, against, alike, most }: SideProps) {
  const start = parseTime(one.run.start);
  return (
    <figure className="compared-run">
      <figcaption>
        {one.run.job_id && against ? (
          <Link to="/jobs/$job" params={{ job: one.run.job_id }}>
            {nameOf(one.run)}
          </Link>
        ) : (
          nameOf(one.run)
        )}
        {start === null ? "" : `, ${moment(start, Date.now())} ${ZONE}`}
      </figcaption>
      <Steps time={one.time} most={most} label={`Step times of ${nameOf(one.run)}; the table lists its figures`} />
      <dl className="facts">
        {measures.map(({ key, name, show, compared }) => {
          const [value, other] = [one.noise[key], against?.[key] ?? null];
          return (
            <Measure
              key={key}
              name={name}
              value={show(value)}
              more={
                (compared === "always" || (compared === "one allocation" && alike)) &&
                value !== null &&
                other !== null &&
                other > 0
                  ? change(value / other)
                  : ""
              }
            />
          );
        })}
      </dl>
    </figure>
  );
}

const Measure = ({ name, value, more }: { name: string; value: string; more: string }) => (
  <>
    <dt>{name}</dt>
    <dd>
      {value} <span className="muted">{more}</span>
    </dd>
  </>
);

const HEIGHT = 72;

function Steps({ time, most, label }: { time: (number | null)[]; most: number; label: string }) {
  const [box, size] = useSize();
  const width = size?.width ?? 0;
  const x = scaleLinear()
    .domain([0, Math.max(1, time.length - 1)])
    .range([28, width - 2]);
  const y = scaleLinear()
    .domain([0, most])
    .range([HEIGHT - 4, 8]);
  const path =
    line<number | null>()
      .defined((t) => t !== null)
      .x((_, i) => x(i))
      .y((t) => y(t ?? 0))(time) ?? "";
  return (
    <div ref={box} className="step-chart compared-steps" style={{ height: HEIGHT }}>
      {width > 80 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={label}>
          <ValueAxis ticks={[0, most]} y={y} left={28} right={width - 2} gap={6} text={ratio} />
          <path className="high" d={path} />
        </svg>
      )}
    </div>
  );
}
