"""OpenConfig's trees from gNMI: counters by port and queue, and reconstruction of a document's tree.

Paths: openconfig-interfaces.yang and openconfig-if-ethernet.yang (/interfaces/interface/state/counters, .../ethernet/state), openconfig-qos.yang
(/qos/interfaces/interface/output/queues/queue/state), openconfig-lldp.yang (/lldp). Values come as single leaves or as JSON of a whole container (RFC 7951:
64-bit numbers are texts, and names may have a module prefix).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from flitwatch_domain.counters import LANES
from flitwatch_domain.importers.lldp import Switch
from flitwatch_domain.importers.neighbours import openconfig_switch
from flitwatch_ingest.sources.ethernet import Reading

#: An element of a path: its name and its keys.
Element = tuple[str, dict[str, str]]
Path = tuple[Element, ...]
#: Paths requested for counters, and for the topology.
COUNTER_PATHS = (
    "/interfaces/interface/state/counters",
    "/interfaces/interface/ethernet/state/counters",
    "/qos/interfaces/interface/output/queues/queue/state",
)
TOPOLOGY_PATHS = ("/lldp", "/interfaces/interface/ethernet/state/port-speed")
_MOST_DEPTH = 64
_NO_COUNTERS = frozenset({"name", "queue-management-profile", "last-clear"})
#: Names of queues; on nearly all switches they end in the queue's number: `3`, `UC3`, `Ethernet8:3`, `TC3`.
_NUMBER = re.compile(r"(?:.*\D)?([0-9]{1,3})")


def walk_leaves(path: Path, value: object) -> Iterator[tuple[Path, object]]:
    """Yield every leaf below a path. Objects in JSON lists get their keys from `name`, `interface-id` or `id`."""
    if len(path) > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            plain = str(name).rpartition(":")[2]
            if isinstance(inner, list) and inner and all(isinstance(entry, dict) for entry in inner):
                for entry in inner:
                    yield from walk_leaves((*path, (plain, _list_keys(entry))), entry)
            else:
                yield from walk_leaves((*path, (plain, {})), inner)
    else:
        yield path, value


def _list_keys(entry: dict[str, Any]) -> dict[str, str]:
    plain = {str(name).rpartition(":")[2]: value for name, value in entry.items()}
    return {key: str(plain[key]) for key in ("name", "interface-id", "id") if isinstance(plain.get(key), str | int)}


def add_counters(reading: Reading, updates: Iterable[tuple[Path, object]]) -> None:
    """Add the counters of all ports. A queue's number is the last number in its name."""
    for path, value in updates:
        for at, leaf in walk_leaves(path, value):
            names = [name for name, _ in at]
            if names[:2] == ["interfaces", "interface"] and "counters" in names[2:-1] and "name" in at[1][1]:
                _add_counter(reading, at[1][1]["name"], names[-1], "", leaf)
            elif names[:3] == ["qos", "interfaces", "interface"] and names[-2:-1] == ["state"] and "queue" in names:
                keys = at[names.index("queue")][1]
                port = at[2][1].get("interface-id", "")
                match = _NUMBER.fullmatch(keys.get("name", ""))
                if port and match and int(match.group(1)) < LANES:
                    _add_counter(reading, port, names[-1], f"-{int(match.group(1))}", leaf)


def _add_counter(reading: Reading, port: str, name: str, queue: str, leaf: object) -> None:
    # The container also has names and the time of the last clear.
    if name not in _NO_COUNTERS:
        reading.add(port, name + queue, leaf)


def switch_of(updates: Iterable[tuple[Path, object]], name: str) -> Switch:
    """Return the switch with its neighbours and its ports' speeds; `name` is used if the switch reports no name."""
    tree: dict[str, Any] = {}
    for path, value in updates:
        for at, leaf in walk_leaves(path, value):
            _insert_leaf(tree, at, leaf)
    lldp, interfaces = _restore_lists(tree.get("lldp")), _restore_lists(tree.get("interfaces"))
    return openconfig_switch(lldp if isinstance(lldp, dict) else {}, interfaces, name)


def _insert_leaf(tree: dict[str, Any], path: Path, leaf: object) -> None:
    here = tree
    for number, (name, keys) in enumerate(path):
        if number == len(path) - 1 and not keys:
            if not isinstance(here.get(name), dict):
                here[name] = leaf
            return
        inner = here.get(name)
        if not isinstance(inner, dict):
            inner = here[name] = {}
        if keys:
            inner = inner.setdefault(_Entry(sorted(keys.items())), dict(keys))
        here = inner


class _Entry(tuple[tuple[str, str], ...]):
    """The keys of a list's entry, distinct from field names."""


def _restore_lists(tree: object) -> object:
    """Return the tree with its entries converted back to lists."""
    if not isinstance(tree, dict):
        return tree
    entries = [inner for key, inner in tree.items() if isinstance(key, _Entry)]
    if entries:
        return [_restore_lists(inner) for inner in entries]
    return {name: _restore_lists(inner) for name, inner in tree.items()}
