/** What the API says of the tree that is shown: where its congestion begins, by the packets of a job or by counters of ports. */
import { useQuery } from "@tanstack/react-query";
import { diagnosisQuery, fabricRootsQuery } from "../../api/roots";
import type { Moment } from "../../api/queries";
import { sampleContextsQuery } from "../../api/samples";
import type { Fabric } from "../../api/shapes";
import { parseTime } from "../../lib/time";
import type { FabricSearch } from "./address";
import { measureOf } from "./sampled";

/** The API asks no longer window: it hides which links were full. */
const LONGEST_MS = 3_600_000;
const MINUTE_MS = 60_000;

export function useDiagnosis(fabric: Fabric, search: FabricSearch, moment: Moment) {
  const sampled = useQuery(sampleContextsQuery(fabric.id));
  const contexts = sampled.data?.items ?? [];
  const byPackets = contexts.length > 0 && measureOf(search, fabric) === "packets";
  const jobs = [...new Set(contexts.flatMap((one) => (one.job_id === null ? [] : [one.job_id])))];
  const job = byPackets ? (search.packets ?? (jobs.length === 1 ? jobs[0] : undefined)) : undefined;
  const at = parseTime(search.to);
  const ofJob = useQuery({
    ...diagnosisQuery(job ?? "", "", { at, windowMs: MINUTE_MS }, { tag: search.tag, phase: search.phase }),
    enabled: job !== undefined,
  });
  const ofFabric = useQuery({
    ...fabricRootsQuery(fabric.id, { ...moment, windowMs: Math.min(moment.windowMs, LONGEST_MS) }),
    enabled: sampled.data !== undefined && !byPackets,
  });
  return {
    answer: byPackets ? ofJob : ofFabric,
    byPackets,
    job: job ?? null,
    asked: [sampled, byPackets ? ofJob : ofFabric],
  };
}
