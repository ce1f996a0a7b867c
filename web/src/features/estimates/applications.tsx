import { useQuery } from "@tanstack/react-query";
import type { Application } from "../../api/estimateShapes";
import { estimatesQuery } from "../../api/estimates";
import { fabricsQuery } from "../../api/queries";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/choices";
import { Empty } from "../../components/Notice";
import { refuseUnless } from "../../lib/address";
import { plural } from "../../lib/format";

type Kind = "blame" | "deviation" | "forecast";

/** Runs from files may be on any number of nodes: 0. */
export const applicationText = ({ exe, nodes }: { exe: string; nodes: number }) =>
  nodes === 0 ? exe : `${exe} on ${plural(nodes, "node")}`;
/** How many runs, and where they are from. */
export const runsText = ({ runs, source }: Pick<Application, "runs" | "source">) =>
  `${plural(runs, "run")}${source === "files" ? " from files" : ""}`;

interface Props {
  applications: Application[];
  kind: Kind;
  chosen: { exe: string; nodes: number } | null;
  onChoose: (application: Application) => void;
}

/** Instrumented applications by size; those without an estimate say what they lack. */
export function ApplicationMenu({ applications, kind, chosen, onChoose }: Props) {
  return (
    <Menu
      heading="Application and size"
      empty="No runs with steps yet"
      trigger={
        <>
          <span className="visually-hidden">Application </span>
          <span className="ellipsis">{chosen ? applicationText(chosen) : "Application"}</span>
          <Icon name="down" />
        </>
      }
      entries={applications.map((one) => ({
        id: `${one.exe} ${one.nodes}`,
        label: <span className="ellipsis">{applicationText(one)}</span>,
        detail: one[kind].estimate_id === null ? (one[kind].lacks ?? "not yet estimated") : runsText(one),
        onSelect: () => onChoose(one),
      }))}
    />
  );
}

export interface Lack {
  exe: string;
  nodes: number;
  runs: number;
  lacks: string | null;
}

/** Instead of a result: what is missing until there can be one. */
export function Lacking({ what, all }: { what: string; all: Lack[] }) {
  if (!all.length) {
    return (
      <Empty title={`No results for ${what} yet`}>
        There are no runs with recorded steps. Import AriesNCL output with <code>flitwatch import ncl DIR</code>, or
        collect it continuously with <code>flitwatch collect ncl</code>.
      </Empty>
    );
  }
  return (
    <div className="notice lacking">
      <h2>Not enough data for {what} yet</h2>
      <ul>
        {all.slice(0, 12).map((one) => (
          <li key={`${one.exe} ${one.nodes}`}>
            {applicationText(one)}: {one.lacks ?? "a worker will compute it soon"}
          </li>
        ))}
      </ul>
      <p>Estimates are computed automatically once enough runs are recorded.</p>
    </div>
  );
}

/** The application that the address names, else the first one with an estimate. */
export function chosenApplication(
  all: Application[],
  kind: Kind,
  search: { exe?: string; nodes?: number },
): Application | null {
  const named = all.find((one) => one.exe === search.exe && (search.nodes === undefined || one.nodes === search.nodes));
  return named ?? all.find((one) => one[kind].estimate_id !== null) ?? null;
}

/** Where there are several machines: estimates are of applications, wherever these ran, and not of the machine in the top bar. */
export function useScope(): string {
  return (useQuery(fabricsQuery()).data?.items.length ?? 0) > 1 ? " · all machines" : "";
}

export function useApplication(kind: Kind, search: { exe?: string; nodes?: number }) {
  const list = useQuery(estimatesQuery());
  // Files hold no steps: such sets have verdicts, no drivers and no forecast.
  const applications = (list.data?.items ?? []).filter((one) => kind === "blame" || one.source === "runs");
  const chosen = chosenApplication(applications, kind, search);
  const { exe, nodes } = search;
  refuseUnless(
    exe === undefined ||
      list.isFetching ||
      !list.data ||
      (chosen?.exe === exe && (nodes === undefined || chosen.nodes === nodes)),
    `No runs of "${exe}"${nodes === undefined ? "" : ` on ${plural(nodes, "node")}`} are known.`,
    "exe",
    "nodes",
  );
  return { list, applications, chosen };
}
