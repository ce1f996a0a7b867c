import type { Next } from "../../api/estimateShapes";
import { change, duration, plural } from "../../lib/format";

/** A forecast in one line: time, interval, usual. */
export const nextText = (next: Next): string =>
  `next ${plural(next.ahead, "step")}: ${duration(next.expected_s)} (90 %: ${duration(next.low_s)} to ${duration(next.high_s)}), usual ${duration(next.usual_s)}, ${change(next.slowdown)}`;
