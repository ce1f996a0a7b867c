// Columns of the home page's exports.
import type { Column } from "../../components/DataTable";
import { isoTime, ZONE } from "../../lib/time";
import type { SlowRun } from "../../api/estimateShapes";
import type { Item, jobStalls } from "./attention";

export const itemColumns: Column<Item>[] = [
  { key: "level", header: "level", value: (i) => i.level },
  { key: "title", header: "what", value: (i) => i.title },
  { key: "detail", header: "detail", value: (i) => i.detail },
  { key: "stake", header: "at stake", value: (i) => i.stake },
  { key: "at", header: `since, ${ZONE}`, value: (i) => (i.at === null ? null : isoTime(i.at)) },
  { key: "href", header: "evidence", value: (i) => i.href },
];
export const stallColumns = (ratio: string): Column<ReturnType<typeof jobStalls>[number]>[] => [
  { key: "job", header: "job", value: (s) => s.job.job_id },
  { key: "name", header: "name", value: (s) => s.job.name },
  { key: "user", header: "user", value: (s) => s.job.user },
  { key: "nodes", header: "nodes", value: (s) => s.job.nodes },
  { key: "ratio", header: ratio, value: (s) => s.ratio },
  { key: "factor", header: "vs machine", value: (s) => s.factor },
];

export const UNCOMPARED = "no earlier run has these steps";
export const slowColumns: Column<SlowRun>[] = [
  { key: "job", header: "job", value: (one) => one.job_id },
  { key: "name", header: "name", value: (one) => one.name },
  { key: "user", header: "user", value: (one) => one.user },
  { key: "nodes", header: "nodes", value: (one) => one.nodes },
  { key: "slowdown", header: "slowdown", value: (one) => one.slowdown },
  { key: "earlier", header: "earlier runs", value: (one) => one.earlier_runs },
  { key: "low", header: `ends, from, ${ZONE}`, value: (one) => one.run_time?.ends_low ?? null },
  { key: "high", header: `ends, to, ${ZONE}`, value: (one) => one.run_time?.ends_high ?? null },
];
