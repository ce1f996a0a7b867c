/** Display modes in the address: pages in a portal's frame (`embed`), and wall displays whose pages take turns (`wall=SECONDS`). */
import { Store } from "./store";

/** Whether this visit shows the page inside a portal's: its address began with `embed`. A way taken within the frame keeps it, for the frame is loaded once. */
const embedded = new URLSearchParams(globalThis.location?.search ?? "").has("embed");

export function isEmbedded(): boolean {
  return embedded;
}

/** The same page outside of the frame. */
export function whole(address: string): string {
  const [path = "/", search = ""] = address.split("?");
  const rest = new URLSearchParams(search);
  rest.delete("embed");
  return rest.size > 0 ? `${path}?${rest}` : path;
}

/** Seconds that each page is shown for, where the address names none. */
export const PACE_S = 30;
const [LEAST_S, MOST_S] = [5, 3600];
/** After a key, a touch or a move of the pointer the page stays for so long. */
export const REST_MS = 120_000;

/** Seconds for each page; null outside of the wall's mode. */
export function paceOf(search: string): number | null {
  const asked = new URLSearchParams(search).get("wall");
  if (asked === null) return null;
  const seconds = Number(asked);
  return asked !== "" && Number.isFinite(seconds) ? Math.max(LEAST_S, Math.min(MOST_S, seconds)) : PACE_S;
}

export const wallStore = new Store<number | null>(paceOf(globalThis.location?.search ?? ""));

export interface WallPage {
  label: string;
  /** Without the server's part. */
  href: string;
}

/** What a wall shows of a machine, in turn. */
export function wallPages(machine: { name: string; kind: string; snapshot: boolean } | null): WallPage[] {
  if (!machine) return [{ label: "Home", href: "/" }];
  const fabric = `/fabric/${encodeURIComponent(machine.name)}`;
  const pictures =
    machine.kind === "fat_tree"
      ? [{ label: "Tree", href: fabric }]
      : [
          { label: "Routers", href: `${fabric}?view=tiles` },
          ...(machine.kind === "dragonfly" ? [{ label: "Ring", href: `${fabric}?view=ring` }] : []),
        ];
  return [
    { label: "Home", href: "/" },
    ...pictures,
    { label: "Hottest links", href: `${fabric}?view=links` },
    { label: "Jobs", href: "/jobs?state=RUNNING" },
    { label: "Forecast", href: "/forecast" },
    { label: "Alerts", href: "/alerts" },
  ];
}

/** The page after this one; a page that is not among them is followed by the first. */
export const pageAfter = (pages: WallPage[], at: number): number => (at + 1) % Math.max(1, pages.length);
