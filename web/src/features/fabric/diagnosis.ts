// The API's causes of congestion and its rulings, in the page's words.
import type { Roots } from "../../api/roots";
import { plural } from "../../lib/format";

export const CAUSES: Record<string, string> = {
  "full-link": "A link is full",
  "full-endpoint": "Several send to one node",
  "slow-endpoint": "A node receives too slowly",
  "background-traffic": "Other traffic",
  "communication-pattern": "Communication pattern",
  "mapping-or-bandwidth": "Mapping or bandwidth",
  "static-routes": "Static routes",
};

export const RULINGS: Record<string, string> = { in: "Yes.", out: "No.", "cannot tell": "Cannot tell." };

export function titleOf(told: Pick<Roots, "verdict" | "roots" | "links_stalled">): string {
  const [root] = told.roots;
  if (told.verdict === "cannot tell") return "Cannot tell where congestion begins";
  if (!root) return told.links_stalled > 0 ? "No root of congestion" : "No link is congested";
  const more = told.roots.length - 1;
  return `Congestion begins at ${root.src_name} → ${root.dst_name}${more > 0 ? ` and ${plural(more, "more place")}` : ""}`;
}
