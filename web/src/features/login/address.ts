/** Where a reader came from, to be led back there; a place of this page only. */
export interface LoginSearch {
  to?: string;
}

const PLACE = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

export function loginSearch(search: Record<string, unknown>): LoginSearch {
  const { to } = search;
  // Undefined by name: the router lays what is returned over what was typed, and a key left out would let the typed text through.
  return { to: typeof to === "string" && PLACE.test(to) && !to.startsWith("/login") ? to : undefined };
}
