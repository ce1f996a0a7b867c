import { csv, exportFile, parquet, PARQUET, save } from "../lib/tables";
import { originOf } from "../lib/origin";
import type { Column } from "./DataTable";
import { Icon } from "./Icon";
import { Menu, type MenuEntry } from "./choices";

// A table as files (CSV, Parquet), and the request that gives the same figures to a script.

/** Where the figures of a table come from: an address of the API, as `address` writes it. */
export type Source = string;

function cells<R>(rows: R[], columns: Column<R>[]) {
  const kept = columns.filter((column) => !column.acts);
  return {
    header: kept.map((column) => column.header),
    body: rows.map((row) => kept.map((column) => column.value(row))),
  };
}

/** The lines that begin with # say where the figures come from; then header and rows. */
export function saveCsv<R>(name: string, rows: R[], columns: Column<R>[]): void {
  const { header, body } = cells(rows, columns);
  const said = originOf()
    .map(([key, value]) => `# ${key}: ${value}\r\n`)
    .join("");
  save(`${name}.csv`, said + csv(header, body));
}

export async function saveParquet<R>(name: string, rows: R[], columns: Column<R>[]): Promise<void> {
  const { header, body } = cells(rows, columns);
  const file = await parquet(header, body, originOf());
  save(`${name}.parquet`, new Blob([file], { type: PARQUET }));
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
/** For a shell; a site that asks for a login takes a token of the account. */
export const apiLine = (source: Source): string =>
  `curl --fail --silent --show-error \${FLITWATCH_TOKEN:+-H "Authorization: Bearer $FLITWATCH_TOKEN"} ${quoted(location.origin + source)}`;

/** Without a clipboard (plain HTTP) the line is saved. */
export function copyApiLine(name: string, source: Source): void {
  const fallBack = () => save(`${name}.sh`, `${apiLine(source)}\n`, "text/x-shellscript");
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard) clipboard.writeText(apiLine(source)).catch(fallBack);
  else fallBack();
}

interface File<R> {
  /** Of the files, without their ending. */
  name: string;
  /** In the menu, where it has several tables: "Routers". */
  what?: string;
  rows: () => R[] | Promise<R[]>;
  columns: Column<R>[];
  source: Source;
}

/** Entries of a menu for one table. */
export function tableEntries<R>({ name, what = "Table", rows, columns, source }: File<R>): MenuEntry[] {
  return [
    {
      id: `${name} csv`,
      label: `${what} as CSV`,
      onSelect: () => void exportFile(async () => saveCsv(name, await rows(), columns)),
    },
    {
      id: `${name} parquet`,
      label: `${what} as Parquet`,
      onSelect: () => void exportFile(async () => saveParquet(name, await rows(), columns)),
    },
    {
      id: `${name} api`,
      label: what === "Table" ? "Copy the API line" : `Copy the API line: ${what.toLowerCase()}`,
      onSelect: () => copyApiLine(name, source),
    },
  ];
}

interface Props<R> {
  /** Of the file, without its ending. */
  name: string;
  rows: R[];
  columns: Column<R>[];
  source: Source;
}

/** What a table holds, as a file or as the request behind it. */
export function TableExport<R>({ name, rows, columns, source }: Props<R>) {
  return (
    <Menu
      trigger={
        <>
          Export
          <span className="visually-hidden"> {name.replaceAll("-", " ")}</span>
          <Icon name="down" />
        </>
      }
      entries={rows.length ? tableEntries({ name, rows: () => rows, columns, source }) : []}
      empty="Nothing to export"
    />
  );
}
