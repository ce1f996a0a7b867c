/** What this browser opened from the search lately; it stays in this browser. */
import * as v from "valibot";
import { Store } from "../lib/store";

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
