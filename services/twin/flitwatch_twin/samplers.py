"""Samplers of a fabric. Four nodes share an Aries router and divide its tile columns; each samples at its own time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_twin.counters import NETWORK_TILES, NIC_METRICS, Counters, router_metric_names, tile_columns
from flitwatch_twin.ldms_sets import SetLayout

ALL_COLUMNS = tuple(range(8))

Sample = tuple[SetLayout, NDArray[np.int64], NDArray[np.int64]]


class Samplers:
    """All samplers of a machine.

    Parameters
    ----------
    sets : "quarter": node N of a router sends tile columns 2N and 2N + 1; "full": its first node sends every tile.
    nic_every_s : 0 omits NIC sets.
    """

    def __init__(self, fabric: Fabric, sets: str, every_s: int, nic_every_s: int, rng: np.random.Generator) -> None:
        self._every_s, self._nic_every_s = every_s, nic_every_s
        self._rng = rng
        self._late = rng.integers(900, 2600, len(fabric.endpoints))
        slot = (fabric.endpoints.port - NETWORK_TILES) // 2
        names = router_metric_names()
        self.router_layouts: list[tuple[SetLayout, NDArray[np.int64]]] = []
        for part in range(4) if sets == "quarter" else (0,):
            endpoints = np.flatnonzero(slot == part)
            columns = tile_columns((2 * part, 2 * part + 1) if sets == "quarter" else ALL_COLUMNS)
            if len(endpoints):
                metrics = tuple(names[column] for column in columns)
                rows = fabric.endpoints.router[endpoints].astype(np.int64)
                self.router_layouts.append(
                    (_make_layout(fabric, "aries_rtr_mmr", metrics, rows, columns, endpoints), endpoints)
                )
        everyone = np.arange(len(fabric.endpoints))
        nic = _make_layout(fabric, "aries_nic_mmr", NIC_METRICS, everyone, np.arange(len(NIC_METRICS)), everyone)
        self.nic_layout = (nic, everyone)

    @property
    def layouts(self) -> list[SetLayout]:
        """Return every layout to be sent."""
        nic = [self.nic_layout[0]] if self._nic_every_s else []
        return [layout for layout, _ in self.router_layouts] + nic

    def sample(self, counters: Counters, second: int) -> Iterator[Sample]:
        """Yield (layout, int64[D, M] values, int64[D] microseconds after the second) for every set due at this second."""
        late = self._late + self._rng.integers(0, 180, len(self._late))
        if second % self._every_s == 0:
            values = counters.router_values()
            for layout, endpoints in self.router_layouts:
                yield layout, layout.take(values), late[endpoints]
        if self._nic_every_s and second % self._nic_every_s == 0:
            layout, endpoints = self.nic_layout
            yield layout, layout.take(counters.nic_values()), late[endpoints] + 150


def _make_layout(
    fabric: Fabric,
    schema: str,
    metrics: tuple[str, ...],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    endpoints: NDArray[np.int64],
) -> SetLayout:
    endpoint_table = fabric.endpoints
    return SetLayout(
        schema=schema,
        metrics=metrics,
        rows=rows,
        columns=columns,
        component_ids=endpoint_table.component_id[endpoints],
        names=tuple(str(fabric.routers.name[router]) for router in endpoint_table.router[endpoints]),
        nodes=tuple(str(endpoint_table.node[endpoint]) for endpoint in endpoints),
    )
