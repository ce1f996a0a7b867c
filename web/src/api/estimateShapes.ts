/** What the API answers about estimates: who (blame), what (deviation), what next (forecast), and a job against its past. */
import * as v from "valibot";
import { rootShape } from "./roots";
import { booleans, figure, figures, identifier, integers, maybe, text, texts } from "./shapes";

/** Recorded by the platform, or brought by a person in files; an older platform knows recorded runs only. */
const sourceShape = v.optional(v.picklist(["runs", "files"]), "runs");
const headShape = v.object({
  estimate_id: v.number(),
  exe: v.string(),
  nodes: v.number(),
  created: v.string(),
  code_version: v.string(),
  runs: v.number(),
  steps: v.number(),
  first: v.string(),
  last: v.string(),
  simulated: v.boolean(),
  source: sourceShape,
});

const standingShape = v.object({ estimate_id: figure, created: text, checked: text, lacks: text });
export const estimatesShape = v.object({
  items: v.array(
    v.object({
      exe: v.string(),
      nodes: v.number(),
      runs: v.number(),
      running: v.number(),
      simulated: v.boolean(),
      source: sourceShape,
      blame: standingShape,
      deviation: standingShape,
      forecast: standingShape,
    }),
  ),
});
export type Application = v.InferOutput<typeof estimatesShape>["items"][number];

const entryShape = v.object({
  place: v.number(),
  name: v.string(),
  pseudonym: v.boolean(),
  own: v.boolean(),
  score: v.number(),
  sign: v.number(),
  p: figure,
  q: figure,
  verdict: v.string(),
  reasons: v.array(v.string()),
  effect_s: figure,
  effect_low_s: figure,
  effect_high_s: figure,
  lost_node_hours: figure,
  lost_low_node_hours: figure,
  lost_high_node_hours: figure,
  testable: v.boolean(),
  reason: text,
  exposed_runs: v.number(),
  selected: figure,
  mi_bits: v.number(),
  mi_sign: v.number(),
  mi_p: figure,
  mi_q: figure,
});
export type BlameEntry = v.InferOutput<typeof entryShape>;

const jobColumn = v.array(v.nullable(identifier));
export const blameShape = v.object({
  estimate: headShape,
  by: v.string(),
  caveat: v.string(),
  found: v.number(),
  testable: v.number(),
  total: v.number(),
  method: v.object({
    name: v.string(),
    strata: v.string(),
    response: v.string(),
    alpha: v.number(),
    least_nodes: v.number(),
    min_exposed: v.number(),
    beside: v.string(),
  }),
  calibration: maybe(v.object({ shuffles: v.number(), q: v.number(), sets_with_a_name: v.number(), share: figure })),
  drivers: v.optional(
    v.array(v.object({ name: v.string(), correlation: v.number(), p: v.number(), q: v.number() })),
    [],
  ),
  notes: v.optional(v.array(v.string()), []),
  runs: v.object({ run_id: figures, job_id: jobColumn, start: texts, time_s: figures, slow: booleans }),
  entries: v.array(entryShape),
  next_cursor: maybe(v.string()),
});
export type Blame = v.InferOutput<typeof blameShape>;

export const blameDetailShape = v.object({
  estimate: headShape,
  by: v.string(),
  entry: entryShape,
  run_id: figures,
  run_name: v.optional(v.array(text), []),
  job_id: jobColumn,
  start: texts,
  time_s: figures,
  slow: booleans,
  overlap: figures,
  exposure: figures,
});
export type BlameDetail = v.InferOutput<typeof blameDetailShape>;

export const severalSetsShape = v.object({
  definition: v.string(),
  least_sets: v.number(),
  sets: v.number(),
  total: v.number(),
  caveat: v.string(),
  items: v.array(
    v.object({
      name: v.string(),
      found_in: v.number(),
      tested_in: v.number(),
      q: figure,
      verdict: v.string(),
      reasons: v.array(v.string()),
      evidence: v.array(
        v.object({
          exe: v.string(),
          nodes: v.number(),
          runs: v.number(),
          place: v.number(),
          simulated: v.boolean(),
          verdict: v.string(),
          testable: v.boolean(),
          q: figure,
          effect_s: figure,
          effect_low_s: figure,
          effect_high_s: figure,
          exposed_runs: v.number(),
          mi_bits: v.number(),
          mi_sign: v.number(),
          mi_q: figure,
        }),
      ),
    }),
  ),
});
export type SeveralSets = v.InferOutput<typeof severalSetsShape>;

export const deviationShape = v.object({
  inputs: v.string(),
  caveat: v.string(),
  counters: v.array(
    v.object({
      abbreviation: v.string(),
      vendor: v.string(),
      column: v.string(),
      description: v.string(),
      meaning: v.string(),
    }),
  ),
  sets: v.array(
    v.object({
      estimate: headShape,
      relevance: figures,
      relevance_spread: figures,
      rank: figures,
      rank_spread: figures,
      place: v.array(figure),
      answer: v.array(v.string()),
      mape: v.number(),
      mape_spread: v.number(),
      baseline_mape: v.number(),
      row_split_mape: figure,
      folds: v.number(),
    }),
  ),
  lacking: v.array(v.object({ exe: v.string(), nodes: v.number(), runs: v.number(), lacks: text })),
});
export type Deviation = v.InferOutput<typeof deviationShape>;

const servingShape = v.object({
  forecaster: v.string(),
  m: v.number(),
  k: v.number(),
  features: v.string(),
  mape: v.number(),
  coverage90: figure,
  why: v.string(),
});
const restsShape = v.object({
  forecaster: v.string(),
  mape: v.number(),
  learned: v.number(),
  runs: v.number(),
  inputs: v.array(
    v.object({
      name: v.string(),
      meaning: v.string(),
      features: v.array(v.string()),
      increase: v.number(),
      low: v.number(),
      high: v.number(),
      verdict: v.string(),
    }),
  ),
  weights: v.array(
    v.object({
      forecaster: v.string(),
      mean: v.array(v.number()),
      low: v.array(v.number()),
      high: v.array(v.number()),
    }),
  ),
});
export type RestsOn = v.InferOutput<typeof restsShape>;

export const forecastShape = v.object({
  estimate: headShape,
  serves: servingShape,
  rests_on: v.array(restsShape),
  rests_on_lacks: text,
  notes: v.array(v.string()),
  backtests: v.array(
    v.object({
      m: v.number(),
      k: v.number(),
      features: v.string(),
      mape: v.record(v.string(), v.number()),
      gain: v.nullable(v.object({ mean: v.number(), low: v.number(), high: v.number() })),
      coverage90: figure,
      best: v.string(),
      runs: v.number(),
      windows: v.number(),
    }),
  ),
  step: integers,
  curve_s: figures,
  drift: v.nullable(
    v.object({
      checked: v.string(),
      forecasts: v.number(),
      coverage90: figure,
      mape: figure,
      psi: v.record(v.string(), v.number()),
      drifting: v.boolean(),
      why: text,
    }),
  ),
});
export type Forecast = v.InferOutput<typeof forecastShape>;
export type Backtest = Forecast["backtests"][number];

const nextShape = v.object({
  after_steps: v.number(),
  ahead: v.number(),
  made: v.string(),
  forecaster: v.string(),
  expected_s: v.number(),
  low_s: v.number(),
  high_s: v.number(),
  usual_s: v.number(),
  slowdown: v.number(),
  observed_s: figure,
});
export type Next = v.InferOutput<typeof nextShape>;

export const runningShape = v.object({
  items: v.array(
    v.object({
      run_id: v.number(),
      job_id: v.nullable(identifier),
      user: text,
      exe: v.string(),
      nodes: v.number(),
      start: text,
      steps: v.number(),
      elapsed_s: figure,
      newest: v.nullable(nextShape),
      backtest_mape: figure,
      lacks: text,
      simulated: v.boolean(),
    }),
  ),
});
export type RunningRun = v.InferOutput<typeof runningShape>["items"][number];

export const runForecastShape = v.object({
  run_id: v.number(),
  job_id: v.nullable(identifier),
  exe: v.string(),
  nodes: v.number(),
  start: text,
  running: v.boolean(),
  simulated: v.boolean(),
  observed: v.object({ step: integers, time_s: figures, usual_s: figures }),
  band: v.nullable(v.object({ step: integers, expected_s: figures, low_s: figures, high_s: figures })),
  newest: v.nullable(nextShape),
  made: v.array(nextShape),
  backtest: v.nullable(servingShape),
  lacks: text,
});
export type RunForecast = v.InferOutput<typeof runForecastShape>;

const runTimeShape = v.object({
  elapsed_s: v.number(),
  expected_s: figure,
  low_s: figure,
  high_s: figure,
  ends: text,
  ends_low: text,
  ends_high: text,
  basis: text,
  jobs: v.number(),
  tested: v.number(),
  coverage90: figure,
  rests_on: text,
  lacks: text,
});
export type RunTime = v.InferOutput<typeof runTimeShape>;

export const slowestShape = v.object({
  recent_s: v.number(),
  running: v.number(),
  items: v.array(
    v.object({
      run_id: v.number(),
      job_id: v.nullable(identifier),
      user: text,
      name: text,
      exe: v.string(),
      nodes: v.number(),
      simulated: v.boolean(),
      recent: v.object({ step: integers, time_s: v.array(v.number()), usual_s: figures }),
      earlier_runs: v.number(),
      slowdown: figure,
      run_time: v.nullable(runTimeShape),
    }),
  ),
});
export type SlowRun = v.InferOutput<typeof slowestShape>["items"][number];

export const runningJobsShape = v.object({
  items: v.array(
    v.object({
      job_id: identifier,
      user: text,
      name: text,
      nodes: figure,
      start: v.string(),
      simulated: v.boolean(),
      run_time: runTimeShape,
    }),
  ),
});
export type RunningJob = v.InferOutput<typeof runningJobsShape>["items"][number];

export const outlookShape = v.object({
  job_id: identifier,
  elapsed_s: figure,
  run_time: v.nullable(runTimeShape),
  has_steps: v.boolean(),
  simulated: v.boolean(),
  past: v.array(
    v.object({ basis: v.string(), jobs: v.number(), p10_s: figure, p50_s: figure, p90_s: figure, longer: figure }),
  ),
  stalls: v.nullable(
    v.object({ minutes: v.number(), routers: v.number(), job: figure, machine: figure, percentile: figure }),
  ),
  neighbours: v.array(
    v.object({
      job_id: identifier,
      user: text,
      nodes: figure,
      shared_routers: v.number(),
      shared_groups: v.number(),
      overlap_s: v.number(),
      blamed: v.array(v.string()),
    }),
  ),
});
export type Outlook = v.InferOutput<typeof outlookShape>;

export const candidateShape = v.object({
  job_pk: v.number(),
  job_id: identifier,
  name: text,
  user: text,
  nodes: figure,
  shared_routers: v.number(),
  shared_groups: v.number(),
  start: v.string(),
  named: v.boolean(),
  change: v.picklist(["started", "sends more", "none"]),
  changed: text,
  score: v.number(),
  why_not: text,
});

export const remedyShape = v.object({
  kind: v.string(),
  job_id: identifier,
  text: v.string(),
  minutes_saved: figure,
  minutes_saved_low: maybe(figure),
  minutes_saved_high: maybe(figure),
  in_past: v.boolean(),
});

export const explanationShape = v.object({
  as_of: v.string(),
  end: text,
  verdict: v.picklist(["named", "slows itself", "cannot tell", "not slow"]),
  title: v.string(),
  detail: v.string(),
  reasons: v.array(v.string()),
  named: v.nullable(identifier),
  slowdown: v.nullable(
    v.object({
      factor: v.number(),
      lost_s: figure,
      since: v.string(),
      since_low: v.string(),
      since_high: v.string(),
      until: text,
      from_start: v.boolean(),
    }),
  ),
  candidates: v.array(candidateShape),
  root: v.nullable(rootShape),
  root_from: text,
  root_to: text,
  remedies: v.array(remedyShape),
  incident_id: figure,
  slowed: v.nullable(
    v.object({
      jobs: v.number(),
      lost_s: v.number(),
      lost_low_s: v.number(),
      lost_high_s: v.number(),
      incidents: v.array(v.number()),
    }),
  ),
  chain: v.array(v.object({ part: v.string(), text: v.string() })),
});
export type Explanation = v.InferOutput<typeof explanationShape>;
