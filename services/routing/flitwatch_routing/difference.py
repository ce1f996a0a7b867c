"""Effects of loading other tables: changed entries, switches and destinations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.lft import Dump

#: Number of switches named.
MOST_NAMED = 10


@dataclass(frozen=True)
class Difference:
    """Comparison of two dumps of one fabric by entry, including entries for switch LIDs. Destinations whose LID is unknown in a dump are omitted.

    entries: number compared;  changed: entries with different ports or in only one dump;  added, removed: changed entries only in the second, only in the first
    switches, destinations: numbers with a changed entry;  unknown_endpoints: omitted endpoints;  most: switches with most changed entries, and the counts
    """

    entries: int
    changed: int
    added: int
    removed: int
    switches: int
    destinations: int
    unknown_endpoints: int
    most: tuple[tuple[str, int], ...]


def compare_tables(fabric: Fabric, before: Dump, after: Dump) -> Difference:
    """Compare the tables `after` with the tables `before`."""
    known_endpoints = ~(before.unknown | after.unknown)
    old, new = (
        item.ports.reshape(len(fabric.routers), len(known_endpoints), -1)[:, known_endpoints]
        for item in (before, after)
    )
    destinations = int((old != new).any(axis=(0, 2)).sum())
    old, new = (item.reshape(len(fabric.routers), -1) for item in (old, new))
    if before.switch_ports is not None and after.switch_ports is not None:
        destinations += int((before.switch_ports != after.switch_ports).any(axis=0).sum())
        old, new = np.hstack([old, before.switch_ports]), np.hstack([new, after.switch_ports])
    other = old != new
    by_switch = other.sum(axis=1)
    first = np.argsort(-by_switch, kind="stable")[:MOST_NAMED]
    return Difference(
        entries=int(((old >= 0) | (new >= 0)).sum()),
        changed=int(other.sum()),
        added=int((other & (old < 0)).sum()),
        removed=int((other & (new < 0)).sum()),
        switches=int((by_switch > 0).sum()),
        destinations=destinations,
        unknown_endpoints=int((~known_endpoints).sum()),
        most=tuple(
            (str(fabric.routers.name[item]), int(by_switch[item])) for item in first.tolist() if by_switch[item]
        ),
    )
