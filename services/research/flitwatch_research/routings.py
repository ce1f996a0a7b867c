"""Routes by name: computed from addresses, from forwarding tables, or from a subnet manager's dump."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from flitwatch_domain.errors import BadInput, BadRequest, TooCostly
from flitwatch_domain.importers.text import read_bytes
from flitwatch_domain.secret_file import local_path
from flitwatch_research import core_topology as topology
from flitwatch_research import flow
from flitwatch_research.topologies import NamedTopology

#: Cost of a global link in a dragonfly's minimal routes, larger than any detour inside the groups.
_GLOBAL_LINK_COST = 1000
#: 2 GB of tables, five times the size for the largest current machines.
MOST_TABLE_ENTRIES = 500_000_000


def routes_of(named: NamedTopology, routing: str | None = None) -> flow.Routes:
    """Compute the routes of a topology.

    Parameters
    ----------
    named : NamedTopology
    routing : str, optional
        dmodk (fat trees), dor (tori), minhop, updn, ftree, minimal and valiant (dragonflies), or lft:PATH in a `LocalText` (default:
        depends on the topology).

    Raises
    ------
    BadRequest
        The routing is unknown or does not fit the topology.
    TooCostly
        There are more than `MOST_TABLE_ENTRIES` entries in forwarding tables.
    BadInput
        A dump of forwarding tables cannot be read; the message contains the line.
    """
    if routing is None:
        return _first_that_fits(named)
    dump = local_path(routing, "lft:")
    if dump is not None:
        return _from_dump(named, dump)
    maker = _MAKERS.get(routing)
    if maker is None:
        raise BadRequest(f"unknown routing {routing!r}", advice=f"Use {', '.join(_MAKERS)} or lft:PATH")
    entries = named.core.routers * named.core.endpoints
    if routing not in ("dmodk", "dor") and entries > MOST_TABLE_ENTRIES:
        raise TooCostly(
            f"forwarding tables of {named.spec[:60]!r} have {entries:.3g} entries, more than {MOST_TABLE_ENTRIES:,}",
            advice="Choose a smaller topology, or a tree or torus with computed routes.",
        )
    try:
        return maker(named)
    except ValueError as bad:
        raise BadRequest(f"routing {routing} on {named.spec!r}: {bad}") from bad


def _first_that_fits(named: NamedTopology) -> flow.Routes:
    *preferred, last = named.default_routing
    for routing in preferred:
        try:
            return routes_of(named, routing)
        except BadRequest:
            continue
    return routes_of(named, last)


def _algorithmic_maker(kind: str) -> Callable[[NamedTopology], flow.Routes]:
    def make(named: NamedTopology) -> flow.Routes:
        if named.kind != kind:
            raise ValueError(f"needs a topology of kind {kind}")
        return flow.algorithmic_routes(named.core)

    return make


def _table_routes(named: NamedTopology, table: topology.RouteTable, name: str, valiant: bool = False) -> flow.Routes:
    return flow.table_routes(named.core, table, name, valiant)


def _minhop_routes(named: NamedTopology) -> flow.Routes:
    table = topology.cheapest_routes(named.core, [1] * len(named.core.class_names))
    return _table_routes(named, table, "minhop")


def _dragonfly_table(named: NamedTopology) -> topology.RouteTable:
    if not len(named.core.group):
        raise ValueError("needs a dragonfly")
    cost = [_GLOBAL_LINK_COST if class_name == "blue" else 1 for class_name in named.core.class_names]
    return topology.cheapest_routes(named.core, cost)


def _minimal_routes(named: NamedTopology) -> flow.Routes:
    return _table_routes(named, _dragonfly_table(named), "minimal")


def _valiant_routes(named: NamedTopology) -> flow.Routes:
    return _table_routes(named, _dragonfly_table(named), "valiant", valiant=True)


def _up_down(named: NamedTopology) -> flow.Routes:
    level = np.empty(0, np.uint32)
    if named.fabric is not None and (named.fabric.routers.level >= 0).all():
        level = named.fabric.routers.level.astype(np.uint32)
    return _table_routes(named, topology.up_down_routes(named.core, level), "updn")


def _ftree_routes(named: NamedTopology) -> flow.Routes:
    return _table_routes(named, topology.ftree_routes(named.core, opensm_order(named)), "ftree")


def opensm_order(named: NamedTopology) -> np.ndarray:
    """Return the order of switches in OpenSM's tables: by GUID, read on a little-endian host.

    Returns
    -------
    uint32[routers], or empty if the fabric has no GUIDs.
    """
    guids = _parse_guids(named.fabric.routers.guid) if named.fabric is not None else []
    if not guids or 0 in guids:
        return np.empty(0, np.uint32)
    swapped = [int.from_bytes(guid.to_bytes(8, "big"), "little") for guid in guids]
    return np.argsort(np.argsort(np.array(swapped, np.uint64), kind="stable"), kind="stable").astype(np.uint32)


def _parse_guids(texts: np.ndarray) -> list[int]:
    return [int(text, 16) if text else 0 for text in texts]


def _from_dump(named: NamedTopology, path: Path) -> flow.Routes:
    if named.fabric is None:
        raise BadRequest("forwarding tables name switches by GUID", advice="Use them with --topology file:PATH.")
    text = read_bytes(path)
    try:
        guids = _parse_guids(named.fabric.routers.guid), _parse_guids(named.fabric.endpoints.guid)
        table, _ = topology.table_from_dump(named.core, text, *guids)
        return _table_routes(named, table, "lft")
    except ValueError as bad:
        raise BadInput(str(bad), where=str(path)) from bad


_MAKERS: dict[str, Callable[[NamedTopology], flow.Routes]] = {
    "dmodk": _algorithmic_maker("xgft"),
    "dor": _algorithmic_maker("torus"),
    "minhop": _minhop_routes,
    "updn": _up_down,
    "ftree": _ftree_routes,
    "minimal": _minimal_routes,
    "valiant": _valiant_routes,
}
