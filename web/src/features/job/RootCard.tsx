/** Where the congestion that holds a job up begins: the root, the links that wait behind it and the jobs that feed it; or why nobody can tell. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { address } from "../../api/client";
import type { Explanation } from "../../api/estimateShapes";
import type { Moment } from "../../api/queries";
import { diagnosisPlace, diagnosisQuery, type Root, type Roots, type Victim } from "../../api/roots";
import type { Column } from "../../components/DataTable";
import { Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { percent, plural, ratio } from "../../lib/format";
import { clock, parseTime, ZONE } from "../../lib/time";
import { capital, type Words } from "../../machine/words";
import { afterOnset, badness, treeRows } from "./roots";

interface Row extends Victim {
  root: string;
}

const name = (one: { src_name: string; dst_name: string }) => `${one.src_name} → ${one.dst_name}`;

const columnsOf = (words: Words): Column<Row>[] => [
  { key: "root", header: "Root", value: (one) => one.root },
  { key: "from", header: "From", value: (one) => one.src_name },
  { key: "to", header: "To", value: (one) => one.dst_name },
  { key: "distance", header: "Links from the root", numeric: true, value: (one) => one.distance },
  {
    key: "use",
    header: "Use",
    numeric: true,
    value: (one) => one.utilisation,
    render: (one) => percent(one.utilisation),
  },
  {
    key: "stalls",
    header: capital(words.ratio),
    numeric: true,
    value: (one) => one.stalls_per_flit,
    render: (one) => ratio(one.stalls_per_flit),
  },
  {
    key: "congested",
    header: "Congested packets",
    numeric: true,
    value: (one) => one.congested_fraction,
    render: (one) => percent(one.congested_fraction),
  },
];

interface Props {
  job: string;
  cluster: string;
  words: Words;
  /** The minute that the page speaks of, for a job that was not slow. */
  moment: Moment;
  explained: Explanation | undefined;
}

export function RootCard({ job, cluster, words, moment, explained }: Props) {
  const explainedRoot = explained?.root ?? null;
  const onset = afterOnset(explained);
  const asked = onset ?? moment;
  const answer = useQuery({ ...diagnosisQuery(job, cluster, asked), enabled: explainedRoot === null });
  const found = explainedRoot ? [explainedRoot] : (answer.data?.roots ?? []);
  const [root] = found;
  const ended = parseTime(answer.data?.to);
  const note =
    explainedRoot || onset
      ? "in the minute after the slowdown began"
      : ended !== null
        ? `in the minute until ${clock(ended, true)} ${ZONE}`
        : undefined;
  return (
    <PictureCard
      title="Where congestion begins"
      name={`job-${job}-root`}
      source={address(...diagnosisPlace(job, cluster, asked))}
      className="job-root"
      rows={found.flatMap((one) => treeRows(one).map((victim) => ({ ...victim, root: name(one) })))}
      columns={columnsOf(words)}
      id={(one) => `${one.root} ${one.link}`}
      note={note}
    >
      {/* A box that scrolls must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={answer.data && !root ? "root-box none" : "root-box"} tabIndex={0}>
        {root ? (
          found.map((one) => <Tree key={one.link} root={one} ratioWord={words.ratio} />)
        ) : answer.data ? (
          <p className="muted job-note">{withoutRoot(answer.data)}</p>
        ) : (
          <Unanswered what="where congestion begins" asked={[answer]} />
        )}
      </div>
    </PictureCard>
  );
}

/** What to say if no root is named. */
function withoutRoot(answer: Roots): string {
  if (answer.verdict === "cannot tell")
    return `Cannot tell where congestion begins. ${answer.reasons.join(" ") || "No link had counters in this minute."}`;
  const waits = answer.method === "samples" ? "congested" : "stalled";
  return `No root of congestion at this job: ${plural(answer.links_stalled, "link")} of ${answer.links_counted.toLocaleString("en")} counted ${answer.links_stalled === 1 ? "is" : "are"} ${waits}.`;
}

function Tree({ root, ratioWord }: { root: Root; ratioWord: string }) {
  const rows = treeRows(root);
  const worst = Math.max(...rows.map(badness), 0);
  const facts = [
    root.utilisation !== null && `${percent(root.utilisation)} in use`,
    root.confidence !== null && `confidence ${percent(root.confidence)}`,
    `${plural(root.victims_total, "link")} ${root.victims_total === 1 ? "waits" : "wait"} behind it`,
  ];
  return (
    <div className="root-tree">
      <div>
        <strong>{name(root)}</strong> <span className="tag">{root.cause.replaceAll("-", " ")}</span>{" "}
        <span className="muted">{facts.filter(Boolean).join(" · ")}</span>
      </div>
      <div>
        {root.jobs.length ? (
          <>
            Fed by{" "}
            {root.jobs.map((one, i) => (
              <span key={one.job_id}>
                {i > 0 && ", "}
                <Link to="/jobs/$job" params={{ job: one.job_id }}>
                  {[one.job_id, one.name].filter(Boolean).join(" ")}
                </Link>
                {one.share !== null && ` ${percent(one.share)}`}
              </span>
            ))}
          </>
        ) : (
          <span className="muted">The jobs that send most are unknown. {root.jobs_unknown_because}</span>
        )}
      </div>
      {rows.length > 0 && (
        <div className="root-head muted">{root.stalls_per_flit !== null ? ratioWord : "congested packets"}</div>
      )}
      <ol aria-label="Links that wait behind it">
        {rows.map((one) => (
          <li key={one.link} style={{ paddingLeft: 16 * Math.min(one.distance, 8) }}>
            <span className="root-link">{name(one)}</span>
            <span className="root-bar">
              <span style={{ width: `${worst > 0 ? (100 * badness(one)) / worst : 0}%` }} />
            </span>
            <span className="numeric">
              {one.stalls_per_flit !== null ? ratio(one.stalls_per_flit) : percent(one.congested_fraction)}
            </span>
          </li>
        ))}
      </ol>
      <div className="muted">{root.advice}</div>
    </div>
  );
}
