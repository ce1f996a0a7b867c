import type { Application } from "../../api/estimateShapes";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { plural } from "../../lib/format";

export type Kind = "blame" | "deviation" | "forecast";

export const applicationText = ({ exe, nodes }: { exe: string; nodes: number }) => `${exe} on ${plural(nodes, "node")}`;

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
      empty="No run with steps is recorded"
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
        detail: one[kind].estimate_id === null ? (one[kind].lacks ?? "not yet estimated") : plural(one.runs, "run"),
        onSelect: () => onChoose(one),
      }))}
    />
  );
}
