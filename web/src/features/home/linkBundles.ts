/** The links of an incident as the pages list them: those of one kind between the same groups are one line. */
import type { CarryingLink } from "../../api/incident";
import { count } from "../../lib/format";

export interface LinkBundle {
  label: string;
  /** All of them, as texts of a tooltip, the worst first. */
  names: string[];
  worst: CarryingLink;
}

/** Links come with the worst first, and so do bundles. */
export function linkBundles(links: readonly CarryingLink[]): LinkBundle[] {
  const bundles = new Map<string, CarryingLink[]>();
  for (const link of links) {
    const place =
      link.from_group === link.to_group ? `in g${link.from_group}` : `g${link.from_group} → g${link.to_group}`;
    const key = `${link.link_class} ${place}`;
    const held = bundles.get(key);
    if (held) held.push(link);
    else bundles.set(key, [link]);
  }
  return [...bundles].flatMap(([key, held]) => {
    const [worst] = held;
    if (!worst) return [];
    const label = held.length === 1 ? key : `${count(held.length)} × ${key}`;
    return [{ label, names: held.map((link) => `${link.from_name} to ${link.to_name}`), worst }];
  });
}
