/** Tables as CSV (RFC 4180) or Parquet, and files that the reader saves. */
import { Store } from "./store";

export type Cell = string | number | null | undefined;

// A spreadsheet runs a cell that begins like a formula; a leading quote keeps it text.
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: Cell): string {
  if (value == null || (typeof value === "number" && !Number.isFinite(value))) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (header: string[], rows: Cell[][]): string =>
  [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

export function save(name: string, content: Blob | string, type = "text/csv"): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type }) : content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Why the newest file was not saved; null if it was, or nothing was exported on this page. */
export const unsaved = new Store<Error | null>(null);

/** Makes a file and saves it. A file that cannot be made is never silently missing. */
export async function exportFile(make: () => void | Promise<void>): Promise<void> {
  unsaved.set(null);
  try {
    await make();
  } catch (error) {
    // Browsers report code and files that did not load as a TypeError with words of their own.
    const unloaded =
      "The code for this export did not load: the connection is lost, or Flitwatch was updated. Check the connection, reload the page, and export again.";
    const missing = error instanceof TypeError && /import|fetch|load/i.test(error.message);
    unsaved.set(missing ? new Error(unloaded) : error instanceof Error ? error : new Error(String(error)));
  }
}

// A table as Parquet: numbers as doubles, texts as strings, unknown as null, and where it comes from in the file's metadata.

export const PARQUET = "application/vnd.apache.parquet";

const known = (value: Cell) => value != null && !(typeof value === "number" && !Number.isFinite(value));

export async function parquet(header: string[], rows: Cell[][], origin: [string, string][]): Promise<ArrayBuffer> {
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  // Names of columns are unique in Parquet; a picture's table may say "port" twice.
  const names = header.map((name, i) => (header.indexOf(name) === i ? name : `${name} ${i + 1}`));
  return parquetWriteBuffer({
    columnData: names.map((name, c) => {
      const values = rows.map((row) => row[c]);
      const numeric = values.some(known) && values.every((value) => !known(value) || typeof value === "number");
      const data = values.map((value) => (known(value) ? (numeric ? value : String(value)) : null));
      return { name, data, type: numeric ? ("DOUBLE" as const) : ("STRING" as const), nullable: true };
    }),
    kvMetadata: origin.map(([key, value]) => ({ key, value })),
  });
}
