import type { Application } from "../../api/estimateShapes";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { plural } from "../../lib/format";

export type Kind = "blame" | "deviation" | "forecast";

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
