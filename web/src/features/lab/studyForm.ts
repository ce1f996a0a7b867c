/** The form of a study: a field for each parameter that the study's own model takes, and what the filled-in form sends (State). Pure. */
import parametersOf from "../../api/generated/studies.json";

export interface StudyField {
  name: string;
  type: "integer" | "number" | "string" | "boolean" | "choices" | "numbers";
  choices?: string[];
  least?: number;
  most?: number;
  usual?: string | number | boolean;
  says?: string;
}

/** Field name -> what was typed or chosen; empty: the study's own. */
export type Typed = Record<string, string | string[]>;

/** Fields of a study that the API knows; none of any other. Threads are the worker's. */
export const fieldsOf = (study: string): StudyField[] =>
  ((parametersOf as Record<string, StudyField[]>)[study] ?? []).filter((field) => field.name !== "threads");

const listed = (text: string): number[] =>
  text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);

/** Parameters of the task: only fields that were filled in, each of its type. */
export function parametersFrom(fields: StudyField[], typed: Typed): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const { name, type } of fields) {
    const value = typed[name];
    if (value === undefined || value.length === 0) continue;
    if (Array.isArray(value)) sent[name] = value;
    else if (type === "numbers") sent[name] = listed(value);
    else if (type === "boolean") sent[name] = value === "true";
    else sent[name] = type === "string" ? value : Number(value);
  }
  return sent;
}

/** "load_gib_per_s" -> "Load, GiB/s". */
export function fieldLabel(name: string): string {
  const words = name
    .replace(/_gib_per_s$/, ", GiB/s")
    .replace(/_bytes$/, ", bytes")
    .replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
