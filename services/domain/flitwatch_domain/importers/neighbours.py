"""Files with LLDP neighbours: dumps of SONiC's databases, `lldpctl -f json`, and OpenConfig's `lldp` tree, of one switch or of several.

Of several switches: `{"leaf1": DOCUMENT, "leaf2": DOCUMENT}`, or a folder with a file a switch. lldpd's forms are those of `lldpcli -f json` and `-f json0`
(lldpcli(8)); its neighbours do not say whose they are, so `show chassis` may stand beside them (`{"lldp": ..., "local-chassis": ...}`), and else the file's name is
the switch's. OpenConfig's are those of openconfig-lldp.yang in JSON_IETF (RFC 7951), with openconfig-interfaces beside it for the ports' speeds.
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
    """Whether a text may hold LLDP neighbours."""
    return text.lstrip()[:1] in ("{", "[") and any(mark in text for mark in _MARKS)


def parse(text: str, where: str, name: str) -> Fabric:
    """The fabric of a file; raises BadInput where it is none of the forms."""
    return fabric_of(list(switches_of(text, where, name)), where, name)


def parse_files(files: Mapping[str, str], where: str, name: str) -> Fabric:
    """The fabric of several files by the names of their switches."""
    found = [switch for own, text in files.items() for switch in switches_of(text, f"{where}/{own}", own)]
    return fabric_of(found, where, name)


def switches_of(text: str, where: str, name: str) -> Iterator[Switch]:
    """The switches of a file; `name` is one's that says none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise BadInput(f"is no JSON: {bad}", where=where) from bad
    if (switch := _switch(document, name)) is not None:
        yield switch
        return
    found = [
        switch
        for own, inner in (document.items() if isinstance(document, dict) else ())
        if (switch := _switch(inner, str(own))) is not None
    ]
    if not found:
        raise BadInput(
            "holds no LLDP neighbours",
            where=where,
            advice="Give what `sonic-db-dump -n APPL_DB -y` or `lldpctl -f json` prints, OpenConfig's /lldp, or an object with one of them by switch.",
        )
    yield from found


def _switch(document: object, name: str) -> Switch | None:
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
    own, chassis = _chassis(_one(_field(local, "chassis")))
    neighbours = []
    for entry in _many(_field(_one(tree), "interface")):
        # Plain json: {"swp1": {...}}; json0: {"name": "swp1", ...}.
        named = [(entry["name"], entry)] if isinstance(entry.get("name"), str) else list(entry.items())
        neighbours += [_lldpd_neighbour(str(port), about) for port, about in named if isinstance(about, dict)]
    return Switch(own or name, chassis, {}, neighbours)


def _lldpd_neighbour(port: str, about: Mapping[str, Any]) -> Neighbour:
    chassis, far = _one(about.get("chassis")), _one(about.get("port"))
    name, mac = _chassis(chassis)
    described = chassis if "id" in chassis else _one(next(iter(chassis.values()), {}))
    enabled = [_text(one.get("type")) for one in _many(described.get("capability")) if one.get("enabled") is True]
    identity = _one(far.get("id"))
    return Neighbour(
        port,
        name,
        mac,
        _text(identity.get("value")),
        _text(far.get("descr")),
        by_mac=_text(identity.get("type")) == "mac",
        forwards=any(kind.lower() in _FORWARDING for kind in enabled),
    )


def _chassis(chassis: Mapping[str, Any]) -> tuple[str, str]:
    """Name and identity: the name is the key around them, a field of json0, or absent."""
    if "id" in chassis:
        return _text(chassis.get("name")), _text(_one(chassis.get("id")).get("value"))
    name = next(iter(chassis), "")
    return str(name), _text(_one(_one(chassis.get(name)).get("id")).get("value"))


def openconfig_switch(tree: Mapping[str, Any], interfaces: object, name: str) -> Switch:
    """The switch of OpenConfig's `lldp` and, for speeds, `interfaces`."""
    state = {**_one(tree.get("config")), **_one(tree.get("state"))}
    ports = {}
    for one in _many(_field(interfaces, "interface")):
        ethernet = _one(one.get("openconfig-if-ethernet:ethernet", one.get("ethernet")))
        speeds = {**_one(ethernet.get("config")), **_one(ethernet.get("state"))}
        if ethernet and isinstance(one.get("name"), str):
            ports[one["name"]] = Port("", openconfig_rate(speeds.get("port-speed")))
    neighbours = [
        openconfig_neighbour(one["name"], near)
        for one in _many(_field(tree.get("interfaces"), "interface"))
        if isinstance(one.get("name"), str)
        for near in _many(_field(one.get("neighbors"), "neighbor"))
    ]
    return Switch(_text(state.get("system-name")) or name, _text(state.get("chassis-id")), ports, neighbours)


def openconfig_neighbour(port: str, near: Mapping[str, Any]) -> Neighbour:
    """A neighbour of openconfig-lldp.yang: its state, and its capabilities."""
    state = _one(near.get("state"))
    enabled = [
        _text(one.get("name", _one(one.get("state")).get("name")))
        for one in _many(_field(near.get("capabilities"), "capability"))
        if _one(one.get("state")).get("enabled") is True
    ]
    return Neighbour(
        port,
        _text(state.get("system-name")),
        _text(state.get("chassis-id")),
        _text(state.get("port-id")),
        _text(state.get("port-description")),
        by_mac=_text(state.get("port-id-type")).endswith("MAC_ADDRESS"),
        forwards=any(kind.rpartition(":")[2].lower() in _FORWARDING for kind in enabled),
    )


def openconfig_rate(speed: object) -> float:
    """Bits a second of an identity as `SPEED_400GB`; NaN unknown."""
    match = _SPEED.fullmatch(_text(speed).rpartition(":")[2])
    return int(match.group(1)) * _UNITS.get(match.group(2), 1.0) if match else float("nan")


def _field(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _one(value: object) -> Mapping[str, Any]:
    """An object, or the first of a list of them; empty where there is none."""
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, dict) else {}


def _many(value: object) -> list[Mapping[str, Any]]:
    """Objects of a list, or the one that stands for itself."""
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _text(value: object) -> str:
    """A text, or what json0 wraps it in."""
    if isinstance(value, list | dict):
        value = _one(value).get("value")
    return value.strip() if isinstance(value, str) else ""
