"""Forwarding tables in OpenSM's dump format: what `-R file -U` reads and `opensm-lfts.dump` holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.topology import parse_lft_dump
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric

Ints = NDArray[np.int64]
#: GUIDs of generated fabrics, in the range that ibsim uses; adapters are spaced apart, as a port's GUID is the adapter's + 1.
FIRST_SWITCH_GUID, FIRST_ADAPTER_GUID, ADAPTER_STEP = 0x0002C90000100000, 0x0002C90000200000, 0x10


def guids(fabric: Fabric) -> tuple[list[int], list[int]]:
    """GUIDs of switches and port GUIDs of endpoints: the fabric's own, or those given to generated fabrics."""
    switches = [_guid(text, FIRST_SWITCH_GUID + i) for i, text in enumerate(fabric.routers.guid)]
    ports = [_guid(text, FIRST_ADAPTER_GUID + ADAPTER_STEP * i + 1) for i, text in enumerate(fabric.endpoints.guid)]
    return switches, ports


def _guid(text: object, otherwise: int) -> int:
    digits = str(text or "").lower().removeprefix("s-").removeprefix("h-").removeprefix("0x")
    try:
        return int(digits, 16)
    except ValueError:
        return otherwise


def dump(fabric: Fabric, ports: Ints) -> Iterator[str]:
    """The lines of the dump; LIDs are 1.. for switches, then endpoints; entries name their destination by port GUID."""
    switches, ends = guids(fabric)
    first = len(switches) + 1
    last = len(switches) + len(ends)
    names = [str(node or "") for node in fabric.endpoints.node]
    for router, guid in enumerate(switches):
        yield f"Unicast lids [0-{last}] of switch Lid {router + 1} guid 0x{guid:016x} ('{fabric.routers.name[router]}'):"
        for endpoint in np.flatnonzero(ports[router] >= 0).tolist():
            yield f"0x{first + endpoint:04x} {ports[router, endpoint]:03d} # Channel Adapter portguid 0x{ends[endpoint]:016x}: '{names[endpoint]}'"
        yield f"{int((ports[router] >= 0).sum())} lids dumped "


def write(path: Path, fabric: Fabric, ports: Ints) -> None:
    """Write the dump; the file appears whole or not at all."""
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w") as file:
        file.writelines(line + "\n" for line in dump(fabric, ports))
    temporary.replace(path)


def read(path: Path, fabric: Fabric) -> Ints:
    """Output ports (routers, endpoints) of a dump, -1 where it has no entry; BadInput names the file."""
    try:
        found, names, at_switch, _, port, destination = parse_lft_dump(path.read_bytes())
    except OSError as failure:
        raise BadInput(f"cannot be read: {failure.strerror}", where=str(path)) from failure
    except ValueError as bad:
        raise BadInput(str(bad), where=str(path)) from bad
    switches, ends = guids(fabric)
    router_of = {guid: router for router, guid in enumerate(switches)}
    for guid, name in zip(found.tolist(), names, strict=True):
        if guid not in router_of:
            raise BadInput(
                f"the topology has no switch 0x{guid:016x} ({name.decode(errors='replace')})", where=str(path)
            )
    missing = set(router_of) - set(found.tolist())
    if missing:
        raise BadInput(
            f"{len(missing)} switches of the topology have no table, the first 0x{min(missing):016x}", where=str(path)
        )
    endpoint_of = {guid: endpoint for endpoint, guid in enumerate(ends)}
    router = np.array([router_of[guid] for guid in found.tolist()])[at_switch]
    endpoint = np.array([endpoint_of.get(guid, -1) for guid in destination.tolist()])
    ports = np.full((len(switches), len(ends)), -1)
    used = endpoint >= 0
    ports[router[used], endpoint[used]] = port[used]
    return ports
