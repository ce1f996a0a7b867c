/** CSV by RFC 4180, and files that the reader saves. */
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
