"""A traffic matrix between places: leaf switches (sums over neighbours above 128 of them) or groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric

#: Limit of rows in a matrix; above it, neighbouring routers are summed.
MOST_ROWS = 128


@dataclass(frozen=True)
class PlaceMatrix:
    """labels: of the places;  values (places, places): bytes from column to row"""

    labels: list[str]
    values: NDArray[np.float64]


def by_place(fabric: Fabric, traffic: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], by: str) -> PlaceMatrix:
    """Return the traffic (src, dst, bytes) of endpoints summed by `router` or `group`."""
    labels, place = _label_places(fabric, by)
    src, dst, size = traffic
    count = len(labels)
    values = np.bincount(place[dst] * count + place[src], size, minlength=count * count).astype(float)
    return PlaceMatrix(labels, values.reshape(count, count))


def _label_places(fabric: Fabric, by: str) -> tuple[list[str], NDArray[np.int64]]:
    router = np.asarray(fabric.endpoints.router, np.int64)
    if by == "group":
        group_ids, place = np.unique(np.asarray(fabric.routers.group)[router], return_inverse=True)
        return ["unknown" if number < 0 else str(number) for number in group_ids.tolist()], place
    routers, place = np.unique(router, return_inverse=True)
    names = [str(fabric.routers.name[number]) for number in routers.tolist()]
    if len(names) <= MOST_ROWS:
        return names, place
    each = -(-len(names) // MOST_ROWS)
    starts = range(0, len(names), each)
    return [f"{names[a]} to {names[min(a + each, len(names)) - 1]}" for a in starts], place // each
