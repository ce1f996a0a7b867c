import { save } from "../lib/csv";
import { tableCsv, type Column } from "./DataTable";

interface Props<R> {
  /** Of the file, without its ending. */
  name: string;
  rows: R[];
  columns: Column<R>[];
}

/** What a table holds, as a file. */
export function CsvButton<R>({ name, rows, columns }: Props<R>) {
  return (
    <button
      className="button"
      onClick={() => save(`${name}.csv`, tableCsv(rows, columns))}
      disabled={!rows.length}
      aria-label={`Export CSV: ${name}`}
    >
      Export CSV
    </button>
  );
}
