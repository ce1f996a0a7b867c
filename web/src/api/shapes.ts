/** What the API answers (docs/contracts/api.md), checked once at the edge. NULL means unknown. Unknown keys pass: the API may grow. */
import * as v from "valibot";

// Columns may hold thousands of entries: one predicate over the array instead of a schema for each element.
const columnOf = <T>(name: string, holds: (item: unknown) => boolean) =>
  v.custom<T[]>((value) => Array.isArray(value) && value.every(holds), `Expected an array of ${name}`);
const isNumber = (x: unknown) => typeof x === "number";
const isText = (x: unknown) => typeof x === "string";
const orNull = (holds: (x: unknown) => boolean) => (x: unknown) => x === null || holds(x);

export const integers = columnOf<number>("numbers", isNumber);
export const figures = columnOf<number | null>("numbers or null", orNull(isNumber));
export const texts = columnOf<string>("strings", isText);
export const booleans = columnOf<boolean>("booleans", (x) => typeof x === "boolean");
export const figure = v.nullable(v.number());
export const maybe = <S extends v.GenericSchema>(shape: S) => v.optional(v.nullable(shape), null);
export const text = v.nullable(v.string());
const places = columnOf<number[] | null>(
  "coordinates",
  orNull((x) => Array.isArray(x) && x.every(isNumber)),
);
export const identifier = v.pipe(v.union([v.string(), v.number()]), v.transform(String));

export const pageOf = <S extends v.GenericSchema>(item: S) =>
  v.object({ items: v.array(item), next_cursor: maybe(v.string()) });

export const fabricShape = v.object({
  id: v.number(),
  name: v.string(),
  kind: v.string(),
  technology: maybe(v.string()),
  simulated: v.boolean(),
  snapshot: v.boolean(),
  recorded: v.boolean(),
  routers: v.number(),
  endpoints: v.number(),
  links: v.number(),
  groups: v.optional(v.array(v.number()), []),
  first_ts: maybe(v.string()),
  last_ts: maybe(v.string()),
  cards_last_ts: maybe(v.string()),
});
export type Fabric = v.InferOutput<typeof fabricShape>;

export const routersShape = v.object({
  router: integers,
  name: texts,
  group: figures,
  row: figures,
  col: figures,
  level: figures,
  coords: maybe(places),
  nodes: figures,
  sampled: booleans,
});
export type Routers = v.InferOutput<typeof routersShape>;

export const classShape = v.object({
  flits: figure,
  stall_cycles: figure,
  ratio: figure,
  p50: maybe(v.number()),
  p95: maybe(v.number()),
  max: maybe(v.number()),
});

export const congestionShape = v.object({
  at: text,
  window_s: figure,
  complete_through: maybe(v.string()),
  routers: v.object({ router: integers, flits: figures, stall_cycles: figures, ratio: figures, coverage: figures }),
  classes: v.record(v.string(), classShape),
  groups: v.object({
    src: integers,
    dst: integers,
    flits: figures,
    stall_cycles: figures,
    ratio: figures,
    note: maybe(v.string()),
  }),
  simulated: v.boolean(),
  snapshot: v.boolean(),
  note: maybe(v.string()),
});
export type Congestion = v.InferOutput<typeof congestionShape>;

export const linkFiguresShape = v.object({
  link: integers,
  src: figures,
  dst: figures,
  src_port: figures,
  dst_port: figures,
  class: texts,
  flits: figures,
  stall_cycles: figures,
  ratio: figures,
  note: maybe(v.string()),
});
export type LinkFigures = v.InferOutput<typeof linkFiguresShape>;

export const linksShape = v.object({
  link: integers,
  src: figures,
  dst: figures,
  src_port: figures,
  dst_port: figures,
  class: texts,
});

export const overviewShape = v.object({
  ts: texts,
  step_s: v.number(),
  flits: figures,
  stall_cycles: figures,
  ratio: figures,
  p50: figures,
  p95: figures,
  coverage: figures,
  counted_share: v.number(),
  cards_counted: v.boolean(),
  gaps: v.array(v.object({ from: v.string(), to: text, devices: v.number() })),
  marks: v.array(v.object({ ts: v.string(), kind: v.string(), text: v.string() })),
});
export type Overview = v.InferOutput<typeof overviewShape>;

export const occupancyShape = v.object({
  at: text,
  nodes_held: v.number(),
  jobs: v.array(
    v.object({
      job_pk: v.number(),
      job_id: identifier,
      user: text,
      name: text,
      nodes: figure,
      start: text,
      routers: integers,
    }),
  ),
});
export type Occupancy = v.InferOutput<typeof occupancyShape>;

const jobFields = {
  job_pk: v.number(),
  cluster: maybe(v.string()),
  job_id: identifier,
  user: text,
  account: maybe(v.string()),
  name: text,
  partition: maybe(v.string()),
  state: v.string(),
  submit: maybe(v.string()),
  start: maybe(v.string()),
  end: maybe(v.string()),
  elapsed_s: maybe(v.number()),
  nodes: figure,
  routers: maybe(v.number()),
  groups: v.optional(v.nullable(v.array(v.number())), []),
  runs: v.optional(v.nullable(v.number()), 0),
  simulated: v.boolean(),
};
export const jobShape = v.object(jobFields);
export type Job = v.InferOutput<typeof jobShape>;

export const runShape = v.object({
  run_id: v.number(),
  run_key: maybe(v.string()),
  job_id: maybe(identifier),
  exe: v.string(),
  start: maybe(v.string()),
  ranks: figure,
  steps: figure,
  time_s: figure,
  simulated: v.boolean(),
});
export type Run = v.InferOutput<typeof runShape>;

export const jobDetailShape = v.object({
  ...jobFields,
  // The list gives a count here, the single job its routers.
  routers: v.optional(
    v.nullable(
      v.union([
        integers,
        v.pipe(
          v.number(),
          v.transform((): number[] => []),
        ),
      ]),
    ),
    [],
  ),
  runs: v.optional(
    v.nullable(
      v.union([
        v.array(runShape),
        v.pipe(
          v.number(),
          v.transform((): Run[] => []),
        ),
      ]),
    ),
    [],
  ),
  fabric_id: maybe(v.number()),
  node_list: maybe(v.string()),
  neighbours: v.optional(
    v.array(
      v.object({
        job_pk: v.number(),
        job_id: identifier,
        user: text,
        name: maybe(v.string()),
        nodes: figure,
        start: v.string(),
        shared_routers: figure,
        shared_groups: v.nullable(
          v.union([
            v.number(),
            v.pipe(
              v.array(v.number()),
              v.transform((list) => list.length),
            ),
          ]),
        ),
        overlap_s: figure,
      }),
    ),
    [],
  ),
  steps: v.optional(v.nullable(v.array(v.looseObject({}))), []),
  links: v.optional(v.array(v.object({ name: v.string(), url: v.pipe(v.string(), v.regex(/^https?:\/\//i)) })), []),
});
export type JobDetail = v.InferOutput<typeof jobDetailShape>;

export const runStepsShape = v.object({
  step: integers,
  time_s: figures,
  time_p50_s: maybe(figures),
  mean_time_s: maybe(figures),
  p10_s: maybe(figures),
  p90_s: maybe(figures),
  counters: v.optional(v.nullable(v.record(v.string(), figures)), null),
});
export type RunSteps = v.InferOutput<typeof runStepsShape>;

export const routerDetailShape = v.object({
  router: v.number(),
  name: v.string(),
  group: maybe(v.number()),
  row: maybe(v.number()),
  col: maybe(v.number()),
  level: maybe(v.number()),
  nodes: v.array(
    v.union([
      v.string(),
      v.pipe(
        v.looseObject({ node: v.string() }),
        v.transform((n) => n.node),
      ),
    ]),
  ),
  tiles: v.array(
    v.object({
      port: v.number(),
      name: maybe(v.string()),
      class: maybe(v.string()),
      peer: maybe(v.looseObject({ router: maybe(v.number()), node: maybe(v.string()) })),
      link: maybe(v.number()),
      flits: figure,
      stall_cycles: figure,
      ratio: figure,
    }),
  ),
  jobs: v.optional(
    v.array(
      v.object({
        job_id: identifier,
        job_pk: maybe(v.number()),
        user: maybe(v.string()),
        name: maybe(v.string()),
        nodes: maybe(v.union([v.number(), v.array(v.string())])),
      }),
    ),
    [],
  ),
});
export type RouterDetail = v.InferOutput<typeof routerDetailShape>;
export type Tile = RouterDetail["tiles"][number];

export const timeseriesShape = v.object({
  ts: texts,
  step_s: v.number(),
  routers: integers,
  values: v.record(v.string(), columnOf<(number | null)[]>("rows", Array.isArray)),
});

export const jobPartsShape = v.object({
  ts: texts,
  step_s: v.number(),
  parts: v.array(v.object({ key: v.string(), label: v.string(), unit: v.string(), values: figures })),
});
export type JobParts = v.InferOutput<typeof jobPartsShape>;

export const deadLetterShape = v.object({
  id: v.number(),
  at: v.string(),
  topic: text,
  reason: v.string(),
  where: maybe(v.string()),
  raw_bytes: maybe(v.number()),
  source: maybe(v.string()),
});
export type DeadLetter = v.InferOutput<typeof deadLetterShape>;

export const ingestShape = v.object({
  now: v.string(),
  read_only: maybe(v.string()),
  position_age_s: maybe(v.number()),
  topics: v.array(
    v.object({
      topic: v.string(),
      records: figure,
      values_per_s: figure,
      bytes_per_s: figure,
      lag_records: maybe(v.number()),
      lag_s: maybe(v.number()),
      last_at: maybe(v.string()),
      duplicates: maybe(v.number()),
      late: maybe(v.number()),
      dead: maybe(v.number()),
      unplaced: maybe(v.number()),
      unplaced_because: maybe(v.string()),
    }),
  ),
  schemas: v.array(
    v.looseObject({
      name: v.string(),
      kind: maybe(v.string()),
      records: maybe(v.number()),
      unknown: v.array(v.string()),
      first_seen: maybe(v.string()),
      last_seen: maybe(v.string()),
    }),
  ),
  dead_letters: v.object({ total: v.number(), last_hour: v.number(), recent: v.array(deadLetterShape) }),
  gaps: v.array(
    v.looseObject({
      device: v.string(),
      schema: maybe(v.string()),
      from: maybe(v.string()),
      to: maybe(v.string()),
      reason: maybe(v.string()),
      open: v.boolean(),
    }),
  ),
  gap_total: v.number(),
  silent_devices: v.number(),
  silent: v.array(v.object({ schema: v.string(), from: v.string(), devices: v.number() })),
});
export const coverageShape = v.object({
  ts: texts,
  step_s: v.number(),
  sources: v.array(v.object({ source: v.string(), topics: v.array(v.string()), records: integers, dead: integers })),
});
export type IngestCoverage = v.InferOutput<typeof coverageShape>;

export type IngestStatus = v.InferOutput<typeof ingestShape>;
/** The target of the platform: records are in the database within so many seconds. */
export const LATE_S = 5;

export const searchShape = v.object({
  items: v.array(
    v.object({
      kind: v.string(),
      id: identifier,
      title: v.string(),
      detail: maybe(v.string()),
      href: maybe(v.string()),
    }),
  ),
});
export type SearchHit = v.InferOutput<typeof searchShape>["items"][number];

export const jobsShape = pageOf(jobShape);
export const fabricsShape = pageOf(fabricShape);

export const runsShape = pageOf(runShape);
