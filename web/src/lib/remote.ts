/** The platform whose machines this page shows: the one that serves it, or below /at/NAME a remote of it, which can only be read. */

/** A remote's name and what stands behind it; null if an address is of no remote's. */
export function splitRemote(pathname: string): { remote: string; place: string } | null {
  const found = /^\/at\/([a-z0-9-]{1,40})(?=\/|$)/.exec(pathname);
  return found && { remote: found[1] as string, place: pathname.slice(found[0].length) || "/" };
}

/** Another platform is another load of the page: nothing of one is taken for the other's. */
const opened = typeof location === "undefined" ? null : splitRemote(location.pathname);
export const REMOTE = opened?.remote ?? null;
/** Before every address of this page. */
export const BASE = REMOTE === null ? "" : `/at/${REMOTE}`;

/** An address without the remote's part. */
export const placeOf = (pathname: string): string => splitRemote(pathname)?.place ?? pathname;

/** Where a remote's machine is shown; without a remote, where one of this platform's own is. */
export const machineHref = (remote: string | null, machine: string): string =>
  `${remote === null ? "" : `/at/${remote}`}/fabric/${encodeURIComponent(machine)}`;

// Who looks, and which platforms there are, is this platform's to say.
const OWN = /^\/(session|users|tokens|audit|remotes)(?=[/?]|$)/;

/** What stands before a path of the API. */
export const apiBase = (path: string, remote: string | null): string =>
  remote === null || OWN.test(path) ? "/api/v1" : `/api/v1/remotes/${remote}`;
