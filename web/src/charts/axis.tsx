/** The axes of a line picture, drawn once for all: grid lines with their values, and the labels along the base. */
import type { ReactNode } from "react";
import { axisText } from "../lib/format";

interface ValueAxis {
  ticks: number[];
  /** Pixels of a value. */
  y: (value: number) => number;
  left: number;
  right: number;
  /** Pixels between a label and the grid's left edge. */
  gap?: number;
  text?: (value: number) => string;
  /** The value whose line is drawn stronger. */
  strong?: number;
}

/** One horizontal grid line a value, its label to the left. */
export function ValueAxis({ ticks, y, left, right, gap = 8, text = axisText(ticks), strong }: ValueAxis) {
  return ticks.map((tick) => (
    <g key={tick}>
      <line className={tick === strong ? "grid strong" : "grid"} x1={left} x2={right} y1={y(tick)} y2={y(tick)} />
      <text x={left - gap} y={y(tick) + 4} textAnchor="end">
        {text(tick)}
      </text>
    </g>
  ));
}

interface BaseAxis {
  ticks: number[];
  /** Pixels of a value. */
  x: (value: number) => number;
  /** Baseline of the labels, in pixels. */
  y: number;
  text?: (value: number, index: number) => ReactNode;
  /** From where to where a vertical grid line runs at each label; none without it. */
  grid?: [top: number, bottom: number];
}

/** Pixels of a character, at least. */
const CHARACTER = 6.5;

/** The labels below a picture, each with a vertical grid line where wanted; one that would begin left of the picture begins with it. */
export function BaseAxis({ ticks, x, y, text = axisText(ticks), grid }: BaseAxis) {
  return ticks.map((tick, i) => {
    const label = text(tick, i);
    const cut = typeof label === "string" && x(tick) < (label.length * CHARACTER) / 2;
    return (
      <g key={tick}>
        {grid && <line className="grid" x1={x(tick)} x2={x(tick)} y1={grid[0]} y2={grid[1]} />}
        <text x={cut ? 0 : x(tick)} y={y} textAnchor={cut ? "start" : "middle"}>
          {label}
        </text>
      </g>
    );
  });
}
