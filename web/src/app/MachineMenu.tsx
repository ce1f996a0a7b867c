/** The machine that is shown, and the platform's others. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Fabric } from "../api/shapes";
import { Icon } from "../components/Icon";
import { Menu, type MenuEntry } from "../components/Menu";
import { devices } from "../machine/scene";

interface Props {
  machine: Fabric | null;
  machines: UseQueryResult<{ items: Fabric[] }>;
}

const detailOf = (machine: Fabric): string =>
  `${devices(machine)}${machine.simulated ? " · simulated" : ""}${machine.snapshot ? " · one sample" : ""}`;

export function MachineMenu({ machine, machines }: Props) {
  const navigate = useNavigate();
  const fabrics = machines.data?.items;
  const shown: MenuEntry[] = (fabrics ?? []).map((fabric) => ({
    id: String(fabric.id),
    label: fabric.name,
    detail: detailOf(fabric),
    onSelect: () => void navigate({ to: "/fabric/$fabric", params: { fabric: fabric.name } }),
  }));
  return (
    <Menu
      heading="Machines"
      empty={fabrics ? "No machines yet" : machines.error ? machines.error.message : "Loading the machines…"}
      trigger={
        <>
          <span className="visually-hidden">Machine </span>
          <span className="ellipsis">
            {machine?.name ?? (fabrics ? "no machine" : machines.error ? "machines unknown" : "…")}
          </span>
          {machine?.simulated && <span className="tag machine-kind">simulated</span>}
          <Icon name="down" />
        </>
      }
      entries={shown}
    />
  );
}
