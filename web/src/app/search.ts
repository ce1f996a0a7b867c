import * as v from "valibot";
import type { KeySection } from "../lib/keys";
import { Store } from "../lib/store";

// How well a name answers what was typed: exact, then its beginning, a word's beginning, a part, and at last a slip of the keys.

const at = (row: readonly number[], j: number) => row[j] ?? Infinity;

/** Edits between two words, at most `most` of them: a letter missing, too many, or wrong, or two neighbours swapped.
 *
 * Optimal string alignment; Infinity where there are more.
 */
export function slips(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Infinity;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(before, j - 2) + 1);
      row.push(cost);
    }
    [before, last] = [last, row];
  }
  const edits = at(last, b.length);
  return edits <= most ? edits : Infinity;
}

/** Short words allow no slip: almost any other short word is one slip away. */
const allowed = (length: number) => (length < 4 ? 0 : length < 8 ? 1 : 2);

function fuzzy(typed: string, word: string): number {
  const most = allowed(typed.length);
  if (!most) return Infinity;
  // The word may still be incomplete: its beginning is compared, too.
  const lengths = [typed.length - 1, typed.length, typed.length + 1, word.length];
  return Math.min(...lengths.map((length) => slips(typed, word.slice(0, length), most)));
}

/** 0 is the best; null if the name does not answer. */
export function rank(typed: string, name: string): number | null {
  const [query, text] = [typed.trim().toLowerCase(), name.toLowerCase()];
  if (!query) return null;
  if (text === query) return 0;
  if (text.startsWith(query)) return 1;
  const words = text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  if (words.some((word) => word.startsWith(query))) return 2;
  if (text.includes(query)) return 3;
  const each = query.split(/\s+/).map((part) => {
    if (words.some((word) => word.startsWith(part))) return 0;
    return Math.min(Infinity, ...words.map((word) => fuzzy(part, word)));
  });
  const sum = each.reduce((total, one) => total + one, 0);
  return Number.isFinite(sum) ? 4 + sum : null;
}

/** What answers, best first; equals keep their order. */
export function ranked<T>(typed: string, items: readonly T[], nameOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, at: rank(typed, nameOf(item)) }))
    .filter((one): one is { item: T; at: number } => one.at !== null)
    .sort((a, b) => a.at - b.at)
    .map((one) => one.item);
}

// What this browser opened from the search lately; it stays in this browser.

const KEY = "flitwatch-recent";
export const MOST_RECENT = 8;

const shape = v.array(v.object({ title: v.string(), href: v.pipe(v.string(), v.regex(/^\/(?!\/)/)) }));
export type Recent = v.InferOutput<typeof shape>[number];

function kept(): Recent[] {
  try {
    const read = v.safeParse(shape, JSON.parse(localStorage.getItem(KEY) ?? "[]"));
    return read.success ? read.output.slice(0, MOST_RECENT) : [];
  } catch {
    return []; // storage is refused, or holds something else
  }
}

export const recentStore = new Store<Recent[]>(kept());

function keep(recent: Recent[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(recent));
  } catch {
    // storage is refused: the list lasts as long as the page
  }
  recentStore.set(recent);
}

/** The newest first, each once. */
export const withRecent = (recent: Recent[], opened: Recent): Recent[] =>
  [opened, ...recent.filter((one) => one.href !== opened.href)].slice(0, MOST_RECENT);

export const remember = (opened: Recent): void => keep(withRecent(recentStore.get(), opened));

export const forgetRecent = (): void => keep([]);

// What can be done from the search: what the keys of the page do, and ways to other pages.

export interface Action {
  label: string;
  run: () => void;
}

/** Keys that move within a page make no sense from a dialog. */
const MOVES = /^(Arrow|Enter$|Escape$|[jk/?]$|\[$|\]$)/;

/** Each label once: the page's own binding goes before a way to another page. */
export function actionsOf(
  sections: ReadonlyMap<symbol, KeySection>,
  machine: string | null,
  go: (href: string) => void,
): Action[] {
  const bound = [...sections.values()]
    .flatMap((section) => section.bindings)
    .filter((binding) => !binding.silent && !MOVES.test(binding.keys))
    .map(({ label, run }) => ({ label, run }));
  const fabric = machine === null ? "/fabric" : `/fabric/${encodeURIComponent(machine)}`;
  const ways: [string, string][] = [
    ["Hottest links and their jobs", `${fabric}?view=links`],
    ["Difference", `${fabric}?diff=on`],
    ["Replay with another placement", "/lab?replay=on"],
    ["Connect your own data", "/connect"],
    ["Alert rules", "/alerts?view=rules"],
    ["Silences", "/alerts?view=silences"],
    ["Contacts: e-mail addresses for alerts", "/alerts?view=contacts"],
  ];
  const all = [...bound, ...ways.map(([label, href]) => ({ label, run: () => go(href) }))];
  return all.filter((action, at) => all.findIndex((other) => other.label === action.label) === at);
}
