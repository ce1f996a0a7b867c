import { Link, useRouterState } from "@tanstack/react-router";
import type { AddressError } from "../lib/address";
import { parseSearch } from "../lib/search";

/** In place of a page whose address says what cannot be shown. */
export function Misaddressed({ error: { message, keys } }: { error: AddressError }) {
  const { pathname, searchStr } = useRouterState({ select: (state) => state.location });
  const rest = Object.entries(parseSearch(searchStr)).filter(([key]) => !keys.includes(key));
  return (
    <div className="notice" role="alert">
      <h1>This address is not valid</h1>
      <p>{message}</p>
      <Link className="button" to={pathname} search={Object.fromEntries(rest) as never}>
        Open the page without this part
      </Link>
    </div>
  );
}
