"""Mapping of a row schema's counters to table columns, in the form of the core's tallies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import codec
from flitwatch_domain.counters import ENDPOINT_COLUMNS, LANES, LINK_CLASS_COLUMNS, ROUTER_COLUMNS, CounterUse, Scope
from flitwatch_domain.fabric import Technology
from flitwatch_ingest.schemas.rows import RowKind, RowSchema

PORT_ARRAYS = ("flits", "stall_cycles", "packets")
LANE_ARRAYS = ("sl_flits", "stall_cycles", "packets")
#: Traffic classes by the core's code for a port (0: none of them).
LINK_CLASSES = ("green", "black", "blue")
#: Number of tiles in a counter that is summed over the router.
_ALL_TILES = {"rt_flits": 40, "pt_flits": 8}
_OWN_ENDPOINT = 4
#: For a cell whose set does not count the time of its port.
_UNTIMED = -1
#: Every exporter has these: they count the time if a record contains a single counter.
_MEASURES_TIME = frozenset({"port_tx_words", "port_tx_flits", "port_tx_bytes", "nic_tx_bytes"})


def require_columns(core: Any) -> None:
    """Check that the counter tables have the columns that the noise core was built for. Raise ImportError if they differ, so sums would go to wrong
    columns."""
    classes = [column for name in LINK_CLASSES for column in LINK_CLASS_COLUMNS[name]]
    at = core.CLASS_COLUMNS
    same = (
        len(ROUTER_COLUMNS) == core.ROUTER_COLUMNS
        and len(ENDPOINT_COLUMNS) == core.ENDPOINT_COLUMNS
        and list(ROUTER_COLUMNS[at : at + len(classes)]) == classes
        and (LANES, len(LANE_ARRAYS)) == (core.LANES, core.LANE_ARRAYS)
    )
    if not same:
        raise ImportError("the noise core was built for other counter columns. Rebuild flitwatch-core")


require_columns(codec)

#: port, array, three router columns, class part, endpoint place, endpoint column, scale, tiles, lane, the lane's array, the port's scale,
#: nanoseconds of stall per count, width in bits of the device's stopping counter
Cell = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int]
_NO_LANE = (-1, -1)


class Claims:
    """Numbers of counter names, shared by all feeds, so that two instances of a device do not count the same counter."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))


def chart_arrays(schema: RowSchema, claims: Claims) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint32]]:
    """Compile a schema's counters.

    Returns
    -------
    cells : int32[n, 15]
        Distinct sets of destinations.
    cell_of : int32[c]
        The cell of each counter. -1: the counter is checked but feeds no column.
    claim_of : uint32[c]
    """
    cells: dict[Cell, int] = {}
    cell_of, claim_of = [], []
    lone = _is_lone_counter(schema)
    for column in schema.columns:
        if column.use is None:
            continue
        cell = _CELLS[schema.kind](column.use)
        if cell is not None and lone and column.use.kind.canonical not in _MEASURES_TIME:
            cell = (*cell[:9], _UNTIMED, *cell[10:])
        cell_of.append(-1 if cell is None else cells.setdefault(cell, len(cells)))
        claim_of.append(claims.number(column.name))
    return (
        np.array(list(cells), np.int32).reshape(-1, len(Cell.__args__)),  # type: ignore[attr-defined]
        np.array(cell_of, np.int32),
        np.array(claim_of, np.uint32),
    )


def _is_lone_counter(schema: RowSchema) -> bool:
    """Return whether a record contains only one of a port's counters. Exporters send samples one at a time, and the port's time must be counted once."""
    uses = [column.use for column in schema.columns if column.use is not None]
    return len(uses) == 1 and uses[0].kind.technology is not Technology.CRAY_XC


def _router_cell(use: CounterUse) -> Cell | None:
    if use.kind.scope is Scope.NIC:
        return None if use.nic is None else _endpoint_cell(use, use.nic)
    columns = [ROUTER_COLUMNS.index(name) for name in use.router_columns]
    if not columns:
        return None
    port = -1 if use.port is None else use.port
    array = PORT_ARRAYS.index(use.kind.port_array) if use.kind.port_array and port >= 0 else -1
    tiles = _ALL_TILES.get(use.router_columns[0], 0) if port < 0 else 0
    part = {"rt_flits": 0, "rt_stall_cycles": 1}.get(use.router_columns[0], -1) if port >= 0 else -1
    a, b, c = [*columns, -1, -1][:3]
    return port, array, a, b, c, part, -1, -1, 1, tiles, *_NO_LANE, *_of_port(use)


def _endpoint_cell(use: CounterUse, place: int) -> Cell | None:
    if use.kind.endpoint_column is None:
        return None
    column = ENDPOINT_COLUMNS.index(use.kind.endpoint_column)
    lane = _find_lane(use) if place == _OWN_ENDPOINT else _NO_LANE
    return -1, -1, -1, -1, -1, -1, place, column, int(use.kind.endpoint_scale), 0, *lane, *_of_port(use)


def _of_port(use: CounterUse) -> tuple[int, int, int]:
    return int(use.kind.port_scale), use.kind.stall_units, use.kind.bits


def _find_lane(use: CounterUse) -> tuple[int, int]:
    """Return a counter's lane and its array in that lane."""
    if use.kind.lane_array is None or use.vc is None:
        return _NO_LANE
    return use.vc, LANE_ARRAYS.index(use.kind.lane_array)


def _port_cell(use: CounterUse) -> Cell | None:
    """Return the cell of the row's own port. A switch's port adds to its router and the port's arrays, an adapter's to its endpoint."""
    columns = [ROUTER_COLUMNS.index(name) for name in use.router_columns]
    array = PORT_ARRAYS.index(use.kind.port_array) if use.kind.port_array else -1
    endpoint = use.kind.endpoint_column
    lane = _find_lane(use)
    if not columns and endpoint is None and lane == _NO_LANE:
        return None
    a, b, c = [*columns, -1, -1, -1][:3]
    place, column = (_OWN_ENDPOINT, ENDPOINT_COLUMNS.index(endpoint)) if endpoint else (-1, -1)
    return codec.OWN_PORT, array, a, b, c, -1, place, column, int(use.kind.endpoint_scale), 0, *lane, *_of_port(use)


_CELLS: dict[RowKind, Callable[[CounterUse], Cell | None]] = {
    RowKind.ROUTER: _router_cell,
    RowKind.ENDPOINT: lambda use: _endpoint_cell(use, _OWN_ENDPOINT),
    RowKind.PORT: _port_cell,
}
