/** What counters count, and what counts, in the words of a fabric (`flitwatch_domain.counters.units` has the same). On InfiniBand data are words of 4 bytes. On Ethernet a stall is the time in which PFC paused a port, in times of a byte (ADR 0047). */
export interface Words {
  flits: string;
  stalls: string;
  ratio: string;
  /** Behind a number: 0.80 stalls per flit. */
  amount: string;
  /** Behind a ratio that is named already. */
  unit: string;
  router: string;
  routers: string;
}

const CELLS = {
  flits: "flits",
  stalls: "stall cycles",
  ratio: "stalls per flit",
  amount: "stalls per flit",
  unit: "per flit",
};

const WORDS = {
  flits: "words",
  stalls: "word times stalled",
  ratio: "stalls per word",
  amount: "stalls per word",
  unit: "per word",
};

const BYTES = {
  flits: "bytes",
  stalls: "byte times stalled",
  ratio: "stalls per byte",
  amount: "stalls per byte",
  unit: "per byte",
};

const ETHERNET = {
  flits: "bytes",
  stalls: "byte times paused",
  ratio: "pause ratio",
  amount: "× sending time paused",
  unit: "× sending time",
};

const OF: Record<string, typeof CELLS> = { ethernet: ETHERNET, infiniband: WORDS, slingshot: BYTES };

/** Without a fabric, and without its kind, the words are those of a router's flits. */
export function wordsOf(fabric: { technology: string | null; kind?: string } | null): Words {
  const paused = fabric?.technology === "ethernet";
  const kind = fabric?.kind ?? "dragonfly";
  const routes = !paused && (kind === "dragonfly" || kind === "torus");
  return {
    ...(OF[fabric?.technology ?? ""] ?? CELLS),
    router: routes ? "router" : "switch",
    routers: routes ? "routers" : "switches",
  };
}

/** As the first word of a title. */
export const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const CLASSES: Record<string, string> = { terminal: "processor", dim0: "along x", dim1: "along y", dim2: "along z" };

/** A class of links as people call it. */
export const classText = (name: string): string => CLASSES[name] ?? name;
