"""The topology template of Slingshot's fabric manager (`/opt/cray/fabric_template.json`): switches with their groups and ports, and links between
ports.

Its format is `ControllerTemplate` in HPE's published interface of the fabric controller (Cray-HPE/craycli, cray/modules/fabric/swagger.yaml).
`switches` have `IP` (the switch's name), `grpId`, `swcNum`, `edgePorts` and `fabricPorts`; a port has an `id` and `meta.conn_port`, its jack; `links`
have `endpoint1` and `endpoint2`. An edge port's NIC is read from `meta.dst_port` if present, as in the fabric manager's documents of
ports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import slingshot
from flitwatch_domain.importers.text import Warnings

_OWN = re.compile(r'"(grpId|swcNum)"\s*:')
#: In a template, these words of its first switch occur long before this position.
_BEGINNING = 1 << 20
_NIC = re.compile(r"x\w+n[0-9]+h[0-9]+")
_ADVICE = "Expected the fabric manager's fabric_template.json."
_PORTS = ("edgePorts", "fabricPorts")


@dataclass
class _Switch:
    """A switch of a template. `jacks` maps its chip's links to port names, and `edges` maps edge ports' names to the connected components."""

    name: str
    group: int
    number: int
    jacks: dict[str, str] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)


def looks_like(text: str) -> bool:
    """Return whether a text is a template."""
    return text.lstrip()[:1] == "{" and _OWN.search(text, 0, _BEGINNING) is not None


def parse_fabric(text: str, where: str, name: str) -> Fabric:
    """Parse a template; BadInput names the missing or contradictory part.

    Attribute `chip_ports` has the switch chip's link of each port by its number, -1 if missing in the template.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise BadInput(f"is not JSON: {bad}", where=where) from bad
    if not isinstance(document, dict):
        raise BadInput("is not a JSON object", where=where, advice=_ADVICE)
    switches = list(_read_switches(_get_list(document, "switches", where), where))
    if not switches:
        raise BadInput("lists no switch", where=where)
    switches.sort(key=lambda switch: (switch.group, switch.number))
    _check_switches(switches, where)
    names = {switch.name for switch in switches}
    jack_of = {switch.name + link: jack for switch in switches for link, jack in switch.jacks.items()}
    cables = list(slingshot.cables_of(_list_links(document, switches, jack_of, where)))
    if not cables:
        raise BadInput("lists no links", where=where)
    strange = sorted({end[0] for cable in cables for end in cable if "r" in end[0]} - names)
    if strange:
        raise BadInput(f"a link leads to {strange[0]}, which is not a switch of the template", where=where)
    chip = _chip_ports(switches)
    return slingshot.fabric_of(
        name,
        where,
        [switch.name for switch in switches],
        np.array([switch.group for switch in switches], np.int64),
        cables,
        Warnings(where),
        {"chip_ports": chip} if chip else None,
    )


def _get_list(document: dict[str, Any], key: str, where: str) -> list[Any]:
    entries = document.get(key)
    if not isinstance(entries, list):
        raise BadInput(f"has no list of {key}", where=where, advice=_ADVICE)
    return entries


def _read_switches(listed: list[Any], where: str) -> Iterator[_Switch]:
    for at, entry in enumerate(listed):
        here = f"{where}: switch {at}"
        if not isinstance(entry, dict):
            raise BadInput("is not an object", where=here, advice=_ADVICE)
        name = slingshot.switch_of(str(entry.get("IP", "")))
        if name is None:
            raise BadInput(
                f"IP {str(entry.get('IP'))[:60]!r} is not the name of a switch, such as x3000c0r41b0", where=here
            )
        switch = _Switch(name, _get_number(entry, "grpId", here), _get_number(entry, "swcNum", here))
        for kind in _PORTS:
            for port in _get_list(entry, kind, here):
                _add_port(switch, port, kind == "edgePorts", here)
        yield switch


def _get_number(entry: dict[str, Any], key: str, here: str) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 15:
        raise BadInput(f"{key} is {str(value)[:40]}, expected a number of at least 0", where=here)
    return value


def _add_port(switch: _Switch, port: Any, edge: bool, here: str) -> None:
    """Add a port; early templates contain only its number, without a jack."""
    meta = port.get("meta") if isinstance(port, dict) else None
    if not isinstance(meta, dict) or not isinstance(jack := meta.get("conn_port"), str):
        return
    place = slingshot.location_of(jack)
    if place is None or place.switch != switch.name or place.port is None:
        raise BadInput(f"conn_port {jack[:60]!r} is not a port of {switch.name}, as {switch.name}j13p0", where=here)
    link = slingshot.location_of(str(port.get("id", "")))
    if link is not None and link.link:
        if link.switch != switch.name:
            raise BadInput(f"port {link.switch}{link.link} is another switch's", where=here)
        switch.jacks[link.link] = jack
    leads = meta.get("dst_port")
    if edge and isinstance(leads, str) and _NIC.fullmatch(leads):
        switch.edges.append((jack, leads))


def _check_switches(switches: list[_Switch], where: str) -> None:
    names: set[str] = set()
    before = None
    for switch in switches:
        if switch.name in names:
            raise BadInput(f"switch {switch.name} is listed twice", where=where)
        if before is not None and (before.group, before.number) == (switch.group, switch.number):
            raise BadInput(
                f"{before.name} and {switch.name} are both switch {switch.number} of group {switch.group}", where=where
            )
        names.add(switch.name)
        before = switch


def _list_links(
    document: dict[str, Any], switches: list[_Switch], jack_of: dict[str, str], where: str
) -> Iterator[tuple[str, str, str]]:
    """Yield the location and the ends' names of each link by jack, then of the links to NICs."""
    for at, entry in enumerate(_get_list(document, "links", where)):
        here = f"{where}: link {at}"
        ends = [entry.get(key) if isinstance(entry, dict) else None for key in ("endpoint1", "endpoint2")]
        if not all(isinstance(end, str) for end in ends):
            raise BadInput("has no endpoint1 and endpoint2", where=here, advice=_ADVICE)
        first, other = (jack_of.get(_by_link(str(end)), str(end)) for end in ends)
        yield here, first, other
    for switch in switches:
        for jack, nic in switch.edges:
            yield f"{where}: edge port {jack}", jack, nic


def _by_link(name: str) -> str:
    """Return a port's name by its chip's link, without the controller: x3000c0r41a0l50."""
    place = slingshot.location_of(name)
    return f"{place.switch}{place.link}" if place is not None and place.link else name


def _chip_ports(switches: list[_Switch]) -> list[list[int]]:
    """Return, for each switch, the chip's link number of each port; empty if the template has none."""
    chip_links = []
    for switch in switches:
        places = {slingshot.location_of(jack): int(link.rpartition("l")[2]) for link, jack in switch.jacks.items()}
        links = {place.port: link for place, link in places.items() if place is not None and place.port is not None}
        chip_links.append([links.get(port, -1) for port in range(max(links, default=-1) + 1)])
    return chip_links if any(chip_links) else []
