/** The order of a table as the address holds it: `nodes` for ascending, `-nodes` for descending. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { useOrdered, type Column, type Ordered, type Sort } from "./DataTable";

export const sortText = ({ key, descending }: Sort): string => (descending ? `-${key}` : key);

/** The order that an address names among those columns, or none. */
export function sortOf(text: string | undefined, keys: string[]): Sort | null {
  const key = text?.replace(/^-/, "");
  return key !== undefined && keys.includes(key) ? { key, descending: text !== key } : null;
}

/** The rows in the order of the address; the page's address must keep `sort`. */
export function useAddressOrder<R>(rows: R[], columns: Column<R>[], initial: Sort | null = null): Ordered<R> {
  const { sort } = useSearch({ strict: false }) as { sort?: string };
  const navigate = useNavigate();
  const set = useCallback(
    (next: Sort) =>
      void navigate({ to: ".", search: (old: object) => ({ ...old, sort: sortText(next) }), replace: true } as never),
    [navigate],
  );
  const named = useMemo(
    () =>
      sortOf(
        sort,
        columns.map((column) => column.key),
      ),
    [sort, columns],
  );
  return useOrdered(rows, columns, named ?? initial, set);
}
