import type { Column } from "./DataTable";
import { Icon } from "./Icon";
import { Menu } from "./Menu";
import { tableEntries, type Source } from "./tableFile";

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
