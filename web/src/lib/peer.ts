/** The platform whose machines this page shows: the one that serves it, or below /at/NAME a peer of it, which can only be read. */

/** A peer's name and what stands behind it; null where an address is of no peer's. */
export function splitPeer(pathname: string): { peer: string; place: string } | null {
  const found = /^\/at\/([a-z0-9-]{1,40})(?=\/|$)/.exec(pathname);
  return found && { peer: found[1] as string, place: pathname.slice(found[0].length) || "/" };
}

/** Another platform is another load of the page: nothing of one is taken for the other's. */
const opened = typeof location === "undefined" ? null : splitPeer(location.pathname);
export const PEER = opened?.peer ?? null;
/** Before every address of this page. */
export const BASE = PEER === null ? "" : `/at/${PEER}`;

/** An address without the peer's part. */
export const placeOf = (pathname: string): string => splitPeer(pathname)?.place ?? pathname;

/** Where a peer's machine is shown; without a peer, where one of this platform's own is. */
export const machineHref = (peer: string | null, machine: string): string =>
  `${peer === null ? "" : `/at/${peer}`}/fabric/${encodeURIComponent(machine)}`;

// Who looks, and which platforms there are, is this platform's to say.
const OWN = /^\/(session|users|tokens|audit|peers)(?=[/?]|$)/;

/** What stands before a path of the API. */
export const apiBase = (path: string, peer: string | null): string =>
  peer === null || OWN.test(path) ? "/api/v1" : `/api/v1/peers/${peer}`;
