"""Counters of SONiC's COUNTERS_DB, from a dump or from Redis.

Tables: COUNTERS_PORT_NAME_MAP and COUNTERS_QUEUE_NAME_MAP map ports (`Ethernet0`) and queues (`Ethernet0:3`) to objects, COUNTERS_QUEUE_TYPE_MAP
marks the unicast queues, and `COUNTERS:oid:...` has the counters by SAI's names (sonic-net/sonic-swss, orchagent/portsorch.cpp; tables as in
sonic-net/sonic-utilities, tests/mock_tables/counters_db.json).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from flitwatch_domain import units
from flitwatch_domain.counters import LANES
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.sonic import Tables
from flitwatch_ingest.sources.ethernet import Reading

COUNTERS, PORT_NAMES, QUEUE_NAMES = "COUNTERS", "COUNTERS_PORT_NAME_MAP", "COUNTERS_QUEUE_NAME_MAP"
QUEUE_TYPES = "COUNTERS_QUEUE_TYPE_MAP"
MAPS = (PORT_NAMES, QUEUE_NAMES, QUEUE_TYPES)
_QUEUE = re.compile(r"(.+):([0-9]{1,3})")
_UNICAST = ("", "SAI_QUEUE_TYPE_UNICAST", "SAI_QUEUE_TYPE_ALL")


def reading_of(tables: Tables, at_s: float, where: str) -> Reading:
    """Return the counters of all ports.

    Multicast queues and queues beyond the tables' lanes are not read, because no priority pauses their traffic. Raise BadInput if the map of ports is
    missing.
    """
    names = tables.get(PORT_NAMES)
    if not names:
        raise BadInput(f"has no {PORT_NAMES}", where=where, advice="Give COUNTERS_DB: sonic-db-dump -n COUNTERS_DB -y.")
    reading = Reading(at_s)
    for port, oid in names.items():
        for name, value in tables.get(f"{COUNTERS}:{oid}", {}).items():
            add_counter(reading, port, name, value)
    for port, queue, oid in queues_of(tables):
        if port not in names:
            continue
        for name, value in tables.get(f"{COUNTERS}:{oid}", {}).items():
            add_counter(reading, port, name, value, str(queue))
    return reading


def queues_of(tables: Tables) -> Iterable[tuple[str, int, str]]:
    """Yield (port, number, object) of each unicast queue."""
    types = tables.get(QUEUE_TYPES, {})
    for name, oid in tables.get(QUEUE_NAMES, {}).items():
        match = _QUEUE.fullmatch(name)
        if match and is_lane(match.group(2)) and is_unicast(types.get(oid, "")):
            yield match.group(1), int(match.group(2)), oid


def is_lane(queue: str) -> bool:
    """Return whether the tables have a lane for a queue's number."""
    return units.parse_whole(queue, most=LANES - 1) is not None


def is_unicast(kind: str) -> bool:
    """Return whether a queue's type is unicast or unknown."""
    return kind in _UNICAST


def add_counter(reading: Reading, port: str, name: str, value: object, queue: str = "") -> None:
    """Add a field of a port or queue as a counter; settings and states are ignored."""
    # The table also has the watchdog's settings and states, which are words, and estimates with a decimal point.
    if name.startswith("SAI_QUEUE_STAT_"):
        reading.add(port, f"{name}_{queue}" if queue else name, value)
    elif name.startswith("SAI_PORT_STAT_"):
        reading.add(port, name, value)
    elif name.startswith("EST_PORT_STAT_PFC_") and name.endswith("_RX_PAUSE_DURATION_US"):
        reading.add(port, name, str(value).partition(".")[0])
