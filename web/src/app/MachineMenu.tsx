/** The machine that is shown, and the others: this platform's and those of its peers. */
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ownFabricsQuery, peersQuery } from "../api/queries";
import type { Fabric, Peer } from "../api/shapes";
import { Icon } from "../components/Icon";
import { Menu, type MenuEntry } from "../components/Menu";
import { machineHref, PEER } from "../lib/peer";
import { devices } from "../machine/scene";

interface Props {
  machine: Fabric | null;
  machines: UseQueryResult<{ items: Fabric[] }>;
}

type Listed = Pick<Fabric, "name" | "kind" | "routers" | "simulated" | "snapshot">;

const detailOf = (machine: Listed): string =>
  `${devices(machine)}${machine.simulated ? " · simulated" : ""}${machine.snapshot ? " · one sample" : ""}`;

/** Machines of another platform than the one that is shown, or the reason why there are none. */
function entriesOf(peer: string | null, machines: Listed[], problem: string | null): MenuEntry[] {
  if (problem !== null)
    return [{ id: `${peer} problem`, label: peer, detail: problem, disabled: true, onSelect: () => undefined }];
  return machines.map((machine) => ({
    id: `${peer} ${machine.name}`,
    label: peer === null ? machine.name : `${machine.name} at ${peer}`,
    detail: detailOf(machine),
    onSelect: () => location.assign(machineHref(peer, machine.name)),
  }));
}

export function MachineMenu({ machine, machines }: Props) {
  const navigate = useNavigate();
  const fabrics = machines.data?.items;
  const peers = useQuery(peersQuery());
  const own = useQuery({ ...ownFabricsQuery(), enabled: PEER !== null });
  const shown: MenuEntry[] = (fabrics ?? []).map((fabric) => ({
    id: String(fabric.id),
    label: PEER === null ? fabric.name : `${fabric.name} at ${PEER}`,
    detail: detailOf(fabric),
    onSelect: () => void navigate({ to: "/fabric/$fabric", params: { fabric: fabric.name } }),
  }));
  const others = (peers.data?.items ?? [])
    .filter((peer: Peer) => peer.name !== PEER)
    .flatMap((peer) => entriesOf(peer.name, peer.machines, peer.problem));
  const unread: MenuEntry[] = peers.error
    ? [
        {
          id: "peers",
          label: "Other platforms",
          detail: peers.error.message,
          disabled: true,
          onSelect: () => undefined,
        },
      ]
    : [];
  return (
    <Menu
      heading="Machines"
      empty={fabrics ? "No machine is known yet" : machines.error ? machines.error.message : "Loading the machines…"}
      trigger={
        <>
          <span className="visually-hidden">Machine </span>
          <span className="ellipsis">
            {machine?.name ?? (fabrics ? "no machine" : machines.error ? "machines unknown" : "…")}
          </span>
          {PEER !== null && <span className="tag">at {PEER}, read only</span>}
          {machine?.simulated && <span className="tag">simulated</span>}
          <Icon name="down" />
        </>
      }
      entries={[
        ...(PEER === null ? shown : entriesOf(null, own.data?.items ?? [], null)),
        ...(PEER === null ? [] : shown),
        ...others,
        ...unread,
      ]}
    />
  );
}
