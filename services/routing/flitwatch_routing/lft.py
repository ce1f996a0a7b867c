"""Forwarding tables in OpenSM's dump format, as read by `-R file -U` and written to `opensm-lfts.dump`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_core._flow import parse_lft_dump
from flitwatch_domain import units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers.text import read_bytes, read_utf8
from flitwatch_routing.lmc import first_lid, lids_each
from flitwatch_routing.switch_lids import towards_switches

Ints = NDArray[np.int64]
#: GUIDs of generated fabrics, in ibsim's range; adapters are spaced, as a port's GUID is the adapter's + 1.
FIRST_SWITCH_GUID, FIRST_ADAPTER_GUID, ADAPTER_STEP = 0x0002C90000100000, 0x0002C90000200000, 0x10
#: A LID has 16 bits.
MOST_LIDS = 2**16


def list_guids(fabric: Fabric) -> tuple[list[int], list[int]]:
    """Return GUIDs of switches and port GUIDs of endpoints, either the fabric's or those for generated fabrics."""
    switches = [_parse_guid(text, FIRST_SWITCH_GUID + i) for i, text in enumerate(fabric.routers.guid)]
    ports = [
        _parse_guid(text, FIRST_ADAPTER_GUID + ADAPTER_STEP * i + 1) for i, text in enumerate(fabric.endpoints.guid)
    ]
    return switches, ports


def _parse_guid(text: object, otherwise: int) -> int:
    digits = str(text or "").lower().removeprefix("s-").removeprefix("h-").removeprefix("0x")
    number = units.whole_or_hexadecimal(f"0x{digits}")
    return otherwise if number is None else number


def format_dump(fabric: Fabric, ports: Ints, lmc: int = 0, switch_ports: Ints | None = None) -> Iterator[str]:
    """Yield the lines of a dump of tables (routers, endpoints * 2^lmc); entries contain the port GUID of their destination.

    Switch LIDs have entries too, from `switch_ports` (routers, routers) or `towards_switches`, because OpenSM gives no path to LIDs missing in a
    dump. LIDs are 1.. for switches, then endpoints, from a multiple of 2^lmc. OpenSM assigns others: it moves an entry to the LID of the same port
    with the same last `lmc` bits. Raise BadInput if there are not enough LIDs.
    """
    switches, ends = list_guids(fabric)
    between = towards_switches(fabric) if switch_ports is None else switch_ports
    first, each = first_lid(fabric, lmc), lids_each(lmc)
    last = first + len(ends) * each - 1
    names = [str(node or "") for node in fabric.endpoints.node]
    for router, guid in enumerate(switches):
        yield f"Unicast lids [0-{last}] of switch Lid {router + 1} guid 0x{guid:016x} ('{fabric.routers.name[router]}'):"
        for other in np.flatnonzero(between[router] >= 0).tolist():
            yield f"0x{other + 1:04x} {between[router, other]:03d} # Switch portguid 0x{switches[other]:016x}: '{fabric.routers.name[other]}'"
        for column in np.flatnonzero(ports[router] >= 0).tolist():
            endpoint = column // each
            yield f"0x{first + column:04x} {ports[router, column]:03d} # Channel Adapter portguid 0x{ends[endpoint]:016x}: '{names[endpoint]}'"
        yield f"{int((ports[router] >= 0).sum() + (between[router] >= 0).sum())} lids dumped "


def write_dump(path: Path, fabric: Fabric, ports: Ints, lmc: int = 0, switch_ports: Ints | None = None) -> None:
    """Write the dump atomically. Raises the errors of `format_dump`."""
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w") as file:
        file.writelines(line + "\n" for line in format_dump(fabric, ports, lmc, switch_ports))
    temporary.replace(path)


def digest_ports(ports: Ints) -> str:
    """Return a digest of tables (routers, endpoints * 2^lmc) of output ports: SHA-256 of shape and entries."""
    return hashlib.sha256(repr(ports.shape).encode() + ports.astype("<i2").tobytes()).hexdigest()


@dataclass(frozen=True)
class Dump:
    """ports (routers, endpoints * 2^lmc): output ports, -1 without an entry;  unknown (endpoints,): LID in neither the dump nor the topology

    switch_ports (routers, routers): output ports for the LIDs of switches; None if the dump does not identify them
    """

    ports: Ints
    unknown: NDArray[np.bool_]
    switch_ports: Ints | None = None


def read_ports(path: Path, fabric: Fabric, lmc: int = 0) -> Ints:
    """Return output ports (routers, endpoints * 2^lmc) of a dump, -1 without an entry. Raises the errors of `read_dump`."""
    return read_dump(path, fabric, lmc).ports


def read_dump(path: Path, fabric: Fabric, lmc: int = 0) -> Dump:
    """Return a dump's tables. Entries are matched by port GUID, or by LID if the dump has no GUID and the topology contains the LID.

    With `lmc`, all 2^lmc LIDs of an endpoint are read; without it, only the lowest of several LIDs. Raise BadInput if the text is not a dump or
    contradicts itself (with its line), a switch is not in the topology or has no table, or destinations have no known entry; with `lmc`, LIDs do not
    match the LMC. The message names the file.
    """
    try:
        switch_guids, names, at_switch, lid, port, destination = parse_lft_dump(read_bytes(path))
    except UnicodeDecodeError:
        read_utf8(path)  # raises with the actual file type
        raise
    except ValueError as bad:
        raise BadInput(str(bad), where=str(path)) from bad
    switches, ends = list_guids(fabric)
    router = _match_switches(path, switch_guids, names, switches, fabric)[at_switch]
    owners = _find_lid_owners(fabric)
    endpoint = np.where(destination > 0, _match_endpoints(destination, fabric, ends), owners[lid])
    base = np.full(len(ends), len(owners))
    np.minimum.at(base, endpoint[endpoint >= 0], lid[endpoint >= 0])
    unknown = np.zeros(len(ends), bool)
    if ((endpoint < 0) & ~np.isin(destination, np.array(switches, np.uint64))).any():
        unknown[(base == len(owners)) & ~np.isin(np.arange(len(ends)), owners)] = True
    if len(lid) and unknown.all():
        raise BadInput(
            "the endpoint of an entry is unknown: the topology contains none of its port GUIDs and LIDs",
            where=str(path),
            advice="Give a dump with `portguid` comments (opensm-lfts.dump), or the topology as ibnetdiscover printed it when the tables were loaded",
        )
    each = lids_each(lmc)
    if lmc:
        _of_lmc(path, fabric, base, lid[endpoint >= 0].astype(np.int64), endpoint[endpoint >= 0], lmc)
    offset = lid - (base & -each)[endpoint]
    ports = np.full((len(switches), len(ends) * each), -1)
    used = (endpoint >= 0) & (offset < each)
    ports[router[used], endpoint[used] * each + offset[used]] = port[used]
    return Dump(
        ports, unknown, _switch_ports(router, port, destination, switches, bool((endpoint[destination == 0] < 0).any()))
    )


def _switch_ports(
    router: Ints, port: Ints, destination: NDArray[np.uint64], switches: list[int], unowned: bool
) -> Ints | None:
    """Return ports (routers, routers) of the entries for switches; None if there are none, but `unowned` entries that may be theirs."""
    column = {guid: at for at, guid in enumerate(switches)}
    unique_guids, of = np.unique(destination, return_inverse=True)
    to = (
        np.array([column.get(guid, -1) for guid in unique_guids.tolist()], np.int64)[of]
        if len(unique_guids)
        else np.zeros(0, np.int64)
    )
    is_switch = to >= 0
    if unowned and not is_switch.any():
        return None
    result = np.full((len(switches), len(switches)), -1)
    result[router[is_switch], to[is_switch]] = port[is_switch]
    return result


def _of_lmc(path: Path, fabric: Fabric, lowest: Ints, lid: Ints, endpoint: Ints, lmc: int) -> None:
    """Raise BadInput unless each endpoint's LIDs are in an aligned block of 2^lmc of its own, and at least one endpoint has several."""
    each = lids_each(lmc)
    highest = np.full(len(lowest), -1)
    np.maximum.at(highest, endpoint, lid)
    block = lowest & -each
    endpoints = np.flatnonzero(highest >= 0)
    _, of, owners = np.unique(block[endpoints], return_inverse=True, return_counts=True)
    wrong = (highest[endpoints] - block[endpoints] >= each) | (owners[of] > 1)
    if not wrong.any() and (highest > lowest)[endpoints].any():
        return
    first_wrong = int(endpoints[np.argmax(wrong)]) if len(endpoints) else 0
    raise BadInput(
        f"with LMC {lmc}, an endpoint has {each} LIDs, starting at a multiple of {each}; endpoint {first_wrong} "
        f"({fabric.endpoints.node[first_wrong]}) has "
        f"0x{lowest[first_wrong]:04x} to 0x{highest[first_wrong]:04x}",
        where=str(path),
        advice="Give the LMC that OpenSM ran with (`opensm --lmc`)",
    )


def _match_switches(path: Path, found: Ints, names: list[bytes], switches: list[int], fabric: Fabric) -> Ints:
    router_of = {guid: router for router, guid in enumerate(switches)}
    for guid, name in zip(found.tolist(), names, strict=True):
        if guid not in router_of:
            raise BadInput(
                f"the topology has no switch 0x{guid:016x} ({name.decode(errors='replace')})", where=str(path)
            )
    cabled = set(fabric.links.src.tolist()) | set(fabric.links.dst.tolist())
    missing = {guid for guid, router in router_of.items() if router in cabled} - set(found.tolist())
    if missing:
        raise BadInput(
            f"{len(missing)} switches of the topology have no table, the first 0x{min(missing):016x}", where=str(path)
        )
    return np.array([router_of[guid] for guid in found.tolist()], np.int64)


def _match_endpoints(destination: NDArray[np.uint64], fabric: Fabric, ends: list[int]) -> Ints:
    """Return the endpoint of each port GUID, -1 for none. A topology without port GUIDs contains adapter GUIDs: a port's GUID is then the adapter's
    plus the port number."""
    links, routers = fabric.links, len(fabric.routers)
    number = np.ones(len(ends), np.int64)
    hosts = np.flatnonzero(links.src >= routers)
    number[links.src[hosts] - routers] = np.maximum(links.src_port[hosts], 1)
    unique_guids, of = np.unique(destination, return_inverse=True)
    best = np.full(len(unique_guids), -1)
    for candidates in (ends, [guid + port for guid, port in zip(ends, number.tolist(), strict=True)]):
        owner_of = {guid: endpoint for endpoint, guid in enumerate(candidates)}
        owners = np.array([owner_of.get(guid, -1) for guid in unique_guids.tolist()], np.int64)
        if (owners >= 0).sum() > (best >= 0).sum():
            best = owners
    return best[of]


def _find_lid_owners(fabric: Fabric) -> Ints:
    """Return the endpoint of each LID in the topology's file, including LMC; -1 if none or several have the LID."""
    owners = np.full(MOST_LIDS, -1)
    endpoints = len(fabric.endpoints)
    lids = np.asarray(fabric.attributes.get("lids", []), np.int64)
    if len(lids) != endpoints:
        return owners
    lmc = np.asarray(fabric.attributes.get("lmc", [0] * endpoints), np.int64)
    claims = np.concatenate(
        [np.arange(lid, lid + 2**bits) for lid, bits in zip(lids.tolist(), lmc.tolist(), strict=True)]
    )
    whose = np.repeat(np.arange(endpoints), 2**lmc)
    valid = (np.repeat(lids, 2**lmc) > 0) & (claims < MOST_LIDS)
    owners[claims[valid]] = whose[valid]
    owners[np.bincount(claims[valid], minlength=MOST_LIDS) > 1] = -1
    return owners
