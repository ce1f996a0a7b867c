/** A task's result as tables (State): facts, and every list of records with its columns. */
import { count, UNKNOWN } from "../../lib/format";
import { moment, ZONE } from "../../lib/time";

export type Scalar = string | number | boolean | null;
export type Record_ = Record<string, Scalar>;

export interface ResultTables {
  facts: [string, Scalar][];
  tables: { name: string; columns: string[]; rows: Record_[] }[];
}

const isScalar = (value: unknown): value is Scalar =>
  value === null || ["string", "number", "boolean"].includes(typeof value);
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Nested objects become dotted names; nested lists are left to the file. */
function flat(value: Record<string, unknown>, prefix = ""): Record_ {
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

export function resultTables(result: unknown): ResultTables {
  if (!isObject(result)) return { facts: isScalar(result) ? [["result", result]] : [], tables: [] };
  const facts = Object.entries(flat(result));
  const tables = Object.entries(result).flatMap(([name, value]) => {
    if (!Array.isArray(value) || !value.length || !value.every(isObject)) return [];
    const rows = (value as Record<string, unknown>[]).map((row) => flat(row));
    return [{ name, rows, columns: [...new Set(rows.flatMap((row) => Object.keys(row)))] }];
  });
  return { facts, tables };
}

/** Names that no rule makes readable. */
const NAMES: Record<string, string> = {
  at_s: "window ends",
  "beside.jobs": "other jobs",
  "beside.counted": "other jobs with counters",
  "beside.gib_per_s": "other jobs' traffic, GiB/s",
};

/** A key of a result as a person writes it, with its unit: "lost_low_s" -> "lost low, s". */
export const factName = (key: string): string =>
  NAMES[key] ??
  key
    .replace(/(?<!_per)_(ns|us|ms|s|bytes)$/, ", $1")
    .replaceAll(/[_.]/g, " ")
    .replace(", us", ", µs");

export const factText = (key: string, value: Scalar): string =>
  value === null
    ? UNKNOWN
    : typeof value !== "number"
      ? String(value)
      : key === "at_s"
        ? `${moment(value * 1000, Date.now(), true)} ${ZONE}`
        : Number.isInteger(value) || Math.abs(value) >= 1000
          ? count(value)
          : String(Number(value.toPrecision(4)));

// Distributions in a task's result (State): lists of figures by seed, or quartiles, each with the words that tell it from the others. Pure.

export interface Box {
  label: string;
  low: number;
  q1: number;
  median: number;
  q3: number;
  high: number;
  /** The figures themselves, where the result holds them. */
  values: number[];
}

export interface BoxSeries {
  name: string;
  boxes: Box[];
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isNamed = (value: unknown): value is string | number | boolean => isScalar(value) && value !== null;

/** Quantiles by linear interpolation between order statistics (type 7, as NumPy's). */
export function quantile(sorted: number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = Math.floor(at);
  const [a, b] = [sorted[below] ?? NaN, sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN];
  return a + (b - a) * (at - below);
}

function boxOf(label: string, value: unknown): Box | null {
  if (Array.isArray(value)) {
    const values = value.filter(isNumber).sort((a, b) => a - b);
    if (values.length < 2 || values.length !== value.length) return null;
    const at = (share: number) => quantile(values, share);
    return { label, low: at(0), q1: at(0.25), median: at(0.5), q3: at(0.75), high: at(1), values };
  }
  if (!isObject(value) || !isNumber(value.q1) || !isNumber(value.median) || !isNumber(value.q3)) return null;
  return {
    label,
    low: isNumber(value.min) ? value.min : value.q1,
    q1: value.q1,
    median: value.median,
    q3: value.q3,
    high: isNumber(value.max) ? value.max : value.q3,
    values: [],
  };
}

/** What tells the rows of a list apart: scalars that differ between them and are not themselves results (no fractions). */
function labelsOf(rows: Record<string, unknown>[]): string[] {
  if (rows.every((row) => typeof row.label === "string")) return rows.map((row) => String(row.label));
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => {
    const values = rows.map((row) => row[name]).filter(isNamed);
    return (
      new Set(values).size > 1 &&
      values.every(
        (value) => typeof value !== "number" || Number.isInteger(value) || name === "ratio" || name === "scale",
      )
    );
  });
  return rows.map(
    (row, i) =>
      names
        .map((name) => row[name])
        .filter(isNamed)
        .join(", ") || String(i + 1),
  );
}

/** Seconds that are all short are milliseconds: figures without exponents. */
function readable({ name, boxes }: BoxSeries): BoxSeries {
  if (!/_s$/.test(name) || !boxes.every((box) => box.high < 0.1)) return { name, boxes };
  const ms = (value: number) => value * 1e3;
  return {
    name: name.replace(/_s$/, "_ms"),
    boxes: boxes.map((box) => ({
      label: box.label,
      low: ms(box.low),
      q1: ms(box.q1),
      median: ms(box.median),
      q3: ms(box.q3),
      high: ms(box.high),
      values: box.values.map(ms),
    })),
  };
}

export function boxSeries(result: unknown): BoxSeries[] {
  if (!isObject(result)) return [];
  return Object.values(result).flatMap((list) => {
    if (!Array.isArray(list) || list.length < 1 || !list.every(isObject)) return [];
    const labels = labelsOf(list);
    const names = [...new Set(list.flatMap((row) => Object.keys(row)))];
    return names.flatMap((name): BoxSeries[] => {
      const boxes = list.flatMap((row, i) => boxOf(labels[i] ?? "", row[name]) ?? []);
      return boxes.length === list.length ? [readable({ name, boxes })] : [];
    });
  });
}
