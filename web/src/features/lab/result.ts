/** A task's result as tables (State): facts, and every list of records with its columns. Pure. */
type Json = unknown;
export type Scalar = string | number | boolean | null;
export type Record_ = Record<string, Scalar>;

export interface ResultTables {
  facts: [string, Scalar][];
  tables: { name: string; columns: string[]; rows: Record_[] }[];
}

const isScalar = (value: Json): value is Scalar =>
  value === null || ["string", "number", "boolean"].includes(typeof value);
const isObject = (value: Json): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Nested objects become dotted names; nested lists are left to the file. */
function flat(value: Record<string, Json>, prefix = ""): Record_ {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]): [string, Scalar][] =>
      isScalar(inner)
        ? [[prefix + key, inner]]
        : isObject(inner)
          ? Object.entries(flat(inner, `${prefix}${key}.`))
          : [],
    ),
  );
}

export function resultTables(result: Json): ResultTables {
  if (!isObject(result)) return { facts: isScalar(result) ? [["result", result]] : [], tables: [] };
  const facts = Object.entries(flat(result));
  const tables = Object.entries(result).flatMap(([name, value]) => {
    if (!Array.isArray(value) || !value.length || !value.every(isObject)) return [];
    const rows = (value as Record<string, Json>[]).map((row) => flat(row));
    return [{ name, rows, columns: [...new Set(rows.flatMap((row) => Object.keys(row)))] }];
  });
  return { facts, tables };
}
