/** Where an export comes from: every file says its machine, its window, when it was written, what it does not say, and the address that shows the same. */
import { useEffect } from "react";
import { stringifySearch } from "./address";
import { isoTime, type TimeWindow } from "./time";

export interface Origin {
  machine: string;
  simulated: boolean;
  /** What the page shows; null if it lists all that is known. */
  window: TimeWindow | null;
  /** What the address has to hold in addition, so that it shows the same later on. */
  search?: () => Record<string, string | number | undefined>;
}

/** What the figures of a page must not be taken for, by the beginning of its address. */
const CAVEATS: [string, string][] = [
  ["/jobs/", "Presence alongside a slow job is based on traffic and time; it does not prove the cause."],
  ["/incidents", "An incident names jobs from traffic and time; it does not prove the cause."],
  ["/blame", "Blame shows which jobs coincide with slow runs; it does not prove the cause."],
  ["/drivers", "Counters that predict slow steps do not necessarily cause them."],
  ["/forecast", "A forecast holds within its interval, and only while the machine behaves as before."],
  ["/lab", "Simulated results apply to the model, and to the machine only if the model is accurate."],
  ["/advice", "Predicted savings hold for the traffic that was counted."],
  ["/fabric", "Routers and links without counters are unknown, not zero."],
];
const CAVEAT = "An empty cell is unknown, not zero.";

/** The machine in the top bar, and what the page that is open says of itself. */
let machine: Pick<Origin, "machine" | "simulated"> | null = null;
let page: Origin | null = null;

export function useMachineOfExports(name: string | null, simulated: boolean): void {
  useEffect(() => {
    machine = name === null ? null : { machine: name, simulated };
  }, [name, simulated]);
}

export function useOrigin(origin: Origin | null): void {
  useEffect(() => {
    page = origin;
    return () => {
      page = null;
    };
  });
}

/** "Name: value" for each thing that a file says of itself. */
export function originOf(now = Date.now()): [string, string][] {
  const shown = page ?? machine;
  const { pathname, search, origin } = location;
  const held = page?.search ? { ...Object.fromEntries(new URLSearchParams(search)), ...page.search() } : null;
  const said = CAVEATS.find(([path]) => pathname.startsWith(path))?.[1];
  const lines: [string, string][] = [
    ["Machine", shown ? shown.machine : "none"],
    [
      "Window",
      page?.window
        ? `${isoTime(Math.round(page.window.from / 1000) * 1000)} to ${isoTime(Math.round(page.window.to / 1000) * 1000)}`
        : "all rows of the page",
    ],
    ["Exported", isoTime(Math.floor(now / 1000) * 1000)],
    ["Caveat", `${shown?.simulated ? "Simulated data. " : ""}${said ?? CAVEAT}`],
    ["Address", `${origin}${pathname}${held ? stringifySearch(held) : search}`],
  ];
  // A line of a file ends where it ends, whatever a machine is called.
  return lines.map(([name, value]) => [name, value.replace(/\s+/g, " ")]);
}
