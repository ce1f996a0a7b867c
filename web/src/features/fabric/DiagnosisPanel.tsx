/** The diagnosis of a tree: where congestion begins, the worst path hop by hop, causes ruled in and out, and what to do. */
import { Link } from "@tanstack/react-router";
import type { Moment } from "../../api/queries";
import type { Roots } from "../../api/roots";
import { Unanswered } from "../../components/Notice";
import { fraction, percent, plural, ratio } from "../../lib/format";
import { intervalText, parseTime } from "../../lib/time";
import type { Scene } from "../../machine/scene";
import { wordsOf } from "../../machine/words";
import type { FabricSearch } from "./address";
import { CAUSES, RULINGS, titleOf } from "./diagnosis";
import { useDiagnosis } from "./useDiagnosis";

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
  const told = answer.data;
  const [from, to] = [parseTime(told?.from), parseTime(told?.to)];
  const when = from !== null && to !== null ? `, ${intervalText({ from, to }, to)}` : "";
  return (
    <aside className="card diagnosis" aria-label="Diagnosis">
      <p className="subtitle">Diagnosis{when}</p>
      {byPackets && job === null ? (
        <>
          <h2>Choose a job</h2>
          <p>Roots are computed from the packets of one job, but several jobs were sampled here.</p>
        </>
      ) : told ? (
        <Findings
          told={told}
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
  told: Roots;
  job: string | null;
  ratioWord: string;
  switches: number;
  onSelect: (router: number) => void;
}

function Findings({ told, job, ratioWord, switches, onSelect }: FindingsProps) {
  const [root] = told.roots;
  return (
    <>
      <h2>{titleOf(told)}</h2>
      {root ? <p>{root.advice}</p> : told.reasons.length > 0 && <p>{told.reasons.join(" ")}</p>}
      {told.worst_path.length > 0 && (
        <WorstPath told={told} ratioWord={ratioWord} switches={switches} onSelect={onSelect} />
      )}
      <h3>What the picture rules in and out</h3>
      <dl>
        {told.rulings.map((one) => (
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
          <h3>Who sends over it</h3>
          {root.jobs.length > 0 ? (
            <ul>
              {root.jobs.map((one) => (
                <li key={one.job_id} className="card-line">
                  <Link
                    to="/jobs/$job"
                    params={{ job: one.job_id }}
                    search={{ at: told.to ?? undefined }}
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
        {told.method === "samples"
          ? `From sampled packets of job ${job ?? ""}: follow the path until it turns light; the point before is the root.`
          : "Computed from port counters. A stalled link waits for the next one, and the root is the last one."}{" "}
        {plural(told.links_stalled, "congested link")} of {plural(told.links_counted, "counted one")}.
        {told.simulated ? " Simulated." : ""}
      </p>
    </>
  );
}

function WorstPath({ told, ratioWord, switches, onSelect }: Omit<FindingsProps, "job">) {
  const sampled = told.method === "samples";
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
            {sampled ? "ours, use" : "use"}
          </th>
        </tr>
      </thead>
      <tbody>
        {told.worst_path.map((one, i) => (
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
