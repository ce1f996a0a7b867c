// Measures of the time axis that its parts share, in pixels.
import type { TimeWindow } from "../lib/time";

export const HEIGHT = 118;
export const TOP = 26;
export const BOTTOM = 92;
/** Where the axis begins, and how much before the right edge it ends. */
export const LEFT = 40;
export const RIGHT = 4;

/** Time in which this many devices sent nothing. */
export interface GapSpan extends TimeWindow {
  devices: number;
}
