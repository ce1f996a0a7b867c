/** What the application counted in each step, one line per counter on the steps' axis. */
import { useQuery } from "@tanstack/react-query";
import { line } from "d3-shape";
import { useMemo } from "react";
import { runStepsQuery } from "../../api/queries";
import { useSize } from "../../charts/Canvas";
import { firstOf } from "../../charts/steps";
import type { Column as TableColumn } from "../../components/DataTable";
import { PictureCard } from "../../components/PictureCard";
import { cut, plural, si } from "../../lib/format";
import { address } from "../../api/client";

const ROW = 30;
const MOST = 6;
/** Room for a vendor's name at the left and a mean at the right. */
const LEFT = 330;
const RIGHT = 72;
/** With less room than this a counter's name and mean stand above its line. */
const WIDE = 620;
const HIGH_ROW = 46;
/** Mean width of a letter at 12 px. */
const LETTER = 7.5;

type Column = (number | null)[];

const knownOf = (column: Column) => column.filter((v): v is number => v !== null);
export const meanOf = (column: Column): number =>
  knownOf(column).reduce((a, b) => a + b, 0) / Math.max(1, knownOf(column).length);

function spread(column: Column): number {
  const mean = meanOf(column);
  return mean > 0
    ? Math.sqrt(knownOf(column).reduce((sum, v) => sum + (v - mean) ** 2, 0) / knownOf(column).length) / mean
    : 0;
}

/** Counters that move most come first: a constant explains nothing. */
export function liveliest(counters: Record<string, Column>): [string, Column][] {
  return Object.entries(counters)
    .filter(([, column]) => column.some((v) => v !== null && v > 0))
    .sort((a, b) => spread(b[1]) - spread(a[1]));
}

interface Row {
  step: number;
  at: number;
}

/** `steps`: the first of the run, those known at the page's moment. */
export function RunCounters({ run, steps }: { run: number; steps: number[] }) {
  const counters = useQuery(runStepsQuery(run)).data?.counters;
  const all = useMemo(() => (counters ? liveliest(firstOf(counters, steps.length)) : []), [counters, steps]);
  return all.length ? <Counters steps={steps} all={all} run={run} /> : null;
}

function Counters({ steps, all, run }: { steps: number[]; all: [string, Column][]; run: number }) {
  const columns = useMemo(
    () =>
      [
        { key: "step", header: "step", numeric: true, value: (r) => r.step },
        ...all.map(([name, column]): TableColumn<Row> => ({
          key: name,
          header: name,
          numeric: true,
          value: (r) => column[r.at] ?? null,
          render: (r) => si(column[r.at] ?? null),
        })),
      ] satisfies TableColumn<Row>[],
    [all],
  );
  const rows = useMemo(() => steps.map((step, at): Row => ({ step, at })), [steps]);
  return (
    <PictureCard
      title="Counters of each step"
      name={`run-${run}-counters`}
      source={address(`/runs/${run}/steps`)}
      className="job-counters"
      rows={rows}
      columns={columns}
      id={(r) => String(r.at)}
      note={`summed over ranks · ${all.length > MOST ? `the ${MOST} of ${plural(all.length, "counter")} that vary most` : plural(all.length, "counter")} · mean at the right`}
    >
      <Lines all={all.slice(0, MOST)} />
    </PictureCard>
  );
}

function Lines({ all }: { all: [string, Column][] }) {
  const [box, size] = useSize();
  const width = size?.width ?? 0;
  const wide = width >= WIDE;
  const row = wide ? ROW : HIGH_ROW;
  const height = all.length * row;
  const [left, right] = wide ? [LEFT, width - RIGHT] : [0, width];
  const letters = wide ? 46 : Math.floor((width - RIGHT) / LETTER);
  const text = (i: number) => i * row + (wide ? ROW / 2 + 4 : 14);
  return (
    <div ref={box} className="counter-lines" style={{ height }}>
      {right > left + 40 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${plural(all.length, "counter")} in each step; the table lists them`}
        >
          {all.map(([name, column], i) => {
            const most = Math.max(1, ...knownOf(column));
            const [base, scale] = [(i + 1) * row - 3, (wide ? ROW - 6 : HIGH_ROW - 24) / most];
            const path =
              line<number | null>()
                .defined((v) => v !== null)
                .x((_, at) => left + (at / Math.max(1, column.length - 1)) * (right - left))
                .y((v) => base - (v ?? 0) * scale)(column) ?? "";
            return (
              <g key={name}>
                <title>{`${name}: up to ${si(most)} a step`}</title>
                <text className="name" x={0} y={text(i)}>
                  {cut(name, letters)}
                </text>
                <path d={path} />
                <text className="name" x={width} y={text(i)} textAnchor="end">
                  {si(meanOf(column))}
                </text>
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
