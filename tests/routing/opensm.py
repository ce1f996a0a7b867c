"""A real OpenSM over ibsim that loads forwarding tables from a file, and its dump afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from noise_core import flow_ibsim

from flitwatch_domain.fabric import Fabric
from flitwatch_routing import lft

#: The device id of a Quantum switch, which says how long its ticks of waiting are.
QUANTUM = 0xD2F0


def ibsim_text(fabric: Fabric) -> str:
    """The fabric in ibsim's format, with the GUIDs that our dumps use; the first adapter hosts the manager."""
    routers, links = len(fabric.routers), fabric.links
    switches, port_guids = lft.list_guids(fabric)
    names = [f"S-{guid:016x}" for guid in switches] + [f"H-{guid - 1:016x}" for guid in port_guids]
    ports: dict[int, list[str]] = {}
    for src, dst, out, back in zip(links.src, links.dst, links.src_port, links.dst_port, strict=True):
        # An adapter's only port is its first.
        own, other = (max(int(port), 1) for port in (out, back))
        ports.setdefault(int(src), []).append(f'[{own}]\t"{names[dst]}"[{other}]')
    width = int(max(links.src_port.max(), links.dst_port.max(), 1))
    blocks = []
    for vertex in [routers, *range(routers), *range(routers + 1, fabric.vertices)]:
        guid = names[vertex][2:]
        head = (
            f"devid=0x{QUANTUM:x}\nswitchguid=0x{guid}({guid})\nSwitch\t{width}"
            if vertex < routers
            else f"caguid=0x{guid}\nHca\t1"
        )
        label = fabric.vertex_name(vertex)
        blocks.append("\n".join([f'{head} "{names[vertex]}"\t\t# "{label}"', *ports[vertex]]))
    return "\n\n".join(blocks) + "\n"


def loaded(
    fabric: Fabric,
    ports: np.ndarray,
    folder: Path,
    lmc: int = 0,
    then: Callable[[Callable[..., str]], None] | None = None,
) -> np.ndarray:
    """The tables that OpenSM says it loaded from our file; `then` as of `run_opensm`."""
    ours = folder / "ours.lfts"
    lft.write_dump(ours, fabric, ports, lmc)
    adapter = lft.list_guids(fabric)[1][0] - 1
    dump, _ = flow_ibsim.run_opensm(
        ibsim_text(fabric), "file", folder, tables=ours, host=adapter, discover=False, lmc=lmc, then=then
    )
    return lft.read_ports(dump, fabric, lmc)
