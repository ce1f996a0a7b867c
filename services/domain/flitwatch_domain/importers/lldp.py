"""Ethernet topologies from switches' LLDP neighbours (IEEE 802.1AB), as stored by SONiC, lldpd or OpenConfig.

Each switch reports the device at the other end of its cables. The reports of several switches become one fabric. A cable reported from both ends is one
cable. A neighbour without its own report is a switch if it forwards packets and identifies its port by something other than a MAC address; else it is
a host. A port's number is its index by name among all ports of its switch, from 1; the attribute `port_names` contains the names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Endpoints, Fabric, Routers, Technology
from flitwatch_domain.fabric.model import check_name
from flitwatch_domain.hosts import find_host, host_key, shorten_hosts
from flitwatch_domain.importers.ibnames import AdapterName, Device, End, role_of
from flitwatch_domain.importers.ibtree import assemble_fabric, natural_key
from flitwatch_domain.importers.text import Warnings

#: Ports of the management network, as named by SONiC, Cumulus, EOS, SR Linux, NX-OS, Junos and IOS.
_MANAGEMENT = re.compile(r"(eth|mgmt|ma|management|fxp|em|me|oob)[-_]?[0-9]+([/.][0-9]+)*", re.IGNORECASE)
_MAC = re.compile(r"[0-9a-f]{12}")
_LARGEST_PORTS = 4096


@dataclass(frozen=True)
class Port:
    """A port of a switch: its alias, and its speed in bits per second (NaN unknown)."""

    alias: str = ""
    bandwidth_bps: float = float("nan")


@dataclass(frozen=True)
class Neighbour:
    """Device at the other end of a cable.

    Attributes
    ----------
    port : str                  port of the reporting switch
    name, chassis : str         the neighbour's own; empty if not reported
    port_id, port_description   of the neighbour's port
    by_mac : bool               whether the neighbour identifies its port by a MAC address
    forwards : bool             whether it is a bridge or a router
    """

    port: str
    name: str = ""
    chassis: str = ""
    port_id: str = ""
    port_description: str = ""
    by_mac: bool = False
    forwards: bool = False


@dataclass(frozen=True)
class Switch:
    """A switch with its own report."""

    name: str
    chassis: str = ""
    ports: Mapping[str, Port] = field(default_factory=dict)
    neighbours: Sequence[Neighbour] = ()


def plain_mac(text: str) -> str:
    """Return the twelve hexadecimal digits of a MAC address in any notation; empty if the text is not a MAC address."""
    digits = re.sub(r"[:.\- ]", "", text).lower().removeprefix("0x")
    return digits if _MAC.fullmatch(digits) else ""


def is_management(port: str) -> bool:
    """Return whether a switch's port is a management port, according to its name."""
    return bool(_MANAGEMENT.fullmatch(port))


def fabric_of(switches: Sequence[Switch], where: str, name: str) -> Fabric:
    """Build the fabric of these switches and their neighbours. Raise BadInput if two switches have the same name, or no switch has a neighbour."""
    return _Wiring(switches, where).fabric(name)


class _Wiring:
    """Devices and cables in order of discovery; a device's key is its chassis' MAC address, or else its name."""

    def __init__(self, switches: Sequence[Switch], where: str) -> None:
        self._where = where
        self._warnings = Warnings(where)
        self._read: dict[str, Switch] = {}
        self._key_of: dict[str, str] = {}
        self._names_by_host: defaultdict[str, list[str]] = defaultdict(list)
        self._devices: dict[str, Device] = {}
        self._adapters: dict[str, tuple[str, str | None]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._switches = sorted(switches, key=lambda switch: natural_key(switch.name))
        for number, switch in enumerate(self._switches, 1):
            self._add_switch(switch, number)

    def _add_switch(self, switch: Switch, number: int) -> None:
        check_name("switch", switch.name, self._where)
        key = plain_mac(switch.chassis) or switch.name
        if not switch.name or switch.name in self._key_of or key in self._read:
            raise BadInput(
                f"switch {switch.name or number} is listed twice" if switch.name else f"switch {number} has no name",
                where=self._where,
                advice="Each switch needs its own name. If a file has none, the name of the file is used.",
            )
        self._read[key] = switch
        self._key_of[switch.name] = key
        self._names_by_host[host_key(switch.name)].append(switch.name)
        self._devices[key] = Device(key, True, number, description=switch.name)

    def fabric(self, name: str) -> Fabric:
        adjacencies = [
            (key, number, neighbour)
            for number, (key, switch) in enumerate(self._read.items(), 1)
            for neighbour in self._of_ports(switch, number)
        ]
        if not adjacencies:
            raise BadInput(
                "no switch has a neighbour",
                where=self._where,
                advice="Check that LLDP is on for the switches and their ports.",
            )
        # Ports can be numbered only once all names are known.
        wired = [
            (key, neighbour, self._find_other_end(key, neighbour, number)) for key, number, neighbour in adjacencies
        ]
        for key, switch in self._read.items():
            ends = [(mine, theirs) for mine, _, theirs in wired]
            names = {*switch.ports, *(n.port for mine, n, _ in wired if mine == key)}
            self._number(key, names | {port for _, (other, port) in ends if other == key})
        others: dict[str, set[str]] = defaultdict(set)
        for _, _, (key, port) in wired:
            if key not in self._read:
                others[key].add(port)
        for key, names in others.items():
            self._number(key, names)
        cables = list(self._join_cables(wired))
        graph = assemble_fabric(
            self._devices,
            cables,
            self._name_adapters(),
            self._where,
            name,
            self._warnings,
            technology=Technology.ETHERNET,
        )
        return self._add_port_names(graph)

    def _number(self, key: str, names: Iterable[str]) -> None:
        ordered = sorted(names, key=natural_key)
        if len(ordered) > _LARGEST_PORTS:
            raise BadInput(f"{self._devices[key].description} has {len(ordered):,} ports", where=self._where)
        self._numbers[key] = {port: number for number, port in enumerate(ordered, 1)}

    def _of_ports(self, switch: Switch, number: int) -> list[Neighbour]:
        """Return one neighbour per port: if a host's NIC and its system both send LLDP, the one with a name."""
        by_port: dict[str, list[Neighbour]] = defaultdict(list)
        for neighbour in switch.neighbours:
            if not is_management(neighbour.port):
                by_port[neighbour.port].append(neighbour)
        if not by_port:
            self._warnings.add("switch alone", number, f"{switch.name} has no LLDP neighbours")
        chosen = []
        for port, neighbours in by_port.items():
            best = max(
                neighbours,
                key=lambda candidate: (self._find_key(candidate) is not None, bool(candidate.name), candidate.forwards),
            )
            names = {candidate.name or candidate.chassis for candidate in neighbours if candidate.name}
            if len(names) > 1:
                text = (
                    f"{switch.name} {port} has {len(names)} neighbours, {', '.join(sorted(names))}: {best.name} is used"
                )
                self._warnings.add("several neighbours", number, text)
            chosen.append(best)
        return chosen

    def _find_key(self, neighbour: Neighbour) -> str | None:
        """Return the key of a neighbour that has its own report."""
        mac = plain_mac(neighbour.chassis)
        if mac in self._read:
            return mac
        known = find_host(neighbour.name, self._names_by_host.get(host_key(neighbour.name), ()))
        return None if known is None else self._key_of[known]

    def _find_other_end(self, own: str, neighbour: Neighbour, number: int) -> tuple[str, str]:
        """Return the other end of a cable: the device's key and its port's name."""
        read_key = self._find_key(neighbour)
        if read_key is not None:
            return read_key, _port_of(self._read[read_key].ports, neighbour)
        mac = plain_mac(neighbour.chassis)
        if neighbour.forwards and not neighbour.by_mac:
            key = mac or neighbour.name or f"{own} {neighbour.port}"
            if key not in self._devices:
                self._devices[key] = Device(key, True, number, description=self._name_unread(neighbour, key))
                self._warnings.add(
                    "switch not read",
                    number,
                    f"{self._devices[key].description} was not read directly: it counts as a switch",
                )
            return key, neighbour.port_id or neighbour.port_description or f"to {neighbour.port}"
        card = plain_mac(neighbour.port_id)
        key = card or f"{neighbour.name or mac} {neighbour.port_id}".strip()
        if key in self._devices or not key:
            key = f"{key} at {self._devices[own].description} {neighbour.port}".strip()
        adapter = neighbour.port_description if neighbour.by_mac or card else neighbour.port_id
        self._devices[key] = Device(key, False, number)
        if not neighbour.name:
            called = f"host-{mac or card or len(self._devices)}"
            text = f"the neighbour at {self._devices[own].description} {neighbour.port} has no name: it becomes {called}, and no job is placed there"
            self._warnings.add("neighbour without a name", number, text)
        else:
            called = neighbour.name
        check_name("host", called, self._where)
        self._adapters[key] = (called, adapter or None)
        return key, ""

    def _name_unread(self, neighbour: Neighbour, key: str) -> str:
        """Return a name that no other switch has."""
        names = {device.description for device in self._devices.values() if device.is_switch}
        name = neighbour.name or f"switch-{key}"
        check_name("switch", name, self._where)
        return name if name not in names else f"{name} ({key})"

    def _join_cables(self, wired: Iterable[tuple[str, Neighbour, tuple[str, str]]]) -> Iterable[tuple[End, End, float]]:
        used: dict[End, End] = {}
        for key, neighbour, (other, port) in wired:
            a = (key, self._numbers[key][neighbour.port])
            b = (other, self._numbers[other][port])
            if used.get(a) == b:
                continue
            number = self._devices[key].line
            if a in used or b in used:
                conflict = a if a in used else b
                self._warnings.add(
                    "ends that conflict",
                    number,
                    f"{self._end(a)} and {self._end(b)}: {self._end(conflict)} is cabled to {self._end(used[conflict])} already",
                )
                continue
            if a[0] == b[0]:
                self._warnings.add("loopback cable", number, f"{self._end(a)} is cabled to its own switch: left out")
                continue
            used[a], used[b] = b, a
            rates = [self._port_rate_bps(key, neighbour.port), self._port_rate_bps(other, port)]
            yield a, b, min((rate for rate in rates if rate == rate), default=float("nan"))

    def _port_rate_bps(self, key: str, port: str) -> float:
        switch = self._read.get(key)
        return switch.ports[port].bandwidth_bps if switch and port in switch.ports else float("nan")

    def _end(self, end: End) -> str:
        names = {number: port for port, number in self._numbers[end[0]].items()}
        device = self._devices[end[0]].description or self._adapters[end[0]][0]
        return f"{device} {names[end[1]]}".strip()

    def _name_adapters(self) -> dict[str, AdapterName]:
        short = shorten_hosts(node for node, _ in self._adapters.values())
        return {
            key: AdapterName(short.get(node, node), adapter, role_of(node))
            for key, (node, adapter) in self._adapters.items()
        }

    def _add_port_names(self, made: Fabric) -> Fabric:
        """Add port names, and remove InfiniBand-specific attributes."""
        keys: list[str] = [str(key) for key in made.routers.guid]
        names = []
        for key in keys:
            by_number = {number: port for port, number in self._numbers.get(key, {}).items()}
            names.append(["", *(by_number[number] for number in sorted(by_number))])
        attributes = {key: made.attributes[key] for key in ("adapters", "adapter_count")}
        routers, ends = made.routers, made.endpoints
        return replace(
            made,
            routers=Routers(routers.name, guid=_mac_array(keys), group=routers.group, level=routers.level),
            endpoints=Endpoints(
                ends.router,
                port=ends.port,
                node=ends.node,
                role=ends.role,
                guid=_mac_array(str(key) for key in ends.guid),
            ),
            attributes={
                **attributes,
                "port_names": names,
                "roles": "by name: storage servers do I/O, all others compute",
            },
        )


def _mac_array(keys: Iterable[str]) -> NDArray[np.object_]:
    return np.array([key if _MAC.fullmatch(key) else None for key in keys], object)


def _port_of(ports: Mapping[str, Port], neighbour: Neighbour) -> str:
    """Return the name of a read switch's port that the neighbour identifies by name, alias or description."""
    texts = [text for text in (neighbour.port_id, neighbour.port_description) if text]
    for text in texts:
        if text in ports:
            return text
    aliases = {port.alias: name for name, port in ports.items() if port.alias}
    for text in texts:
        if text in aliases:
            return aliases[text]
    return texts[0] if texts else f"to {neighbour.port}"
