// Layout of a small line of step times, with the usual ones behind it; from zero, so that a slow step looks as much longer as it is.
import { line } from "d3-shape";

interface Drawn {
  time: string;
  usual: string;
  /** Where the newest step is. */
  last: [number, number] | null;
}

export function stepLine(time: number[], usual: (number | null)[], width: number, height: number): Drawn {
  const most = Math.max(...time, ...usual.map((value) => value ?? 0), 1e-9);
  const x = (i: number) => (time.length > 1 ? 3 + (i / (time.length - 1)) * (width - 6) : width - 3);
  const y = (value: number) => height - 3 - (value / most) * (height - 6);
  const path = line<number | null>()
    .defined((value) => value !== null)
    .x((_, i) => x(i))
    .y((value) => y(value ?? 0));
  const newest = time.at(-1);
  return {
    time: path(time) ?? "",
    usual: path(usual) ?? "",
    last: newest === undefined ? null : [x(time.length - 1), y(newest)],
  };
}
