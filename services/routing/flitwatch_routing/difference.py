"""What loading other tables would change: entries, switches and destinations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.lft import Dump

#: Switches that are named.
MOST_NAMED = 10


@dataclass(frozen=True)
class Difference:
    """Two dumps of one fabric, entry by entry; entries for endpoints of which either dump does not tell the LID are left out.

    entries: compared;  changed: other ports, and entries that one alone has;  added, removed: of these, only in the second, only in the first
    switches, destinations: how many have a changed entry;  unknown_endpoints: endpoints left out;  most: switches with most changed entries, with their numbers
    """

    entries: int
    changed: int
    added: int
    removed: int
    switches: int
    destinations: int
    unknown_endpoints: int
    most: tuple[tuple[str, int], ...]


def difference(fabric: Fabric, before: Dump, after: Dump) -> Difference:
    """How `after` differs from `before`."""
    known = ~(before.unknown | after.unknown)
    old, new = (one.ports.reshape(len(fabric.routers), len(known), -1)[:, known] for one in (before, after))
    other = old != new
    by_switch = other.sum(axis=(1, 2))
    first = np.argsort(-by_switch, kind="stable")[:MOST_NAMED]
    return Difference(
        entries=int(((old >= 0) | (new >= 0)).sum()), changed=int(other.sum()), added=int((other & (old < 0)).sum()),
        removed=int((other & (new < 0)).sum()), switches=int((by_switch > 0).sum()), destinations=int(other.any(axis=(0, 2)).sum()),
        unknown_endpoints=int((~known).sum()),
        most=tuple((str(fabric.routers.name[one]), int(by_switch[one])) for one in first.tolist() if by_switch[one]),
    )  # fmt: skip
