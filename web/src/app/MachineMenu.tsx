/** The machine that is shown, and the others: this platform's and those of its remotes. */
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ownFabricsQuery, remotesQuery } from "../api/queries";
import type { Fabric, Remote } from "../api/shapes";
import { Icon } from "../components/Icon";
import { Menu, type MenuEntry } from "../components/Menu";
import { machineHref, REMOTE } from "../lib/remote";
import { devices } from "../machine/scene";

interface Props {
  machine: Fabric | null;
  machines: UseQueryResult<{ items: Fabric[] }>;
}

type Listed = Pick<Fabric, "name" | "kind" | "routers" | "simulated" | "snapshot">;

const detailOf = (machine: Listed): string =>
  `${devices(machine)}${machine.simulated ? " · simulated" : ""}${machine.snapshot ? " · one sample" : ""}`;

/** Machines of another platform than the one that is shown, or the reason why there are none. */
function entriesOf(remote: string | null, machines: Listed[], problem: string | null): MenuEntry[] {
  if (problem !== null)
    return [{ id: `${remote} problem`, label: remote, detail: problem, disabled: true, onSelect: () => undefined }];
  return machines.map((machine) => ({
    id: `${remote} ${machine.name}`,
    label: remote === null ? machine.name : `${machine.name} at ${remote}`,
    detail: detailOf(machine),
    onSelect: () => location.assign(machineHref(remote, machine.name)),
  }));
}

export function MachineMenu({ machine, machines }: Props) {
  const navigate = useNavigate();
  const fabrics = machines.data?.items;
  const remotes = useQuery(remotesQuery());
  const own = useQuery({ ...ownFabricsQuery(), enabled: REMOTE !== null });
  const shown: MenuEntry[] = (fabrics ?? []).map((fabric) => ({
    id: String(fabric.id),
    label: REMOTE === null ? fabric.name : `${fabric.name} at ${REMOTE}`,
    detail: detailOf(fabric),
    onSelect: () => void navigate({ to: "/fabric/$fabric", params: { fabric: fabric.name } }),
  }));
  const others = (remotes.data?.items ?? [])
    .filter((remote: Remote) => remote.name !== REMOTE)
    .flatMap((remote) => entriesOf(remote.name, remote.machines, remote.problem));
  const unread: MenuEntry[] = remotes.error
    ? [
        {
          id: "remotes",
          label: "Other platforms",
          detail: remotes.error.message,
          disabled: true,
          onSelect: () => undefined,
        },
      ]
    : [];
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
          {REMOTE !== null && <span className="tag">at {REMOTE}, read only</span>}
          {machine?.simulated && <span className="tag machine-kind">simulated</span>}
          <Icon name="down" />
        </>
      }
      entries={[
        ...(REMOTE === null ? shown : entriesOf(null, own.data?.items ?? [], null)),
        ...(REMOTE === null ? [] : shown),
        ...others,
        ...unread,
      ]}
    />
  );
}
