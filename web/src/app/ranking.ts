/** How well a name answers what was typed: exact, then its beginning, a word's beginning, a part, and at last a slip of the keys. */

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
