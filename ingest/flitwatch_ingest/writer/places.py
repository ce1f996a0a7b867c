"""Destination of an instance's counts, from component to endpoint to router, using the stored fabrics."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_core.codec import Ledger
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain import cray
from flitwatch_domain.counters.units import stall_worth
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_ingest.schemas import RowKind
from flitwatch_ingest.schemas.charts import LINK_CLASSES
from flitwatch_ingest.writer.ports import FabricPorts, Owner, unresolved_reason

NOWHERE = (-1, -1, -1, -1, -1)


@dataclass(frozen=True)
class Place:
    """Place of an instance in a fabric; `reason` explains a missing place."""

    fabric_id: int = -1
    router: int = -1
    port: int = -1
    endpoints: tuple[int, ...] = NOWHERE
    device: str = ""
    reason: str = ""


@dataclass
class _Known:
    fabric_id: int
    fabric: Fabric
    by_component: dict[int, list[int]] = field(default_factory=dict)
    nics: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def ports(self) -> FabricPorts:
        """Ports by GUID, LID and name, built on first use."""
        return FabricPorts(self.fabric)


class Places:
    """The fabrics of a database, reread when they change.

    Parameters
    ----------
    ledger : Ledger
        Called with the wiring of each fabric.
    fabric : str, optional
        The only fabric to look in, by name or id.
    """

    def __init__(self, ledger: Ledger, fabric: str | None = None) -> None:
        self._ledger = ledger
        self._only = fabric
        self._known: dict[int, _Known] = {}
        self._seen: tuple[Any, ...] = ()

    @property
    def fabric_ids(self) -> list[int]:
        """Return the fabrics with wiring."""
        return sorted(self._known)

    def simulated(self, fabric_id: int) -> bool:
        """Return whether the fabric is marked simulated."""
        return self._known[fabric_id].fabric.simulated

    def name(self, fabric_id: int) -> str:
        return self._known[fabric_id].fabric.name

    def changed(self, conn: psycopg.Connection[Any]) -> bool:
        """Return whether fabrics were added, removed or changed since `refresh`."""
        return _sign_fabrics(conn, self._list_rows(conn)) != self._seen

    def refresh(self, conn: psycopg.Connection[Any]) -> None:
        rows = self._list_rows(conn)
        self._seen = _sign_fabrics(conn, rows)
        self._known = {
            row.fabric_id: self._wire_fabric(row.fabric_id, fabrics.load_fabric(conn, row.fabric_id)) for row in rows
        }

    def _list_rows(self, conn: psycopg.Connection[Any]) -> list[fabrics.FabricRow]:
        return [row for row in fabrics.list_all(conn) if not row.snapshot and self._is_wanted(row)]

    def _is_wanted(self, row: fabrics.FabricRow) -> bool:
        return self._only is None or self._only in (row.name, str(row.fabric_id))

    def _wire_fabric(self, fabric_id: int, fabric: Fabric) -> _Known:
        counted = fabric.counted_links()
        codes = np.zeros(len(fabric.links.classes) + 1, np.uint8)
        for code, name in enumerate(fabric.links.classes):
            codes[code] = 1 + LINK_CLASSES.index(str(name)) if str(name) in LINK_CLASSES else 0
        link_class = np.full(counted.shape, len(fabric.links.classes), np.int64)
        link_class[counted >= 0] = fabric.links.link_class[counted[counted >= 0]]
        self._ledger.wire(
            fabric_id, np.ascontiguousarray(codes[link_class]), len(fabric.endpoints), *_capacity_rates(fabric, counted)
        )
        known_fabric = _Known(fabric_id, fabric)
        by_component: dict[int, list[int]] = defaultdict(list)
        by_router: dict[int, list[int]] = defaultdict(lambda: list(NOWHERE))
        order = np.lexsort((fabric.endpoints.port, fabric.endpoints.component_id))
        for endpoint in order.tolist():
            component = int(fabric.endpoints.component_id[endpoint])
            if component >= 0:
                by_component[component].append(endpoint)
            slot = (int(fabric.endpoints.port[endpoint]) - cray.NETWORK_TILES) // 2
            if fabric.technology is Technology.CRAY_XC and 0 <= slot < cray.NODES_PER_ROUTER:
                by_router[int(fabric.endpoints.router[endpoint])][slot] = endpoint
        known_fabric.by_component = dict(by_component)
        known_fabric.nics = {router: tuple(nics) for router, nics in by_router.items()}
        return known_fabric

    def find(self, kind: RowKind, component: int | None, owner: Owner, hint: str) -> Place:
        """Find the place of a set.

        Parameters
        ----------
        kind : RowKind
            ROUTER, ENDPOINT or PORT.
        component : int or None
            LDMS's component_id.
        owner : Owner
            The set's description of its port.
        hint : str
            The router's name, if the set contains it.
        """
        named = f"component {component}" if component is not None else "a set without component_id"
        named = named if kind is RowKind.ROUTER else str(owner) if owner != Owner() else named
        if not self._known:
            which = f"fabric {self._only!r} is not" if self._only else "no fabric is"
            return Place(device=named, reason=f"{which} in the database: import one with `flitwatch import fabric`")
        places = [
            p for entry in self._known.values() if (p := self._find_in(entry, kind, component, owner, hint)) is not None
        ]
        good = [p for p in places if not p.reason]
        if len(good) == 1:
            return good[0]
        if good:
            names = ", ".join(self.name(p.fabric_id) for p in good)
            return Place(
                device=named, reason=f"{named} is in several fabrics ({names}): start the writer with --fabric"
            )
        if places:
            return places[0]
        fabrics = [self.name(f) for f in self.fabric_ids]
        if kind is RowKind.ROUTER:
            return Place(device=named, reason=f"{named} is not an endpoint of {', '.join(fabrics)}")
        return Place(device=named, reason=unresolved_reason(fabrics, owner, component))

    def _find_in(self, known: _Known, kind: RowKind, component: int | None, owner: Owner, hint: str) -> Place | None:
        endpoints = known.by_component.get(component, []) if component is not None else []
        if kind is RowKind.ROUTER:
            return self._find_router(known, endpoints, hint)
        port = known.ports.find(owner, endpoints)
        if port is None:
            return None
        if port.reason:
            return Place(device=port.device, reason=port.reason)
        own = (*NOWHERE[:4], port.endpoint)
        return Place(known.fabric_id, port.router, port.port, own, port.device)

    def _find_router(self, known: _Known, endpoints: list[int], hint: str) -> Place | None:
        fabric = known.fabric
        if endpoints:
            router, device = int(fabric.endpoints.router[endpoints[0]]), str(fabric.endpoints.node[endpoints[0]])
        elif hint and hint in fabric.router_by_name:
            router = fabric.router_by_name[hint]
            device = hint
        else:
            return None
        if fabric.technology is not Technology.CRAY_XC:
            return Place(device=device, reason=f"{fabric.name} is {fabric.technology}: it has no Aries tiles")
        return Place(known.fabric_id, router, -1, known.nics.get(router, NOWHERE), device)


def _capacity_rates(fabric: Fabric, counted: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the data counts that ports (R, P) and endpoints (E,) could send per unit of stall; NaN if unknown."""
    links, routers = fabric.links, len(fabric.routers)
    worth = stall_worth(fabric)
    of_endpoints = np.full(len(fabric.endpoints), np.nan)
    sends = np.flatnonzero(links.src >= routers)
    of_endpoints[links.src[sends] - routers] = worth[sends]
    return np.append(worth, np.nan)[counted], of_endpoints


def _sign_fabrics(conn: psycopg.Connection[Any], rows: list[fabrics.FabricRow]) -> tuple[Any, ...]:
    """Return a value that changes when a fabric is added, removed, renamed or stored again."""
    versions = fabrics.list_versions(conn)
    return tuple((row.fabric_id, row.name, versions.get(row.fabric_id)) for row in rows)
