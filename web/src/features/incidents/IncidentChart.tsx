/** The minutes of an incident: the waiting and the causes' part of it, and the jobs that it slowed on the same time axis. */
import { useMemo } from "react";
import { address } from "../../api/client";
import type { IncidentDetail } from "../../api/incident";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { type Gutters, incidentHeight, incidentLayout, type IncidentTimes, NARROW, WIDE } from "../../charts/timeRows";
import type { Column } from "../../components/DataTable";
import { PictureCard } from "../../components/PictureCard";
import { change, count, cut, ratio } from "../../lib/format";
import { useMedia } from "../../lib/screen";
import { clock, parseTime, ZONE } from "../../lib/time";
import { untilText } from "./words";

type Minute = IncidentDetail["minutes"][number];

const TITLE = "Waiting over time";

const columnsOf = (ratioWord: string): Column<Minute>[] => [
  { key: "at", header: `Minute, ${ZONE}`, value: (m) => m.at, render: (m) => clock(parseTime(m.at) ?? NaN) },
  {
    key: "waiting",
    header: `Waiting, ${ratioWord}`,
    numeric: true,
    value: (m) => m.waiting,
    render: (m) => ratio(m.waiting),
  },
  {
    key: "part",
    header: "Causes' share of the waiting, %",
    numeric: true,
    value: (m) => (m.part === null ? null : 100 * m.part),
    render: (m) => (m.part === null ? "unknown" : Math.round(100 * m.part)),
  },
];

export function IncidentChart({ stored, ratioWord, now }: { stored: IncidentDetail; ratioWord: string; now: number }) {
  const columns = useMemo(() => columnsOf(ratioWord), [ratioWord]);
  const gutters = useMedia("(max-width: 720px)") ? NARROW : WIDE;
  const known = stored.minutes.some((one) => one.part !== null);
  if (!stored.minutes.length)
    return (
      <section className="card incident-part" aria-label={TITLE}>
        <div className="card-head">
          <h2>{TITLE}</h2>
        </div>
        <p className="muted card-note">No minutes of this incident are stored.</p>
      </section>
    );
  return (
    <PictureCard
      title={TITLE}
      name={`incident-${stored.incident_id}`}
      source={address(`/incidents/${stored.incident_id}`)}
      rows={stored.minutes}
      columns={columns}
      id={(m) => m.at}
      className="incident-chart"
      note={`${ratioWord} by minute, on the path of the job that lost most${known ? "" : " · the causes' share is unknown"}`}
    >
      <Picture stored={stored} ratioWord={ratioWord} now={now} gutters={gutters} known={known} />
    </PictureCard>
  );
}

interface PictureProps {
  stored: IncidentDetail;
  ratioWord: string;
  now: number;
  gutters: Gutters;
  known: boolean;
}

function Picture({ stored, ratioWord, now, gutters, known }: PictureProps) {
  const [box, size] = useSize();
  const { left, right, head } = gutters;
  const width = size?.width ?? 0;
  const height = incidentHeight(stored.victims.length, known, gutters);
  const times = useMemo((): IncidentTimes => {
    const began = parseTime(stored.began) ?? 0;
    const end = parseTime(stored.ended) ?? now;
    return {
      span: { from: began, to: end },
      minutes: stored.minutes.map((one) => ({ ...one, at: parseTime(one.at) ?? 0 })),
      quiet: stored.quiet,
      slowed: stored.victims.map((one) => ({ from: parseTime(one.since) ?? began, to: parseTime(one.until) })),
    };
  }, [stored, now]);
  const layout = useMemo(
    () => (width > left + right + 60 ? incidentLayout(times, width, gutters) : null),
    [times, width, gutters, left, right],
  );
  const worst = Math.max(...stored.minutes.map((one) => one.waiting));
  const name = (text: string, unit: string, top: number) => (
    <>
      <text className="name" x={0} y={head ? top - 10 : top + 10}>
        {text}
        {head > 0 && (
          <tspan className="unit" dx="6">
            {unit}
          </tspan>
        )}
      </text>
      {!head && (
        <text x={0} y={top + 26}>
          {unit}
        </text>
      )}
    </>
  );
  return (
    <div ref={box} className="part-rows step-chart" style={{ height }}>
      {layout && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`Waiting of up to ${ratio(worst)} ${ratioWord}, ${stored.quiet === null ? "unknown in a quiet minute" : `${ratio(stored.quiet)} in a quiet minute`}; ${stored.victims.map((one) => `job ${one.job_id} ${change(one.factor)}`).join("; ")}`}
        >
          <rect
            className="slow"
            x={layout.span.x}
            width={layout.span.width}
            y={layout.waiting.top}
            height={layout.bottom - layout.waiting.top}
          />
          {name("Waiting", ratioWord, layout.waiting.top)}
          <ValueAxis ticks={layout.waiting.ticks} y={layout.waiting.y} left={left} right={width - right} />
          {layout.quiet !== null && (
            <>
              <line className="other" x1={left} x2={width - right} y1={layout.quiet} y2={layout.quiet} />
              <text x={width} y={layout.quiet - (head ? 4 : -4)} textAnchor="end">
                quiet {ratio(stored.quiet)}
              </text>
            </>
          )}
          <path className="high" d={layout.waiting.path} />
          {layout.part && (
            <>
              {name("Causes' share", "% of the waiting", layout.part.top)}
              <ValueAxis
                ticks={layout.part.ticks}
                y={layout.part.y}
                left={left}
                right={width - right}
                text={(part) => count(100 * part)}
              />
              <path className="high" d={layout.part.path} />
            </>
          )}
          {stored.victims.map((one, i) => {
            const bar = layout.bars[i];
            if (!bar) return null;
            // Up to its bar, or to its figure where the bar is below it.
            const room = (head ? width - 64 : bar.x) - 8 * one.job_id.length;
            return (
              <g key={one.job_pk}>
                <text className="name" x={0} y={bar.top + 12}>
                  <title>{one.name}</title>
                  {one.job_id}
                  <tspan className="unit" dx="6">
                    {cut(one.name ?? "", Math.floor(room / 7) - 1)}
                  </tspan>
                </text>
                <rect
                  className="incident-bar"
                  x={bar.x}
                  width={bar.width}
                  y={bar.top + (head ? 18 : 4)}
                  height={10}
                  rx={2}
                >
                  <title>{`${one.job_id} until ${untilText(one, now)}`}</title>
                </rect>
                <text className="name alarm" x={width} y={bar.top + 13} textAnchor="end">
                  {change(one.factor)}
                </text>
              </g>
            );
          })}
          <BaseAxis
            ticks={layout.ticks}
            x={layout.x}
            y={height - 5}
            text={(tick) => clock(tick, layout.to - layout.from < 600_000)}
          />
        </svg>
      )}
    </div>
  );
}
