/** The time axis of a fabric page, its table, and both as files. */
import type { Words } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { overviewQuery } from "../../api/queries";
import type { Overview } from "../../api/shapes";
import { TimeBrush } from "../../charts/TimeBrush";
import { useFrame } from "../../charts/Canvas";
import { AlertMe } from "../alerts/AlertMe";
import { type Column, DataTable } from "../../components/DataTable";
import { Dialog } from "../../components/Dialog";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/choices";
import { refused, Unanswered } from "../../components/Notice";
import { captureEntries } from "../../lib/capture";
import { exportFile, PARQUET, save } from "../../lib/tables";
import { count, percent, ratio, si } from "../../lib/format";
import { intervalText, moment, parseTime, ZONE, type TimeWindow, isoTime } from "../../lib/time";
import { useKeys } from "../../lib/keys";
import { overviewPoints, type Clockwork } from "./clockwork";
import { type Play, PlayControls, zoomed as zoomedSpan } from "./playback";
import { address, getBinary } from "../../api/client";
import { copyApiLine, tableEntries } from "../../components/TableExport";

interface Props {
  fabric: number;
  name: string;
  words: Words;
  clock: Clockwork;
  difference: boolean;
  through: number | null;
  stale: boolean;
  onDrag: (window: TimeWindow, comparing: boolean) => void;
  onCommit: (window: TimeWindow, comparing: boolean) => void;
  onPrepare: () => Promise<void>;
  onMark: (at: number) => void;
  play: Play;
  /** Whether the axis was zoomed. */
  zoomed: boolean;
  /** Another axis, or null for the one that the window's length gives. */
  onZoom: (span: TimeWindow | null) => void;
}

/** A wheel that rests this long has chosen its axis. */
const WHEEL_MS = 250;

/** The axis as a wheel turns it: shown at once, and in the address when the wheel rests. */
function useZoom(clock: Clockwork, onZoom: (span: TimeWindow | null) => void) {
  const [turning, setTurning] = useState<TimeWindow | null>(null);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => setTurning(null), [clock.span.from, clock.span.to]);
  const span = turning ?? clock.span;
  const latest = useRef({ span, onZoom });
  useEffect(() => {
    latest.current = { span, onZoom };
  });
  const zoom = useCallback(
    (at: number | null, factor: number) => {
      const { span: shown } = latest.current;
      const next = zoomedSpan(shown, at ?? (clock.window.from + clock.window.to) / 2, factor, clock.edge);
      setTurning(next);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => latest.current.onZoom(next), at === null ? 0 : WHEEL_MS) as unknown as number;
    },
    [clock.window, clock.edge],
  );
  return { span, zoom };
}

interface Row {
  at: string;
  flits: number | null;
  ratio: number | null;
  p50: number | null;
  p95: number | null;
  coverage: number | null;
  happened: string;
}

/** Rows of the axis, each with the changes that fall into its step. */
export function axisRows({ ts, step_s, flits, ratio: ratios, p50, p95, coverage, marks, gaps }: Overview): Row[] {
  return ts.map((at, i) => {
    const from = parseTime(at) ?? 0;
    const to = from + step_s * 1000;
    const within = (time: string | null) => {
      const ms = parseTime(time);
      return ms !== null && ms >= from && ms < to;
    };
    const happened = [
      ...marks.filter((mark) => within(mark.ts)).map((mark) => mark.text),
      ...gaps.filter((gap) => within(gap.from)).map((gap) => `${count(gap.devices)} silent`),
    ].join("; ");
    return {
      at,
      flits: flits[i] ?? null,
      ratio: ratios[i] ?? null,
      p50: p50[i] ?? null,
      p95: p95[i] ?? null,
      coverage: coverage[i] ?? null,
      happened,
    };
  });
}

const columns = (reference: number, words: Words): Column<Row>[] => [
  {
    key: "at",
    header: `Time, ${ZONE}`,
    value: (r) => r.at,
    render: (r) => moment(parseTime(r.at) ?? 0, reference, true),
  },
  { key: "ratio", header: words.ratio, numeric: true, value: (r) => r.ratio, render: (r) => ratio(r.ratio) },
  { key: "p50", header: "median", numeric: true, value: (r) => r.p50, render: (r) => ratio(r.p50) },
  { key: "p95", header: "95th", numeric: true, value: (r) => r.p95, render: (r) => ratio(r.p95) },
  { key: "flits", header: words.flits, numeric: true, value: (r) => r.flits, render: (r) => si(r.flits) },
  { key: "coverage", header: "counted", numeric: true, value: (r) => r.coverage, render: (r) => percent(r.coverage) },
  { key: "happened", header: "Changes", value: (r) => r.happened },
];

export const TimePanel = memo(function TimePanel({
  fabric,
  name,
  words,
  clock,
  difference,
  through,
  stale,
  onDrag,
  onCommit,
  onPrepare,
  onMark,
  play,
  zoomed,
  onZoom,
}: Props) {
  const { span, zoom } = useZoom(clock, onZoom);
  const { toggle } = play;
  useKeys(
    "Time axis",
    useMemo(
      () => [
        { keys: "p", label: "Play, pause", run: toggle },
        { keys: "+", label: "Zoom into the time axis", run: () => zoom(null, 0.5) },
        { keys: "-", label: "Zoom out of the time axis", run: () => zoom(null, 2) },
      ],
      [toggle, zoom],
    ),
  );
  const box = useRef<HTMLElement>(null);
  const [table, setTable] = useState(false);
  const overview = useQuery(overviewQuery(fabric, clock.span, overviewPoints(clock.span.to - clock.span.from)));
  const data = overview.data;
  const shaped = useMemo(
    () => ({
      series: {
        ts: data?.ts.map((t) => parseTime(t) ?? NaN) ?? [],
        stepMs: (data?.step_s ?? 10) * 1000,
        p50: data?.p50 ?? [],
        p95: data?.p95 ?? [],
      },
      marks: data?.marks.map((mark) => ({ ts: parseTime(mark.ts) ?? NaN, text: mark.text })) ?? [],
      gaps:
        data?.gaps.map((gap) => ({
          from: parseTime(gap.from) ?? 0,
          to: parseTime(gap.to) ?? clock.span.to,
          devices: gap.devices,
        })) ?? [],
    }),
    [data, clock.span.to],
  );
  const drag = useFrame(onDrag);
  if (refused([overview]))
    return (
      <div className="card time-panel">
        <Unanswered what="the time axis" asked={[overview]} />
      </div>
    );
  const axis = { from: isoTime(clock.span.from), to: isoTime(clock.span.to) };
  const framesPath = `/fabrics/${fabric}/frames`;
  const saveFrames = async () => {
    const { body } = await getBinary(framesPath, axis, undefined, PARQUET);
    save(`${name}-routers-over-time.parquet`, new Blob([body], { type: PARQUET }));
  };
  const heading = () => ({
    title: `${name}, ${words.ratio} over time`,
    subtitle: `${intervalText(clock.span, clock.span.to)} ${ZONE}`,
  });
  return (
    <section ref={box} className="card time-panel" aria-label="Time" onPointerEnter={() => void onPrepare()}>
      <div className="time-menu">
        <PlayControls
          play={play}
          span={span}
          onZoom={(factor) => zoom(null, factor)}
          onWhole={zoomed ? () => onZoom(null) : undefined}
        />
        <AlertMe
          watched={() => ({
            signal: "stall_ratio",
            where: { fabric: name },
            samples: shaped.series.ts.map((at, i) => ({ at, value: data?.ratio[i] ?? NaN })),
            span: clock.span,
          })}
        />
        <Menu
          trigger={
            <>
              <span className="visually-hidden">Time axis as </span>Table, export
              <Icon name="down" />
            </>
          }
          entries={[
            { id: "table", label: "Show the table", onSelect: () => setTable(true) },
            ...tableEntries({
              name: `${name}-time`,
              rows: () => (data ? axisRows(data) : []),
              columns: columns(clock.span.to, words),
              source: address(`/fabrics/${fabric}/overview`, {
                ...axis,
                points: overviewPoints(clock.span.to - clock.span.from),
              }),
            }),
            {
              id: "routers",
              label: "Every router over time as Parquet",
              onSelect: () => void exportFile(saveFrames),
            },
            {
              id: "routers api",
              label: "Copy the API line: every router over time",
              onSelect: () => copyApiLine(`${name}-routers-over-time`, address(framesPath, axis)),
            },
            ...captureEntries(() => box.current?.querySelector<HTMLElement>(".brush") ?? null, `${name}-time`, heading),
          ]}
        />
      </div>
      <TimeBrush
        unit={words.ratio}
        devices={words.routers}
        span={span}
        series={shaped.series}
        marks={shaped.marks}
        gaps={shaped.gaps}
        window={clock.window}
        comparison={difference ? clock.comparison : null}
        countedShare={data?.counted_share ?? null}
        through={through}
        stale={stale}
        stepMs={clock.stepMs}
        onDrag={drag}
        onCommit={onCommit}
        onMark={onMark}
        playing={play.now}
        onZoom={zoom}
      />
      {table && data && (
        <Dialog
          open
          title={`Over time, ${intervalText(clock.span, clock.span.to)} ${ZONE}`}
          onClose={() => setTable(false)}
        >
          <div className="time-table">
            <DataTable
              label="The machine over time"
              rows={axisRows(data)}
              columns={columns(clock.span.to, words)}
              id={(r) => r.at}
            />
          </div>
        </Dialog>
      )}
    </section>
  );
});
