/** The diagnosis of a tree: where congestion begins, the worst path hop by hop, causes ruled in and out, and what to do. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Moment } from "../../api/queries";
import { diagnosisQuery, fabricRootsQuery, type Roots } from "../../api/roots";
import { sampleContextsQuery } from "../../api/samples";
import type { Fabric } from "../../api/shapes";
import { Unanswered } from "../../components/Notice";
import { fraction, percent, plural, ratio } from "../../lib/format";
import { intervalText, parseTime } from "../../lib/time";
import type { Scene } from "../../machine/scene";
import { wordsOf } from "../../machine/words";
import type { FabricSearch } from "./address";
import { measureOf } from "./sampled";

// The API's causes of congestion and its rulings, in the page's words.

// What the API says of the tree that is shown: where its congestion begins, by the packets of a job or by counters of ports.

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

const CAUSES: Record<string, string> = {
  "full-link": "A link is full",
  "full-endpoint": "Several send to one node",
  "slow-endpoint": "A node receives too slowly",
  "background-traffic": "Other traffic",
  "communication-pattern": "Communication pattern",
  "mapping-or-bandwidth": "Mapping or bandwidth",
  "static-routes": "Static routes",
};

const RULINGS: Record<string, string> = { in: "Yes.", out: "No.", "cannot tell": "Cannot tell." };

export function titleOf(diagnosis: Pick<Roots, "verdict" | "roots" | "links_stalled">): string {
  const [root] = diagnosis.roots;
  if (diagnosis.verdict === "cannot tell") return "Cannot tell where congestion begins";
  if (!root) return diagnosis.links_stalled > 0 ? "No root of congestion" : "No link is congested";
  const more = diagnosis.roots.length - 1;
  return `Congestion begins at ${root.src_name} → ${root.dst_name}${more > 0 ? ` and ${plural(more, "more place")}` : ""}`;
}

interface Props {
  scene: Scene;
  search: FabricSearch;
  moment: Moment;
  /** The switch that the keyboard moves from; a click on another opens it. */
  selected: number | null;
  onSelect: (router: number) => void;
}

export function DiagnosisPanel({ scene, search, moment, selected, onSelect }: Props) {
  const { answer, byPackets, job, asked } = useDiagnosis(scene.fabric, search, moment);
  const diagnosis = answer.data;
  const [from, to] = [parseTime(diagnosis?.from), parseTime(diagnosis?.to)];
  const when = from !== null && to !== null ? `, ${intervalText({ from, to }, to)}` : "";
  return (
    <aside className="card diagnosis" aria-label="Diagnosis">
      <p className="subtitle">Diagnosis{when}</p>
      {byPackets && job === null ? (
        <>
          <h2>Choose a job</h2>
          <p>Roots are computed from the packets of one job, but several jobs were sampled here.</p>
        </>
      ) : diagnosis ? (
        <Findings
          diagnosis={diagnosis}
          job={job}
          ratioWord={wordsOf(scene.fabric).ratio}
          switches={scene.machine.size}
          onSelect={onSelect}
        />
      ) : (
        <Unanswered what="the diagnosis" asked={asked} />
      )}
      {selected !== null && (
        <button className="button" onClick={() => onSelect(selected)}>
          Show {scene.machine.name[selected] ?? "the switch"}
        </button>
      )}
    </aside>
  );
}

interface FindingsProps {
  diagnosis: Roots;
  job: string | null;
  ratioWord: string;
  switches: number;
  onSelect: (router: number) => void;
}

function Findings({ diagnosis, job, ratioWord, switches, onSelect }: FindingsProps) {
  const [root] = diagnosis.roots;
  return (
    <>
      <h2>{titleOf(diagnosis)}</h2>
      {root ? <p>{root.advice}</p> : diagnosis.reasons.length > 0 && <p>{diagnosis.reasons.join(" ")}</p>}
      {diagnosis.worst_path.length > 0 && (
        <WorstPath diagnosis={diagnosis} ratioWord={ratioWord} switches={switches} onSelect={onSelect} />
      )}
      <h3>Causes confirmed and ruled out</h3>
      <dl>
        {diagnosis.rulings.map((one) => (
          <div key={one.cause} data-ruling={one.ruling}>
            <dt>{CAUSES[one.cause] ?? one.cause}</dt>
            <dd title={one.text}>
              <strong>{RULINGS[one.ruling]}</strong> {one.text}
            </dd>
          </div>
        ))}
      </dl>
      {root && (
        <>
          <h3>Jobs that send over it</h3>
          {root.jobs.length > 0 ? (
            <ul>
              {root.jobs.map((one) => (
                <li key={one.job_id} className="card-line">
                  <Link
                    to="/jobs/$job"
                    params={{ job: one.job_id }}
                    search={{ at: diagnosis.to ?? undefined }}
                    className="ellipsis"
                  >
                    {[one.job_id, one.name].filter(Boolean).join(" ")}
                  </Link>
                  <span className="numeric">{one.share === null ? "holds the node" : percent(one.share)}</span>
                </li>
              ))}
            </ul>
          ) : (
            <p className="muted">Cannot tell. {root.jobs_unknown_because}</p>
          )}
        </>
      )}
      <p className="muted diagnosis-note">
        {diagnosis.method === "samples"
          ? `From sampled packets of job ${job ?? ""}: follow the path until it turns light; the point before is the root.`
          : "Computed from port counters. A stalled link waits for the next one, and the root is the last one."}{" "}
        {plural(diagnosis.links_stalled, "congested link")} of {plural(diagnosis.links_counted, "counted one")}.
        {diagnosis.simulated ? " Simulated." : ""}
      </p>
    </>
  );
}

function WorstPath({ diagnosis, ratioWord, switches, onSelect }: Omit<FindingsProps, "job">) {
  const sampled = diagnosis.method === "samples";
  return (
    <table className="tight">
      <thead>
        <tr>
          <th scope="col" colSpan={2}>
            Worst path
          </th>
          <th scope="col" className="numeric">
            {sampled ? "fraction" : ratioWord}
          </th>
          <th scope="col" className="numeric">
            {sampled ? "use by job" : "use"}
          </th>
        </tr>
      </thead>
      <tbody>
        {diagnosis.worst_path.map((one, i) => (
          <tr key={one.link}>
            <td>
              <strong className="hop">{i + 1}</strong>
            </td>
            <td>
              <button className="link ellipsis" onClick={() => onSelect(one.src < switches ? one.src : one.dst)}>
                {one.src_name} → {one.dst_name}
              </button>
            </td>
            <td className="numeric">{sampled ? fraction(one.congested_fraction) : ratio(one.stalls_per_flit)}</td>
            <td className="numeric">{percent(one.utilisation)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
