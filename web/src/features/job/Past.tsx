/** The job's time against finished jobs of its like, and its routers' stalls against the machine: for every job, with or without steps. */
import type { Words } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { outlookQuery } from "../../api/estimates";
import type { Outlook } from "../../api/estimateShapes";
import { BaseAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { rangesLayout, ROW } from "../../charts/forecast";
import type { Column } from "../../components/DataTable";
import { refused, Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { count, duration, inWords, plural, ratio } from "../../lib/format";
import { runTimeText } from "../forecast/texts";
import { address } from "../../api/client";

type PastRow = Outlook["past"][number];

const percent = (share: number | null) => (share === null ? "–" : `${Math.round(share * 100)} %`);
const columns: Column<PastRow>[] = [
  { key: "basis", header: "Jobs of the same", value: (p) => p.basis },
  { key: "jobs", header: "jobs", numeric: true, value: (p) => p.jobs, render: (p) => count(p.jobs) },
  { key: "p10", header: "10 %", numeric: true, value: (p) => p.p10_s, render: (p) => duration(p.p10_s) },
  { key: "p50", header: "median", numeric: true, value: (p) => p.p50_s, render: (p) => duration(p.p50_s) },
  { key: "p90", header: "90 %", numeric: true, value: (p) => p.p90_s, render: (p) => duration(p.p90_s) },
  { key: "longer", header: "took longer", numeric: true, value: (p) => p.longer, render: (p) => percent(p.longer) },
];

export function stallsText(stalls: Outlook["stalls"], words: Words): string {
  if (!stalls || stalls.job === null) return `no counters of its ${words.routers}`;
  const above =
    stalls.percentile === null ? "" : `, more than on ${percent(stalls.percentile)} of the machine's ${words.routers}`;
  return `${ratio(stalls.job)} ${words.amount} on its ${plural(stalls.routers, words.router, words.routers)}${above}`;
}

export function Past({ job, cluster, words }: { job: string; cluster: string | null; words: Words }) {
  const answer = useQuery(outlookQuery(job, cluster));
  const outlook = answer.data;
  if (refused([answer]))
    return (
      <section className="card job-note" aria-label="Run time vs earlier runs">
        <Unanswered line what="earlier runs" asked={[answer]} />
      </section>
    );
  // Where no job of its like is over, the verdict says so.
  if (!outlook?.past.some((p) => p.p50_s !== null)) return null;
  return (
    <PictureCard
      title="Run time vs earlier runs"
      name={`job-${job}-past`}
      source={address(`/jobs/${encodeURIComponent(job)}/outlook`)}
      className="job-past"
      rows={outlook.past}
      columns={columns}
      id={(p) => p.basis}
    >
      <Ranges past={outlook.past} elapsed={outlook.elapsed_s} />
      {outlook.stalls && <p className="muted chart-key">{stallsText(outlook.stalls, words)}</p>}
      {outlook.run_time && (
        <p className="muted chart-key" title={outlook.run_time.rests_on ?? undefined}>
          {runTimeText(outlook.run_time)}
          {outlook.run_time.rests_on && ` · rests on ${outlook.run_time.rests_on}`}
        </p>
      )}
    </PictureCard>
  );
}

const LEFT = 190;

function Ranges({ past, elapsed }: { past: PastRow[]; elapsed: number | null }) {
  const [box, size] = useSize();
  const layout = useMemo(
    () =>
      size && size.width > LEFT + 80
        ? rangesLayout(
            past.map((p) => ({ low: p.p10_s, middle: p.p50_s, high: p.p90_s })),
            elapsed,
            LEFT,
            size.width,
          )
        : null,
    [past, elapsed, size],
  );
  return (
    <div ref={box} className="past-box" style={{ height: past.length * ROW + 24 }}>
      {size && layout && (
        <svg
          width={size.width}
          height={layout.height}
          role="img"
          aria-label={`Elapsed ${duration(elapsed)}; ${past.map((p) => `same ${inWords(p.basis)}: ${duration(p.p10_s)} to ${duration(p.p90_s)}, ${plural(p.jobs, "job")}`).join("; ")}`}
        >
          {past.map((p, i) => {
            const row = layout.bars[i];
            if (!row) return null;
            return (
              <g key={p.basis}>
                <text x={LEFT - 10} y={row.y + 15} textAnchor="end">
                  same {p.basis}: {count(p.jobs)}
                </text>
                {row.bar ? (
                  <rect className="spread" x={row.bar.x} y={row.y + 4} width={row.bar.width} height={14} rx={2} />
                ) : (
                  <text x={LEFT} y={row.y + 15}>
                    too few
                  </text>
                )}
                {row.middle !== null && (
                  <line className="middle" x1={row.middle} x2={row.middle} y1={row.y + 2} y2={row.y + 20} />
                )}
              </g>
            );
          })}
          {layout.own !== null && (
            <line className="own" x1={layout.own} x2={layout.own} y1={0} y2={layout.height - 20} />
          )}
          {layout.own !== null && (
            <text
              className="strong"
              x={layout.own}
              y={layout.height - 6}
              textAnchor={layout.own > size.width - 60 ? "end" : "middle"}
            >
              this job: {duration(elapsed)}
            </text>
          )}
          <BaseAxis
            ticks={layout.ticks.filter((tick) => layout.own === null || Math.abs(layout.x(tick) - layout.own) > 80)}
            x={layout.x}
            y={layout.height - 6}
            text={(tick) => duration(tick)}
          />
        </svg>
      )}
    </div>
  );
}
