"""Files with LLDP neighbours of one or several switches: dumps of SONiC's databases, `lldpctl -f json`, and OpenConfig's `lldp` tree.

For several switches: `{"leaf1": DOCUMENT, "leaf2": DOCUMENT}`, or a folder with a file per switch. lldpd's forms are those of `lldpcli -f json` and `-f
json0` (lldpcli(8)). Its neighbours do not identify their own switch, so `show chassis` can be added (`{"lldp": ..., "local-chassis": ...}`). Otherwise
the file's name is the switch's. OpenConfig's form is that of openconfig-lldp.yang in JSON_IETF (RFC 7951), with openconfig-interfaces for the ports'
speeds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import sonic
from flitwatch_domain.importers.lldp import Neighbour, Port, Switch, fabric_of

_MARKS = (*sonic.MARKS, '"lldp"', '"openconfig-lldp:lldp"')
#: openconfig-if-ethernet.yang, identities of ETHERNET_SPEED: SPEED_400GB.
_SPEED = re.compile(r"SPEED_([0-9]{1,6})(MB|GB|B)?")
_UNITS = {"MB": 1e6, "GB": 1e9}
_FORWARDING = ("bridge", "router", "mac_bridge")


def looks_like(text: str) -> bool:
    """Return whether a text may contain LLDP neighbours."""
    return text.lstrip()[:1] in ("{", "[") and any(mark in text for mark in _MARKS)


def parse_fabric(text: str, where: str, name: str) -> Fabric:
    """Parse the fabric in a file; raise BadInput if it has none of these forms."""
    return fabric_of(list(switches_of(text, where, name)), where, name)


def parse_files(files: Mapping[str, str], where: str, name: str) -> Fabric:
    """Build the fabric from several files, keyed by the names of their switches."""
    switches = [switch for own, text in files.items() for switch in switches_of(text, f"{where}/{own}", own)]
    return fabric_of(switches, where, name)


def switches_of(text: str, where: str, name: str) -> Iterator[Switch]:
    """Yield the switches of a file; `name` is used for a switch without a name."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise BadInput(f"is not JSON: {bad}", where=where) from bad
    if (switch := _parse_switch(document, name)) is not None:
        yield switch
        return
    switches = [
        switch
        for own, inner in (document.items() if isinstance(document, dict) else ())
        if (switch := _parse_switch(inner, str(own))) is not None
    ]
    if not switches:
        raise BadInput(
            "contains no LLDP neighbours",
            where=where,
            advice="Give the output of `sonic-db-dump -n APPL_DB -y` or `lldpctl -f json`, OpenConfig's /lldp, or an object with one of them by switch.",
        )
    yield from switches


def _parse_switch(document: object, name: str) -> Switch | None:
    if sonic.is_dump(document):
        return sonic.switch_of(sonic.tables_of(document), name)
    if not isinstance(document, dict):
        return None
    tree = document.get("openconfig-lldp:lldp", document.get("lldp"))
    if isinstance(tree, dict) and isinstance(tree.get("interfaces"), dict):
        return openconfig_switch(
            tree, document.get("openconfig-interfaces:interfaces", document.get("interfaces")), name
        )
    if tree is not None or "local-chassis" in document:
        return _lldpd_switch(tree, document.get("local-chassis"), name)
    return None


def _lldpd_switch(tree: object, local: object, name: str) -> Switch:
    own, chassis = _parse_chassis(_first_object(_get_field(local, "chassis")))
    neighbours = []
    for entry in _list_objects(_get_field(_first_object(tree), "interface")):
        # Plain json: {"swp1": {...}}; json0: {"name": "swp1", ...}.
        named = [(entry["name"], entry)] if isinstance(entry.get("name"), str) else list(entry.items())
        neighbours += [_lldpd_neighbour(str(port), about) for port, about in named if isinstance(about, dict)]
    return Switch(own or name, chassis, {}, neighbours)


def _lldpd_neighbour(port: str, about: Mapping[str, Any]) -> Neighbour:
    chassis, far = _first_object(about.get("chassis")), _first_object(about.get("port"))
    name, mac = _parse_chassis(chassis)
    described = chassis if "id" in chassis else _first_object(next(iter(chassis.values()), {}))
    enabled = [
        _unwrap_text(capability.get("type"))
        for capability in _list_objects(described.get("capability"))
        if capability.get("enabled") is True
    ]
    identity = _first_object(far.get("id"))
    return Neighbour(
        port,
        name,
        mac,
        _unwrap_text(identity.get("value")),
        _unwrap_text(far.get("descr")),
        by_mac=_unwrap_text(identity.get("type")) == "mac",
        forwards=any(kind.lower() in _FORWARDING for kind in enabled),
    )


def _parse_chassis(chassis: Mapping[str, Any]) -> tuple[str, str]:
    """Return name and chassis id: the name is the surrounding key, a field of json0, or missing."""
    if "id" in chassis:
        return _unwrap_text(chassis.get("name")), _unwrap_text(_first_object(chassis.get("id")).get("value"))
    name = next(iter(chassis), "")
    return str(name), _unwrap_text(_first_object(_first_object(chassis.get(name)).get("id")).get("value"))


def openconfig_switch(tree: Mapping[str, Any], interfaces: object, name: str) -> Switch:
    """Build the switch from OpenConfig's `lldp` and, for speeds, `interfaces`."""
    state = {**_first_object(tree.get("config")), **_first_object(tree.get("state"))}
    ports = {}
    for interface in _list_objects(_get_field(interfaces, "interface")):
        ethernet = _first_object(interface.get("openconfig-if-ethernet:ethernet", interface.get("ethernet")))
        speeds = {**_first_object(ethernet.get("config")), **_first_object(ethernet.get("state"))}
        if ethernet and isinstance(interface.get("name"), str):
            ports[interface["name"]] = Port("", openconfig_rate(speeds.get("port-speed")))
    neighbours = [
        openconfig_neighbour(interface["name"], near)
        for interface in _list_objects(_get_field(tree.get("interfaces"), "interface"))
        if isinstance(interface.get("name"), str)
        for near in _list_objects(_get_field(interface.get("neighbors"), "neighbor"))
    ]
    return Switch(
        _unwrap_text(state.get("system-name")) or name, _unwrap_text(state.get("chassis-id")), ports, neighbours
    )


def openconfig_neighbour(port: str, near: Mapping[str, Any]) -> Neighbour:
    """Build a neighbour from the state and capabilities in openconfig-lldp.yang."""
    state = _first_object(near.get("state"))
    enabled = [
        _unwrap_text(capability.get("name", _first_object(capability.get("state")).get("name")))
        for capability in _list_objects(_get_field(near.get("capabilities"), "capability"))
        if _first_object(capability.get("state")).get("enabled") is True
    ]
    return Neighbour(
        port,
        _unwrap_text(state.get("system-name")),
        _unwrap_text(state.get("chassis-id")),
        _unwrap_text(state.get("port-id")),
        _unwrap_text(state.get("port-description")),
        by_mac=_unwrap_text(state.get("port-id-type")).endswith("MAC_ADDRESS"),
        forwards=any(kind.rpartition(":")[2].lower() in _FORWARDING for kind in enabled),
    )


def openconfig_rate(speed: object) -> float:
    """Convert an identity such as `SPEED_400GB` to bits per second; NaN if unknown."""
    match = _SPEED.fullmatch(_unwrap_text(speed).rpartition(":")[2])
    return int(match.group(1)) * _UNITS.get(match.group(2), 1.0) if match else float("nan")


def _get_field(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _first_object(value: object) -> Mapping[str, Any]:
    """Return an object, or the first of a list; empty if there is none."""
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, dict) else {}


def _list_objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list, or a single object as a list."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _unwrap_text(value: object) -> str:
    """Return a text, unwrapped from json0's form."""
    if isinstance(value, list | dict):
        value = _first_object(value).get("value")
    return value.strip() if isinstance(value, str) else ""
