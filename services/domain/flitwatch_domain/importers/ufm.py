"""InfiniBand topologies from UFM Enterprise: the links, ports and systems of its REST interface.

Fields are those of NVIDIA's "UFM Enterprise REST API Guide" (Links, Ports and Systems REST API) and of the answers in Mellanox/ufm_sdk_3.0,
plugins/UFM_NDT_Plugin/ufm_plugin_ndt/topoparse/data/ufm_samples. Links are sufficient for a fabric; ports add speeds and LIDs, systems the device types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.fabric.model import check_name
from flitwatch_domain.importers import ibnames, ibtree
from flitwatch_domain.importers.ibnames import Device, End
from flitwatch_domain.importers.text import Warnings
from flitwatch_domain.units import infiniband_bandwidth_bps

#: Beginning of a response, or of a document with all three.
DOCUMENT = re.compile(r'\s*(\{\s*"(links|ports|systems)"\s*:|\[\s*\{[^{}]{0,4000}"(source_guid|destination_guid)")')
PARTS = ("links", "ports", "systems")
_GUID = re.compile(r"(?:0x)?([0-9a-f]{1,16})", re.IGNORECASE)
_NAME = re.compile(r"(?:0x)?([0-9a-f]{1,16})_([0-9]{1,3})", re.IGNORECASE)
_LARGEST_PORT, _LARGEST_LID = 255, 0xBFFF

Record = Mapping[str, Any]


def parse_fabric(text: str, where: str, name: str) -> Fabric:
    """Parse `GET /ufmRest/resources/links`, optionally with ports and systems as `{"links": [], "ports": [], "systems": []}`.

    BadInput gives the record that is unreadable or contradicts another.
    """
    links, ports, systems = _split_parts(text, where)
    # The name of a port is `<GUID>_<number>`.
    port_by_name = {str(port.get("name", "")).lower(): port for port in ports}
    kinds, warnings = _find_kinds(systems), Warnings(where)
    nodes = {_normalise_guid(port.get("peer_guid")): _normalise_guid(port.get("peer_node_guid")) for port in ports}
    devices: dict[str, Device] = {}
    cables: list[tuple[End, End, float]] = []
    used: dict[End, tuple[End, int]] = {}
    for number, link in enumerate(links, 1):
        here = f"{where}: link {number}"
        a, b = (
            _resolve_end(devices, link, side, port_by_name, kinds, nodes, number, here)
            for side in ("source", "destination")
        )
        before = [used.get(end) for end in (a, b)]
        if before[0] is not None and before[0][0] == b:
            continue
        for end, claim in zip((a, b), before, strict=True):
            if claim is not None:
                raise BadInput(f"port {end[1]} of {end[0]} is also an end of link {claim[1]}", where=here)
        used[a], used[b] = (b, number), (a, number)
        if a[0] == b[0]:
            warnings.add(
                "loopback cable", number, f"ports {a[1]} and {b[1]} of one device are cabled together: left out"
            )
            continue
        cables.append(
            (
                a,
                b,
                _lower_bandwidth_bps(
                    [port_by_name.get(_port_name(link, side)) for side in ("source", "destination")], number, warnings
                ),
            )
        )
    if not any(device.is_switch for device in devices.values()):
        raise BadInput("lists no switch", where=where)
    models = _models_by_guid(systems)
    for guid, device in devices.items():
        device.model = models.get(guid, "")
    return ibtree.assemble_fabric(devices, cables, ibnames.endpoint_names(devices, warnings), where, name, warnings)


def _split_parts(text: str, where: str) -> list[list[Record]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise BadInput(f"is not JSON: {bad}", where=where) from bad
    document = content if isinstance(content, dict) else {"links": content}
    parts = [document.get(part, []) for part in PARTS]
    for part, records in zip(PARTS, parts, strict=True):
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            raise BadInput(
                f"{part} is not a list of records",
                where=where,
                advice=f"Give the answer of GET /ufmRest/resources/{part}.",
            )
    if not parts[0]:
        raise BadInput("lists no links", where=where, advice="Give the answer of GET /ufmRest/resources/links.")
    return parts


def _models_by_guid(systems: Iterable[Record]) -> dict[str, str]:
    """Return the model of each switch, such as MSB7700, by its GUID: the system's, or that of its ports (`<GUID>_<number>`)."""
    models: dict[str, str] = {}
    for system in systems:
        names = [port.get("name") if isinstance(port, dict) else port for port in system.get("ports") or []]
        for name in (system.get("guid"), system.get("system_guid"), *names):
            models[_normalise_guid(str(name).partition("_")[0])] = str(system.get("model") or "")[:100]
    return models


def _find_kinds(systems: Iterable[Record]) -> dict[str, bool]:
    """Return whether each device is a switch, by GUID of a system and by name of each of its ports."""
    kinds: dict[str, bool] = {}
    for system in systems:
        kind = str(system.get("type", ""))
        if not kind:
            continue
        names = [port.get("name") if isinstance(port, dict) else port for port in system.get("ports") or []]
        for name in (system.get("guid"), system.get("system_guid"), *names):
            kinds[str(name).lower()] = kind == "switch"
    return kinds


def _resolve_end(
    devices: dict[str, Device],
    link: Record,
    side: str,
    ports: Mapping[str, Record],
    kinds: Mapping[str, bool],
    nodes: Mapping[str, str],
    number: int,
    here: str,
) -> End:
    guid = _normalise_guid(link.get(f"{side}_guid"))
    port = _whole_or_zero(link.get(f"{side}_port"), _LARGEST_PORT)
    if not guid or not port:
        raise BadInput(
            f"its {side} has no GUID or no port",
            where=here,
            advice="Expected the answer to GET /ufmRest/resources/links.",
        )
    name = _port_name(link, side)
    about = ports.get(name, {})
    dname = str(link.get(f"{side}_port_dname") or about.get("dname") or "")
    described = str(link.get(f"{side}_port_node_description") or about.get("node_description") or "").strip()
    is_switch = _is_switch(guid, name, dname, described, about, kinds)
    if is_switch is None:
        raise BadInput(
            f"no record shows whether {guid} is a switch",
            where=here,
            advice="Give systems and ports alongside the links.",
        )
    key = guid if is_switch else nodes.get(guid) or guid
    description = described.removesuffix(f":{dname}") if is_switch else described
    check_name("device", description, here)
    device = devices.setdefault(key, Device(key, is_switch, number, description=description))
    if device.is_switch != is_switch:
        raise BadInput(f"{key} is a switch in one link and an adapter in another", where=here)
    lid = _whole_or_zero(about.get("lid"), _LARGEST_LID)
    if lid:
        device.lid[0 if is_switch else port] = lid
    if not is_switch:
        device.port_guid[port] = guid
    return key, port


def _is_switch(
    guid: str, name: str, dname: str, described: str, about: Record, kinds: Mapping[str, bool]
) -> bool | None:
    """Return whether a device is a switch, from its system's type or the port's name: after a colon for a switch, HCA-1/1 for an adapter."""
    for key in (name, guid):
        if key in kinds:
            return kinds[key]
    kind = str(about.get("description") or "")
    if kind:
        return kind.startswith("Switch")
    if dname and described.endswith(f":{dname}"):
        return True
    if dname.upper().startswith("HCA") or " " in described:
        return False
    return None


def _port_name(link: Record, side: str) -> str:
    """Return a port's name, `<GUID>_<number>`, as in the records of ports."""
    name = link.get(f"{side}_port_name")
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name.lower()
    return f"{_normalise_guid(link.get(f'{side}_guid'))}_{link.get(f'{side}_port')}"


def _lower_bandwidth_bps(ends: Iterable[Record | None], number: int, warnings: Warnings) -> float:
    """Return the lower of the bandwidths reported by both ends, in bits per second; NaN if unknown."""
    rates = []
    for end in ends:
        width, speed = (str((end or {}).get(key) or "") for key in ("active_width", "active_speed"))
        if not width or not speed:
            continue
        try:
            rates.append(infiniband_bandwidth_bps(f"{width.removeprefix('IB_')}{speed}"))
        except BadInput as unknown:
            warnings.add("unknown speed", number, unknown.reason)
    return min(rates, default=float("nan"))


def _normalise_guid(text: object) -> str:
    match = _GUID.fullmatch(text.strip()) if isinstance(text, str) else None
    return match.group(1).lower().zfill(16) if match else ""


def _whole_or_zero(value: object, most: int) -> int:
    """Return an integer up to `most`; 0 for any other value."""
    return units.parse_whole(str(value), most=most) or 0
