/** What counters count, and what counts, in the words of a fabric. On Ethernet a stall is the time in which PFC paused a port, in times of a byte (ADR 1280). */
export interface Words {
  flits: string;
  perSecond: string;
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
  perSecond: "flits per second",
  stalls: "stall cycles",
  ratio: "stalls per flit",
  amount: "stalls per flit",
  unit: "per flit",
};

const ETHERNET = {
  flits: "bytes",
  perSecond: "bytes per second",
  stalls: "byte times paused",
  ratio: "pause ratio",
  amount: "× sending time paused",
  unit: "× sending time",
};

/** Without a fabric, and without its kind, the words are those of a router's flits. */
export function wordsOf(fabric: { technology: string | null; kind?: string } | null): Words {
  const paused = fabric?.technology === "ethernet";
  const kind = fabric?.kind ?? "dragonfly";
  const routes = !paused && (kind === "dragonfly" || kind === "torus");
  return {
    ...(paused ? ETHERNET : CELLS),
    router: routes ? "router" : "switch",
    routers: routes ? "routers" : "switches",
  };
}

/** As the first word of a title. */
export const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const CLASSES: Record<string, string> = { terminal: "processor", dim0: "along x", dim1: "along y", dim2: "along z" };

/** A class of links as people call it. */
export const classText = (name: string): string => CLASSES[name] ?? name;
