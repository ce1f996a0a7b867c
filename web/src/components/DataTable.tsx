/** A sortable table that stays quick with thousands of rows: only the rows in sight are in the document. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { refuseUnless } from "../lib/address";
import type { Cell } from "../lib/tables";
import { useMedia } from "../lib/screen";

// The order of a table as the address holds it: `nodes` for ascending, `-nodes` for descending.

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
  refuseUnless(sort === undefined || named !== null, `No column of this table is called "${sort}".`, "sort");
  return useOrdered(rows, columns, named ?? initial, set);
}

export interface Column<R> {
  key: string;
  header: string;
  numeric?: boolean;
  /** What sorts and what a CSV holds. */
  value: (row: R) => Cell;
  render?: (row: R) => ReactNode;
  /** Buttons, which a file leaves out. */
  acts?: true;
  width?: number;
}

export interface Sort {
  key: string;
  descending: boolean;
}

/** Rows in an order that is held elsewhere: by the table itself, or the page in its address. */
interface Ordered<R> {
  rows: R[];
  sort: Sort | null;
  onSort: (sort: Sort) => void;
}

interface Props<R> {
  label: string;
  columns: Column<R>[];
  id: (row: R) => string;
  current?: string | null;
  onPick?: (row: R) => void;
  onReachEnd?: () => void;
}

function compare(a: Cell, b: Cell): number {
  const missing = (value: Cell) => value == null || (typeof value === "number" && Number.isNaN(value));
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Unknown values come last whichever way the rest is sorted. */
export function sorted<R>(rows: R[], column: Column<R> | undefined, descending: boolean): R[] {
  if (!column) return rows;
  const missing = (row: R) => {
    const value = column.value(row);
    return value == null || (typeof value === "number" && Number.isNaN(value));
  };
  return [...rows].sort((a, b) => {
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    return compare(column.value(a), column.value(b)) * (descending ? -1 : 1);
  });
}

/** Pixels of a row; on a phone it is as high as a finger needs (touch.css). */
const ROW = 28;
const TOUCH_ROW = 44;

interface RowProps<R> {
  row: R;
  index: number;
  columns: Column<R>[];
  current: boolean;
  onPick: ((row: R) => void) | undefined;
}

function PlainRow<R>({ row, index, columns, current, onPick }: RowProps<R>) {
  return (
    <tr
      aria-rowindex={index + 2}
      data-current={current || undefined}
      onClick={onPick && (() => onPick(row))}
      style={onPick && { cursor: "pointer" }}
    >
      {columns.map((column) => (
        <td key={column.key} className={column.numeric ? "numeric" : undefined}>
          {column.render ? column.render(row) : (column.value(row) ?? "–")}
        </td>
      ))}
    </tr>
  );
}

/** Rows that stay in sight while the table is scrolled are not drawn anew: their links alone would take most of a frame. */
const Row = memo(PlainRow) as typeof PlainRow;

/** Rows sorted by a column of theirs. */
function useOrdered<R>(rows: R[], columns: Column<R>[], sort: Sort | null, onSort: (sort: Sort) => void): Ordered<R> {
  const ordered = useMemo(
    () =>
      sorted(
        rows,
        columns.find((column) => column.key === sort?.key),
        sort?.descending ?? false,
      ),
    [rows, columns, sort],
  );
  return useMemo(() => ({ rows: ordered, sort, onSort }), [ordered, sort, onSort]);
}

/** A table that keeps its own order, until it is closed. */
export function DataTable<R>({ rows, ...table }: Props<R> & { rows: R[] }) {
  const [sort, setSort] = useState<Sort | null>(null);
  return <OrderedTable {...table} order={useOrdered(rows, table.columns, sort, setSort)} />;
}

/** A table whose order the page holds: it shows the rows as they come. */
export function OrderedTable<R>({
  label,
  order,
  columns,
  id,
  current = null,
  onPick,
  onReachEnd,
}: Props<R> & { order: Ordered<R> }) {
  const box = useRef<HTMLDivElement>(null);
  const { rows: ordered, sort, onSort } = order;
  const row = useMedia("(max-width: 720px)") ? TOUCH_ROW : ROW;
  const virtual = useVirtualizer({
    count: ordered.length,
    getScrollElement: () => box.current,
    estimateSize: () => row,
    overscan: 12,
  });
  useEffect(() => virtual.measure(), [virtual, row]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1);
  useEffect(() => {
    if (last && last.index >= ordered.length - 20) onReachEnd?.();
  }, [last, ordered.length, onReachEnd]);
  const picked = useRef(onPick);
  useEffect(() => {
    picked.current = onPick;
  });
  const pick = useCallback((row: R) => picked.current?.(row), []);
  const currentAt = current === null ? -1 : ordered.findIndex((row) => id(row) === current);
  // A table opens at its top; from then on moves of the current row by keys or pointer are followed.
  const moved = useRef(false);
  useEffect(() => {
    const note = () => (moved.current = true);
    addEventListener("keydown", note, { capture: true, once: true });
    addEventListener("pointerdown", note, { capture: true, once: true });
    return () => {
      removeEventListener("keydown", note, { capture: true });
      removeEventListener("pointerdown", note, { capture: true });
    };
  }, []);
  useEffect(() => {
    if (moved.current && currentAt >= 0) virtual.scrollToIndex(currentAt, { align: "auto" });
    // Only a move of the current row scrolls; new rows do not.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [current]);

  // With the table in focus, arrows move the current row as `j` and `k` do.
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || event.target !== event.currentTarget || !onPick || currentAt < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = ordered[currentAt + by];
    if (next) onPick(next);
  };
  const toggle = (column: Column<R>) =>
    onSort({ key: column.key, descending: sort?.key === column.key ? !sort.descending : Boolean(column.numeric) });
  const before = items[0]?.start ?? 0;
  const after = last ? virtual.getTotalSize() - last.end : 0;
  return (
    // A box that scrolls must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-static-element-interactions
    <div ref={box} className="data-table" tabIndex={0} onKeyDown={onKeyDown}>
      <table aria-label={label} aria-rowcount={ordered.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => {
              const active = sort?.key === column.key;
              return (
                <th
                  key={column.key}
                  scope="col"
                  className={column.numeric ? "numeric" : undefined}
                  style={{ width: column.width }}
                  aria-sort={active ? (sort.descending ? "descending" : "ascending") : undefined}
                >
                  <button onClick={() => toggle(column)}>
                    {column.header}
                    {active ? (sort.descending ? " ↓" : " ↑") : ""}
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {before > 0 && (
            <tr aria-hidden="true">
              <td colSpan={columns.length} style={{ height: before, border: 0 }} />
            </tr>
          )}
          {items.map((item) => {
            const row = ordered[item.index] as R;
            return (
              <Row
                key={id(row)}
                row={row}
                index={item.index}
                columns={columns}
                current={id(row) === current}
                onPick={onPick && pick}
              />
            );
          })}
          {after > 0 && (
            <tr aria-hidden="true">
              <td colSpan={columns.length} style={{ height: after, border: 0 }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
