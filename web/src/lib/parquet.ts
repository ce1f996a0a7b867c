/** A table as Parquet: numbers as doubles, texts as strings, unknown as null, and where it comes from in the file's metadata. */
import type { Cell } from "./csv";

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
