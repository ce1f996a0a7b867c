/** What can be done from the search: what the keys of the page do, and ways to other pages. */
import type { KeySection } from "../lib/keys";

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
