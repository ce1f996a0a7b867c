/** The order of a table as the address holds it: `nodes` for ascending, `-nodes` for descending. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Sort } from "./DataTable";

export const sortText = ({ key, descending }: Sort): string => (descending ? `-${key}` : key);

/** The order that an address names among those columns, or none. */
export function sortOf(text: string | undefined, keys: string[]): Sort | null {
  const key = text?.replace(/^-/, "");
  return key !== undefined && keys.includes(key) ? { key, descending: text !== key } : null;
}

/** [order, set it]; the page's address must keep `sort`. */
export function useAddressSort(columns: { key: string }[], initial: Sort | null = null): [Sort | null, (sort: Sort) => void] {
  const { sort } = useSearch({ strict: false }) as { sort?: string };
  const navigate = useNavigate();
  const set = useCallback((next: Sort) => void navigate({ to: ".", search: (old: object) => ({ ...old, sort: sortText(next) }), replace: true } as never), [navigate]);
  const order = useMemo(() => sortOf(sort, columns.map((column) => column.key)), [sort, columns]);
  return [order ?? initial, set];
}
