"""Numbers of a topology that replaces a stored one: counters and ended jobs are stored by number, so parts that still exist keep theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric.arrays import Endpoints, Links, Routers
from flitwatch_domain.fabric.model import Fabric

#: Attributes with one value per router and per endpoint.
_OF_ROUTERS = ("switch_lids", "descriptions", "device_ids", "models", "port_names", "chip_ports")
_OF_ENDPOINTS = ("adapters", "adapter_guids", "adapter_ports", "lids", "lmc", "topology_nodes")
_MOST_EXAMPLES = 3

#: Keys of all parts, from the most certain to the least; a part without a key has None.
_Keys = Sequence[Sequence[Hashable]]


class Renumbered(NamedTuple):
    """A topology with the numbers of the stored one, and a warning for each kind of part whose numbers pass to others."""

    fabric: Fabric
    warnings: tuple[str, ...]


def keep_numbers(fabric: Fabric, stored: Fabric) -> Renumbered:
    """Give the routers, endpoints, links and named ports of a topology the numbers that they have in the stored one.

    A router or endpoint is the same if it has the same GUID, or else the same name (an endpoint: host and adapter). New parts get unused numbers. Numbers
    have no gaps, so each removed part passes its number to a new part, or to the last one.
    """
    routers = _find_numbers(_router_keys(fabric), _router_keys(stored))
    endpoints = _find_numbers(_endpoint_keys(fabric), _endpoint_keys(stored))
    warnings = (
        *_describe_reuse("switches", routers, fabric.routers.name, stored.routers.name),
        *_describe_reuse("hosts", endpoints, fabric.endpoints.node, stored.endpoints.node),
    )
    return Renumbered(_keep_links(_reorder(fabric, routers.new, endpoints.new, stored), stored), warnings)


class _Numbers(NamedTuple):
    """The stored number of each part, -1 if it has none, and its new number."""

    stored: NDArray[np.int64]
    new: NDArray[np.int64]


def _router_keys(fabric: Fabric) -> _Keys:
    return [_fill_keys(fabric.routers.guid), list(fabric.routers.name)]


def _endpoint_keys(fabric: Fabric) -> _Keys:
    nodes = [str(node) for node in fabric.endpoints.node]
    adapters = _values_of(fabric, "adapters", len(nodes)) or [None] * len(nodes)
    return [
        _fill_keys(fabric.endpoints.guid),
        _count_repeats(zip(nodes, adapters, strict=True)),
        _count_repeats(nodes),
    ]


def _fill_keys(guids: Iterable[Any]) -> list[Hashable]:
    return [guid or None for guid in guids]


def _count_repeats(keys: Iterable[Hashable]) -> list[Hashable]:
    """Return each key with the number of its earlier occurrences."""
    seen: defaultdict[Hashable, int] = defaultdict(int)
    numbered: list[Hashable] = []
    for key in keys:
        numbered.append((key, seen[key]))
        seen[key] += 1
    return numbered


def _values_of(fabric: Fabric, attribute: str, count: int) -> list[Any]:
    """Return an attribute with one value per part; empty if the fabric lacks it."""
    values = fabric.attributes.get(attribute)
    return values if isinstance(values, list) and len(values) == count else []


def _find_numbers(keys: _Keys, stored: _Keys) -> _Numbers:
    """Find the numbers of parts: each keeps its stored one where possible."""
    count = len(keys[0])
    former = np.full(count, -1)
    taken: set[int] = set()
    for own, theirs in zip(keys, stored, strict=True):
        by_key: dict[Hashable, int] = {}
        for number, key in enumerate(theirs):
            if key is not None and number not in taken:
                by_key.setdefault(key, number)
        for part, key in enumerate(own):
            if former[part] < 0 and (number_held := by_key.pop(key, None)) is not None:
                former[part] = number_held
                taken.add(number_held)
    numbers = np.where(former < count, former, -1)
    free = np.setdiff1d(np.arange(count), numbers)
    # The highest numbers were never used, so new parts get these. The last parts move to numbers of removed ones.
    new = np.flatnonzero(former < 0)
    last = np.flatnonzero(former >= count)
    numbers[np.concatenate([last, new])] = free
    return _Numbers(former, numbers)


def _describe_reuse(what: str, numbers: _Numbers, names: Sequence[Any], stored: Sequence[Any]) -> list[str]:
    """Describe the stored parts whose numbers now belong to others."""
    reused = np.flatnonzero((numbers.new != numbers.stored) & (numbers.new < len(stored)))
    pairs = [(str(stored[numbers.new[part]]), str(names[part])) for part in reused.tolist()]
    if not pairs:
        return []
    examples = ", ".join(f"{before} ({after})" for before, after in pairs[:_MOST_EXAMPLES])
    more = f" and {len(pairs) - _MOST_EXAMPLES} more" if len(pairs) > _MOST_EXAMPLES else ""
    return [
        f"the numbers of removed {what} pass to others: earlier counters of {examples}{more} are shown under the names in brackets"
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
    """Return the fabric with the stored numbers of links."""
    order = np.argsort(_find_numbers([_link_keys(fabric)], [_link_keys(stored)]).new)
    links = fabric.links
    return replace(fabric, links=_replace_links(links, links.src, links.dst, links.src_port, links.dst_port, order))


def _link_keys(fabric: Fabric) -> list[Hashable]:
    """Return the ends of each link; an endpoint is a negative number, whatever the number of routers."""
    routers, links = len(fabric.routers), fabric.links
    ends = [np.where(vertex < routers, vertex, routers - vertex - 1).tolist() for vertex in (links.src, links.dst)]
    return _count_repeats(zip(*ends, links.src_port.tolist(), links.dst_port.tolist(), strict=True))
