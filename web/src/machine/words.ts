/** What counters count, in the words of a fabric's technology. On Ethernet a stall is the time in which PFC paused a port, in microseconds (ADR 1180). */
export interface Words {
  flits: string;
  perSecond: string;
  stalls: string;
  ratio: string;
  /** Behind a ratio. */
  unit: string;
}

const CELLS: Words = {
  flits: "flits",
  perSecond: "flits per second",
  stalls: "stall cycles",
  ratio: "stalls per flit",
  unit: "per flit",
};

const ETHERNET: Words = {
  flits: "bytes",
  perSecond: "bytes per second",
  stalls: "µs paused",
  ratio: "pause, µs/byte",
  unit: "µs/byte",
};

export const wordsOf = (fabric: { technology: string | null } | null): Words =>
  fabric?.technology === "ethernet" ? ETHERNET : CELLS;

const CLASSES: Record<string, string> = { terminal: "processor", dim0: "along x", dim1: "along y", dim2: "along z" };

/** A class of links as people call it. */
export const classText = (name: string): string => CLASSES[name] ?? name;
