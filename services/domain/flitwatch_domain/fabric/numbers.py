"""Numbers of a topology that replaces a stored one: counters and ended jobs are stored by number, so parts that still exist keep theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric.arrays import Endpoints, Links, Routers
from flitwatch_domain.fabric.model import Fabric

#: Attributes with one value per router and per endpoint.
_OF_ROUTERS = ("switch_lids", "descriptions", "device_ids", "models", "port_names", "chip_ports")
_OF_ENDPOINTS = ("adapters", "adapter_guids", "adapter_ports", "lids", "lmc", "topology_nodes")
_MOST_EXAMPLES = 3

#: Parts that a topology lost and that are remembered.
_MOST_ABSENT = 10_000

#: Keys of all parts, from the most certain to the least; a part without a key has None.
_Keys = Sequence[Sequence[Hashable]]


class Renumbered(NamedTuple):
    """A topology with the numbers of the stored one, and a warning for each kind of part whose numbers pass to others."""

    fabric: Fabric
    warnings: tuple[str, ...]


def keep_numbers(fabric: Fabric, stored: Fabric) -> Renumbered:
    """Give the routers, endpoints, links and named ports of a topology the numbers that they have in the stored one.

    A router or endpoint is the same if it has the same GUID, or else the same name (an endpoint: host and adapter). New parts get unused numbers. Numbers
    have no gaps, so while a part is absent, a new part or the last one has its number. If it comes back, it gets the number again unless a new part has it.
    Attribute `numbers` remembers absent parts and those that have another part's number.
    """
    routers = _number_parts(_list_routers(fabric), _list_routers(stored), _Memory.of(stored, "routers"))
    endpoints = _number_parts(_list_endpoints(fabric), _list_endpoints(stored), _Memory.of(stored, "endpoints"))
    renumbered = _keep_links(_reorder(fabric, routers.numbers, endpoints.numbers, stored), stored)
    memories = {"routers": routers.memory.as_attribute(), "endpoints": endpoints.memory.as_attribute()}
    if any(any(memory.values()) for memory in memories.values()):
        renumbered = replace(renumbered, attributes={**renumbered.attributes, "numbers": memories})
    return Renumbered(
        renumbered, (*_describe_reuse("switches", routers.passed), *_describe_reuse("hosts", endpoints.passed))
    )


class _Part(NamedTuple):
    """A router, or an endpoint with its adapter, by GUID and name."""

    guid: str | None
    name: str
    adapter: str | None = None


@dataclass
class _Memory:
    """First numbers of parts that have another part's number, by their number, and of absent parts."""

    moved: dict[int, int] = field(default_factory=dict)
    absent: list[tuple[int, _Part]] = field(default_factory=list)

    @classmethod
    def of(cls, stored: Fabric, what: str) -> _Memory:
        memory = stored.attributes.get("numbers", {}).get(what, {})
        absent = [(int(first), _Part(*part)) for first, part in memory.get("absent", [])]
        return cls({int(number): int(first) for number, first in memory.get("moved", [])}, absent)

    def as_attribute(self) -> dict[str, list[Any]]:
        """Return it as JSON."""
        return {
            "moved": sorted([number, first] for number, first in self.moved.items()),
            "absent": [[first, list(part)] for first, part in self.absent[:_MOST_ABSENT]],
        }


class _Numbering(NamedTuple):
    """The number of each part, what to remember, and the names of parts with those to which their numbers passed."""

    numbers: NDArray[np.int64]
    memory: _Memory
    passed: list[tuple[str, str]]


def _list_routers(fabric: Fabric) -> list[_Part]:
    return [_Part(guid or None, str(name)) for guid, name in zip(fabric.routers.guid, fabric.routers.name, strict=True)]


def _list_endpoints(fabric: Fabric) -> list[_Part]:
    ends, count = fabric.endpoints, len(fabric.endpoints)
    adapters = _values_of(fabric, "adapters", count) or [None] * count
    return [
        _Part(guid or None, str(node), adapter)
        for guid, node, adapter in zip(ends.guid, ends.node, adapters, strict=True)
    ]


def _list_keys(parts: Sequence[_Part]) -> _Keys:
    return [
        [part.guid for part in parts],
        _count_repeats((part.name, part.adapter) for part in parts),
        _count_repeats(part.name for part in parts),
    ]


def _count_repeats(keys: Iterable[Hashable]) -> list[Hashable]:
    """Return each key with the number of its earlier occurrences."""
    counts: defaultdict[Hashable, int] = defaultdict(int)
    numbered: list[Hashable] = []
    for key in keys:
        numbered.append((key, counts[key]))
        counts[key] += 1
    return numbered


def _values_of(fabric: Fabric, attribute: str, count: int) -> list[Any]:
    """Return an attribute with one value per part; empty if the fabric lacks it."""
    values = fabric.attributes.get(attribute)
    return values if isinstance(values, list) and len(values) == count else []


def _match_keys(keys: _Keys, earlier: _Keys) -> list[int]:
    """Return the earlier part that each part is, -1 if none."""
    matched = [-1] * len(keys[0])
    taken: set[int] = set()
    for own, theirs in zip(keys, earlier, strict=True):
        by_key: dict[Hashable, int] = {}
        for at, key in enumerate(theirs):
            if key is not None and at not in taken:
                by_key.setdefault(key, at)
        for part, key in enumerate(own):
            if matched[part] < 0 and (at_key := by_key.pop(key, None)) is not None:
                matched[part] = at_key
                taken.add(at_key)
    return matched


def _number_parts(parts: Sequence[_Part], stored: Sequence[_Part], memory: _Memory) -> _Numbering:
    """Number parts: by their first number, or else by the present one, or else by a free one."""
    count = len(parts)
    earlier = [*stored, *(part for _, part in memory.absent)]
    first = [*(memory.moved.get(at, at) for at in range(len(stored))), *(number for number, _ in memory.absent)]
    matched = _match_keys(_list_keys(parts), _list_keys(earlier))
    present = [part for part, at in enumerate(matched) if 0 <= at < len(stored)]
    others = [part for part, at in enumerate(matched) if not 0 <= at < len(stored)]
    numbers: dict[int, int] = {}
    free = set(range(count))
    for claims in (
        [(part, first[matched[part]]) for part in present],
        [(part, first[matched[part]]) for part in others if matched[part] >= 0],
        [(part, matched[part]) for part in present],
    ):
        for part, number in claims:
            if part not in numbers and number in free:
                numbers[part] = number
                free.remove(number)
    # The highest numbers were never used, so new parts get these.
    rest = [part for part in (*present, *others) if part not in numbers]
    numbers |= dict(zip(rest, sorted(free), strict=True))
    moved = {
        numbers[part]: first[at]
        for part, at in enumerate(matched)
        if at >= 0 and first[at] != numbers[part] and (at < len(stored) or first[at] >= count)
    }
    matches = set(matched)
    absent = [(first[at], part) for at, part in enumerate(earlier) if at not in matches]
    owners = dict(memory.absent) | dict(enumerate(stored))
    passed = [
        (owner.name, parts[part].name)
        for part, number in sorted(numbers.items(), key=lambda item: item[1])
        if (owner := owners.get(number)) is not None
        and owner is not (earlier[matched[part]] if matched[part] >= 0 else None)
    ]
    return _Numbering(np.array([numbers[part] for part in range(count)]), _Memory(moved, absent), passed)


def _describe_reuse(what: str, passed: Sequence[tuple[str, str]]) -> list[str]:
    """Describe the parts whose numbers now belong to others."""
    if not passed:
        return []
    examples = ", ".join(f"{before} ({after})" for before, after in passed[:_MOST_EXAMPLES])
    more = f" and {len(passed) - _MOST_EXAMPLES} more" if len(passed) > _MOST_EXAMPLES else ""
    return [
        f"numbers of {what} pass to others: earlier counters of {examples}{more} are shown under the names in brackets"
    ]


def _reorder(fabric: Fabric, routers: NDArray[np.int64], endpoints: NDArray[np.int64], stored: Fabric) -> Fabric:
    """Return the fabric with these numbers of routers and endpoints, and the stored numbers of named ports."""
    by_router, by_endpoint = np.argsort(routers), np.argsort(endpoints)
    old, ends, links = fabric.routers, fabric.endpoints, fabric.links
    attributes = dict(fabric.attributes)
    for names, order in ((_OF_ROUTERS, by_router), (_OF_ENDPOINTS, by_endpoint)):
        for name in names:
            if values := _values_of(fabric, name, len(order)):
                attributes[name] = [values[part] for part in order.tolist()]
    vertices = np.concatenate([routers, len(routers) + endpoints])
    ports = _PortNumbers(attributes, stored)
    owner = routers[ends.router][by_endpoint]
    src, dst = vertices[links.src], vertices[links.dst]
    return replace(
        fabric,
        routers=Routers(
            old.name[by_router],
            guid=old.guid[by_router],
            group=old.group[by_router],
            row=old.row[by_router],
            col=old.col[by_router],
            level=old.level[by_router],
            coords=old.coords[by_router],
        ),
        endpoints=Endpoints(
            owner,
            port=ports.renumber(owner, ends.port[by_endpoint]),
            node=ends.node[by_endpoint],
            nid=ends.nid[by_endpoint],
            component_id=ends.component_id[by_endpoint],
            role=ends.role[by_endpoint],
            guid=ends.guid[by_endpoint],
        ),
        links=_replace_links(links, src, dst, ports.renumber(src, links.src_port), ports.renumber(dst, links.dst_port)),
        attributes=attributes,
    )


def _replace_links(
    links: Links, src: Any, dst: Any, src_port: Any, dst_port: Any, order: NDArray[np.int64] | None = None
) -> Links:
    """Return links with other ends, in another order."""
    order = np.arange(len(links)) if order is None else order
    return Links(
        src=src[order],
        dst=dst[order],
        src_port=src_port[order],
        dst_port=dst_port[order],
        link_class=links.link_class[order],
        bandwidth_bps=links.bandwidth_bps[order],
        multiplicity=links.multiplicity[order],
        classes=links.classes,
    )


class _PortNumbers:
    """Numbers of ports that have names: a name keeps its number, and a new name gets the next one. `attributes` get the names by number."""

    def __init__(self, attributes: dict[str, Any], stored: Fabric) -> None:
        self._numbers: list[NDArray[np.int64]] = []
        names, before = attributes.get("port_names"), _values_of(stored, "port_names", len(stored.routers))
        if not isinstance(names, list) or not before:
            return
        kept_names = []
        for router, own in enumerate(names):
            held = list(before[router]) if router < len(before) and set(before[router]) & set(own) - {""} else [""]
            held += [name for name in own if name and name not in held]
            number = {name: at for at, name in enumerate(held) if name}
            self._numbers.append(np.array([number.get(name, at) for at, name in enumerate(own)]))
            kept_names.append(held)
        attributes["port_names"] = kept_names

    def renumber(self, vertices: NDArray[Any], ports: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of ports of these vertices; those of endpoints stay unchanged."""
        if not self._numbers:
            return ports
        return np.array(
            [
                self._numbers[vertex][port]
                if vertex < len(self._numbers) and 0 <= port < len(self._numbers[vertex])
                else port
                for vertex, port in zip(vertices.tolist(), ports.tolist(), strict=True)
            ],
            np.int64,
        )


def _keep_links(fabric: Fabric, stored: Fabric) -> Fabric:
    links = fabric.links
    numbers = np.array(_match_keys([_link_keys(fabric)], [_link_keys(stored)]), np.int64)
    numbers[numbers >= len(links)] = -1
    numbers[numbers < 0] = np.setdiff1d(np.arange(len(links)), numbers)
    order = np.argsort(numbers)
    return replace(fabric, links=_replace_links(links, links.src, links.dst, links.src_port, links.dst_port, order))


def _link_keys(fabric: Fabric) -> list[Hashable]:
    """Return the ends of each link; an endpoint is a negative number, whatever the number of routers."""
    routers, links = len(fabric.routers), fabric.links
    ends = [np.where(vertex < routers, vertex, routers - vertex - 1).tolist() for vertex in (links.src, links.dst)]
    return _count_repeats(zip(*ends, links.src_port.tolist(), links.dst_port.tolist(), strict=True))
