import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { outlookQuery } from "../../api/estimates";
import type { Explanation } from "../../api/estimateShapes";
import type { JobDetail } from "../../api/shapes";
import { TableExport } from "../../components/TableExport";
import type { Column } from "../../components/DataTable";
import { refused, Unanswered } from "../../components/Notice";
import { count, percent } from "../../lib/format";
import { address } from "../../api/client";

const columns: Column<JobDetail["neighbours"][number]>[] = [
  { key: "job", header: "job", value: (n) => n.job_id },
  { key: "name", header: "name", value: (n) => n.name },
  { key: "user", header: "user", value: (n) => n.user },
  { key: "nodes", header: "nodes", value: (n) => n.nodes },
  { key: "routers", header: "shared_routers", value: (n) => n.shared_routers },
  { key: "groups", header: "shared_groups", value: (n) => n.shared_groups },
  { key: "overlap", header: "overlap_s", value: (n) => n.overlap_s },
];

interface Props {
  job: string;
  cluster: string | null;
  neighbours: JobDetail["neighbours"];
  /** Of the explanation: the most likely first, with when each started. */
  candidates: Explanation["candidates"];
  /** Whether the job has a start: without one nobody knows who ran at the same time. */
  timed: boolean;
  chosen: string | null;
  /** The moment that this page speaks of, where it stays. */
  at: string | undefined;
  onChoose: (job: string | null) => void;
}

/** Jobs that shared routers or groups while this one ran: presence, not blame. */
export function Neighbours({ job, cluster, neighbours, candidates, timed, chosen, at, onChoose }: Props) {
  const outlook = useQuery(outlookQuery(job, cluster));
  const blamed = new Map(outlook.data?.neighbours.filter((n) => n.blamed.length).map((n) => [n.job_id, n.blamed]));
  const candidateOf = new Map(candidates.map((one) => [one.job_pk, one]));
  const score = (n: JobDetail["neighbours"][number]) => candidateOf.get(n.job_pk)?.score ?? 0;
  const listed = new Set(neighbours.map((n) => n.job_pk));
  // A large machine has more neighbours than are listed; who is likely is always among them.
  const likely = candidates
    .filter((one) => one.score > 0 && !listed.has(one.job_pk))
    .map((one) => ({ ...one, overlap_s: null }));
  const ordered = [...neighbours, ...likely].sort(
    (a, b) =>
      score(b) - score(a) ||
      (b.shared_routers ?? 0) - (a.shared_routers ?? 0) ||
      (b.shared_groups ?? 0) * (b.nodes ?? 0) - (a.shared_groups ?? 0) * (a.nodes ?? 0),
  );
  return (
    <section className="card job-neighbours" aria-label="Neighbours">
      <div className="card-head">
        <div className="card-title">
          <h2>Jobs that ran alongside</h2>
          <span className="subtitle">most likely first · presence is not proof</span>
        </div>
        <TableExport
          name={`job-${job}-neighbours`}
          source={address(`/jobs/${encodeURIComponent(job)}`)}
          rows={ordered}
          columns={columns}
        />
      </div>
      {refused([outlook]) && <Unanswered line what="the blame of each" asked={[outlook]} />}
      {!ordered.length ? (
        <p className="muted job-note">
          {timed
            ? "No other job shared its routers or groups."
            : "The times of this job are unknown, so the jobs alongside it are unknown too."}
        </p>
      ) : (
        // A box that scrolls must be reachable by keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div className="neighbour-box" tabIndex={0}>
          <table className="tight">
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">User</th>
                <th scope="col" className="numeric">
                  Nodes
                </th>
                <th scope="col" className="numeric" title="Routers shared with this job">
                  Shared
                  <span className="visually-hidden"> routers</span>
                </th>
                <th
                  scope="col"
                  title="Share of the change when the job slowed down, from timing, load and presence; not proof of cause"
                >
                  Share
                </th>
                <th scope="col">
                  <span className="visually-hidden">Show</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {ordered.slice(0, 100).map((n) => (
                <tr key={n.job_pk}>
                  <td
                    className="neighbour-job"
                    title={[`${n.job_id} ${n.name ?? ""}`, candidateOf.get(n.job_pk)?.why_not]
                      .filter(Boolean)
                      .join(": ")}
                  >
                    <span className="neighbour-name">
                      <Link to="/jobs/$job" params={{ job: n.job_id }} search={{ at }}>
                        {n.job_id}
                      </Link>
                      {candidateOf.get(n.job_pk)?.named && <span className="tag">named</span>}
                    </span>
                    {n.name && <span className="neighbour-application">{n.name}</span>}
                  </td>
                  <td className="neighbour-user">
                    <span className="neighbour-who" title={n.user ?? undefined}>
                      {n.user ?? "–"}
                    </span>
                    {blamed.has(n.job_id) && (
                      <Link
                        to="/blame"
                        className="tag"
                        title={`Slow runs of ${blamed.get(n.job_id)?.join(", ") ?? ""} coincide with this user's exposure; this is not proof of cause`}
                      >
                        blamed
                      </Link>
                    )}
                  </td>
                  <td className="numeric">{count(n.nodes)}</td>
                  <td className="numeric">{count(n.shared_routers)}</td>
                  <td>
                    <Share of={candidateOf.get(n.job_pk)} />
                  </td>
                  <td className="numeric">
                    <button
                      className="link muted"
                      aria-pressed={chosen === n.job_id}
                      onClick={() => onChoose(chosen === n.job_id ? null : n.job_id)}
                    >
                      {chosen === n.job_id ? "hide" : "show"}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** The share of one candidate as a bar with its figure; others have none. */
function Share({ of }: { of: Explanation["candidates"][number] | undefined }) {
  if (!of || of.score <= 0) return null;
  return (
    <span className="share" data-named={of.named || undefined} title={of.why_not ?? undefined}>
      <span className="share-bar">
        <i style={{ width: `${100 * of.score}%` }} />
      </span>
      {percent(of.score)}
    </span>
  );
}
