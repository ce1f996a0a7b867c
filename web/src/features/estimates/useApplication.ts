import { useQuery } from "@tanstack/react-query";
import { estimatesQuery } from "../../api/estimates";
import type { Application } from "../../api/estimateShapes";
import { AddressError } from "../../lib/address";
import { plural } from "../../lib/format";
import type { Kind } from "./ApplicationMenu";

/** The application that the address names, else the first one with an estimate. */
export function chosenApplication(
  all: Application[],
  kind: Kind,
  search: { exe?: string; nodes?: number },
): Application | null {
  const named = all.find((one) => one.exe === search.exe && (search.nodes === undefined || one.nodes === search.nodes));
  return named ?? all.find((one) => one[kind].estimate_id !== null) ?? null;
}

export function useApplication(kind: Kind, search: { exe?: string; nodes?: number }) {
  const list = useQuery(estimatesQuery());
  // Files hold no steps: such sets have verdicts, no drivers and no forecast.
  const applications = (list.data?.items ?? []).filter((one) => kind === "blame" || one.source === "runs");
  const chosen = chosenApplication(applications, kind, search);
  const { exe, nodes } = search;
  const unknown =
    exe === undefined || !list.data || (chosen?.exe === exe && (nodes === undefined || chosen.nodes === nodes))
      ? null
      : new AddressError(`No runs of "${exe}"${nodes === undefined ? "" : ` on ${plural(nodes, "node")}`} are known.`, [
          "exe",
          "nodes",
        ]);
  return { list, applications, chosen, unknown };
}
