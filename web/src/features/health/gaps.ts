import { parseTime } from "../../lib/time";

/** A gap that reaches to within this of now has not ended: its device is still silent. */
const OPEN_MS = 60_000;

export function isOpen(gap: { to: string | null }, now: number): boolean {
  const to = parseTime(gap.to);
  return to === null || now - to < OPEN_MS;
}
