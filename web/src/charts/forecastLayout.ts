/** Steps of a run and the forecast of the next (layout): observed, usual, and the band ahead on one scale. */
import { max, min } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";

type Column = (number | null)[];

export interface ForecastSteps {
  step: number[];
  time: Column;
  usual: Column;
  band: { step: number[]; expected: Column; low: Column; high: Column } | null;
}

const known = (value: number | null | undefined): value is number => value != null && Number.isFinite(value);

export function forecastLayout({ step, time, usual, band }: ForecastSteps, width: number, height: number) {
  const steps = [...step, ...(band?.step ?? [])];
  const values = [time, usual, band?.expected ?? [], band?.low ?? [], band?.high ?? []].flat().filter(known);
  const [low, high] = [min(values) ?? 0, max(values) ?? 1];
  const floor = low > high * 0.4 ? low - (high - low) * 0.15 : 0;
  const first = min(steps) ?? 0;
  const x = scaleLinear()
    .domain([first, Math.max(max(steps) ?? 1, first + 1)])
    .range([44, width - 8]);
  const y = scaleLinear()
    .domain([floor, high + (high - floor) * 0.06 || 1])
    .nice(4)
    .range([height - 24, 8]);
  const draw = (at: number[], column: Column) =>
    line<number | null>()
      .defined(known)
      .x((_, i) => x(at[i] ?? 0))
      .y((value) => y(value ?? 0))(column) ?? "";
  const spread = band
    ? (area<number>()
        .defined((i) => known(band.low[i]) && known(band.high[i]))
        .x((i) => x(band.step[i] ?? 0))
        .y0((i) => y(band.low[i] ?? 0))
        .y1((i) => y(band.high[i] ?? 0))(band.step.map((_, i) => i)) ?? "")
    : "";
  return {
    x,
    y,
    time: draw(step, time),
    usual: draw(step, usual),
    expected: band ? draw(band.step, band.expected) : "",
    spread,
    xTicks: x.ticks(8).filter(Number.isInteger),
    yTicks: y.ticks(4),
  };
}
