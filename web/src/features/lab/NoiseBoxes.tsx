/** Times of a collective with and without perturbation as notched boxes (Hoefler 2009, figures 3 and 6). */
import { scaleLog } from "d3-scale";
import { useState } from "react";
import { address } from "../../api/client";
import { ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import type { Column } from "../../components/DataTable";
import { PictureCard } from "../../components/PictureCard";
import { count, fraction, UNKNOWN } from "../../lib/format";
import type { NotchedBox } from "../../api/noise";
import { mediansDiffer, type BoxesOfSeries, type BoxPair } from "./noiseSeries";

const micro = (seconds: number | undefined): string =>
  seconds === undefined ? UNKNOWN : Number((seconds * 1e6).toPrecision(4)).toLocaleString("en");
/** 1, 2 or 5 times a power of ten. */
const round = (value: number): boolean =>
  [1, 2, 5].includes(Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9)));
type Which = "quiet" | "perturbed";
const figures = (which: Which, words: string): Column<BoxPair>[] => [
  {
    key: `${which}-median`,
    header: `median ${words}, µs`,
    numeric: true,
    value: (p) => p[which]?.median ?? null,
    render: (p) => micro(p[which]?.median),
  },
  {
    key: `${which}-notch`,
    header: `its 95 % interval`,
    value: (p) => p[which]?.notch.join(" to ") ?? "",
    render: (p) => (p[which] ? `${micro(p[which].notch[0])} to ${micro(p[which].notch[1])}` : "–"),
  },
  {
    key: `${which}-count`,
    header: "measurements",
    numeric: true,
    value: (p) => p[which]?.measurements ?? 0,
    render: (p) => count(p[which]?.measurements ?? 0),
  },
];
const differ = (pair: BoxPair): string => {
  const answer = mediansDiffer(pair);
  return answer === null ? "cannot tell" : answer ? "yes" : "not shown";
};

interface Props {
  all: BoxesOfSeries[];
  /** Words of the axis, and of a place on it. */
  axis: string;
  text: (x: number) => string;
}

export function NoiseBoxes({ all, axis, text }: Props) {
  const [chosen, setChosen] = useState("");
  const series = all.find((one) => one.name === chosen) ?? all[0];
  if (!series) return null;
  const columns: Column<BoxPair>[] = [
    { key: "x", header: axis, numeric: true, value: (p) => p.x, render: (p) => text(p.x) },
    ...figures("quiet", "alone"),
    ...figures("perturbed", "perturbed"),
    { key: "differ", header: "medians differ", value: differ },
  ];
  return (
    <PictureCard
      title="Times, alone and perturbed"
      note={`${axis} · notch: the median's 95 % interval · whiskers: all measurements`}
      name="noise-boxes"
      source={address("/noise/measured")}
      rows={series.pairs}
      columns={columns}
      id={(p) => String(p.x)}
      className="noise-card noise-boxes-card"
    >
      {all.length > 1 && (
        <label className="noise-choice">
          <span>Series</span>
          <select className="field" value={series.name} onChange={(event) => setChosen(event.target.value)}>
            {all.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        </label>
      )}
      <Picture series={series} axis={axis} text={text} />
    </PictureCard>
  );
}

function Picture({ series, axis, text }: { series: BoxesOfSeries; axis: string; text: (x: number) => string }) {
  const [ref, size] = useSize();
  const boxes = series.pairs.flatMap((pair) => [pair.quiet, pair.perturbed]).filter((one) => one !== null);
  const [left, right, top, bottom] = [56, (size?.width ?? 0) - 14, 10, (size?.height ?? 0) - 24];
  const lows = boxes.flatMap((one) => [one.least, one.notch[0]]).filter((one) => one > 0);
  const y = scaleLog()
    .domain([Math.min(...lows), Math.max(...boxes.flatMap((one) => [one.most, one.notch[1]]))])
    .range([bottom, top])
    .nice();
  const step = (right - left) / Math.max(series.pairs.length, 1);
  const wide = Math.min(26, step / 3);
  return (
    <div ref={ref} className="chart-box noise-box">
      {size && size.width > 160 && size.height > 90 && boxes.length > 0 && (
        <svg
          width={size.width}
          height={size.height}
          role="img"
          aria-label={`times of ${series.name} by ${axis}, alone and perturbed; the table lists medians and their intervals`}
        >
          <ValueAxis
            ticks={y.ticks().filter(round)}
            y={y}
            left={left}
            right={right}
            gap={6}
            text={(one) => `${micro(one)} µs`}
          />
          {series.pairs.map((pair, i) => {
            const middle = left + (i + 0.5) * step;
            return (
              <g key={pair.x}>
                <text x={middle} y={bottom + 16} textAnchor="middle">
                  {text(pair.x)}
                </text>
                {pair.quiet && <Notched box={pair.quiet} x={middle - wide * 0.65} wide={wide} y={y} kind="quiet" />}
                {pair.perturbed && (
                  <Notched box={pair.perturbed} x={middle + wide * 0.65} wide={wide} y={y} kind="perturbed" />
                )}
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}

interface NotchedProps {
  box: NotchedBox;
  x: number;
  wide: number;
  y: (value: number) => number;
  kind: Which;
}

function Notched({ box, x, wide, y, kind }: NotchedProps) {
  const [out, waist] = [wide / 2, wide / 4];
  // A notch may reach beyond the box: the outline folds back, as in other programs.
  const low = Math.max(box.notch[0], box.least, Number.MIN_VALUE);
  const high = Math.min(box.notch[1], box.most);
  const outline = [
    [x - out, y(box.q1)],
    [x + out, y(box.q1)],
    [x + out, y(low)],
    [x + waist, y(box.median)],
    [x + out, y(high)],
    [x + out, y(box.q3)],
    [x - out, y(box.q3)],
    [x - out, y(high)],
    [x - waist, y(box.median)],
    [x - out, y(low)],
  ];
  return (
    <g className={`notched notched-${kind}`}>
      <title>{`${kind === "quiet" ? "alone" : "perturbed"}: median ${micro(box.median)} µs (${micro(box.notch[0])} to ${micro(box.notch[1])}), quartiles ${micro(box.q1)} to ${micro(box.q3)}, ${fraction(box.measurements)} measurements`}</title>
      <line x1={x} x2={x} y1={y(box.least)} y2={y(box.q1)} />
      <line x1={x} x2={x} y1={y(box.q3)} y2={y(box.most)} />
      <polygon points={outline.map((one) => one.join(",")).join(" ")} />
      <line className="notched-median" x1={x - waist} x2={x + waist} y1={y(box.median)} y2={y(box.median)} />
    </g>
  );
}
