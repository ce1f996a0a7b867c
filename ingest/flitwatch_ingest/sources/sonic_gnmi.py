"""Decoder for SONiC's databases from its gNMI telemetry server: counters from COUNTERS_DB, ports and neighbours from APPL_DB, the switch's
name from CONFIG_DB.

The database is the target of a path's prefix. A path consists of TABLE, KEY and FIELD, with JSON below (sonic-net/SONiC,
doc/system-telemetry/grpc_telemetry.md). Virtual paths name ports and queues, not objects: `COUNTERS/Ethernet*` is `{"Ethernet0": {counter: value}}`,
and `COUNTERS/Ethernet*/Queues` is `{"Ethernet0:3": {...}}`, with the vendor's port names (`etp1`) if the switch has them (sonic-net/sonic-gnmi,
sonic_data_client/virtual_db.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flitwatch_domain.importers.sonic import CHASSIS, METADATA, NEIGHBOURS, PORTS, Tables, rows_of, tables_of
from flitwatch_ingest.sources import sonic
from flitwatch_ingest.sources.ethernet import Reading
from flitwatch_ingest.sources.openconfig import Path

#: Paths by database. A path to a missing table makes the whole request fail.
COUNTERS_DB, APPL_DB, CONFIG_DB = "COUNTERS_DB", "APPL_DB", "CONFIG_DB"
PORT_PATH, QUEUE_PATH = "/COUNTERS/Ethernet*", "/COUNTERS/Ethernet*/Queues"
MAP_PATHS = (f"/{sonic.QUEUE_NAMES}", f"/{sonic.QUEUE_TYPES}")
NEIGHBOUR_PATHS = (f"/{NEIGHBOURS}",)
PORT_TABLE_PATHS = (f"/{PORTS}",)
NAME_PATHS = (f"/{METADATA}/localhost",)
_QUEUES = "Queues"


@dataclass
class Names:
    """A switch's names of ports, and its multicast queues.

    Attributes
    ----------
    ports : {vendor's name: SONiC's name}
    multicast : set of queues, `Ethernet0:9`
    """

    ports: dict[str, str] = field(default_factory=dict)
    multicast: frozenset[str] = frozenset()


def updates_to_tables(updates: Iterable[tuple[Path, object]]) -> Tables:
    """Return the hashes of updates in the form of a database dump."""
    merged: Tables = {}
    for path, value in updates:
        names = [name for name, _ in path]
        if not names or not isinstance(value, dict):
            continue
        between = "|" if names[0] == METADATA else ":"
        if len(names) > 1:
            merged |= tables_of({between.join(names): value})
        elif names[0] in (sonic.QUEUE_NAMES, sonic.QUEUE_TYPES, CHASSIS):
            merged |= tables_of({names[0]: value})
        else:
            merged |= tables_of({f"{names[0]}{between}{key}": row for key, row in value.items()})
    return merged


def names_of(found: Tables) -> Names:
    types = found.get(sonic.QUEUE_TYPES, {})
    queues = found.get(sonic.QUEUE_NAMES, {})
    return Names(
        {fields["alias"]: port for port, fields in rows_of(found, PORTS) if fields.get("alias")},
        frozenset(queue for queue, oid in queues.items() if not sonic.is_unicast(types.get(oid, ""))),
    )


def add_counters(reading: Reading, updates: Iterable[tuple[Path, object]], names: Names) -> None:
    """Add the counters in updates of the virtual paths. Other values are kept separately."""
    for path, value in updates:
        elements = [name for name, _ in path]
        if elements[:1] != [sonic.COUNTERS]:
            continue
        if not isinstance(value, dict) or not all(isinstance(inner, dict) for inner in value.values()):
            reading.bad["/".join(elements)[:200]] = str(value)[:200]
            continue
        queues = elements[-1] == _QUEUES
        for port, queue, counted in _split_rows(value, queues, names.ports):
            if queues and f"{port}:{queue}" in names.multicast:
                continue
            for name, count in counted.items():
                sonic.add_counter(reading, port, name, count, queue)


def _split_rows(
    value: Mapping[str, Mapping[str, object]], queues: bool, aliases: Mapping[str, str]
) -> Iterable[tuple[str, str, Mapping[str, object]]]:
    """Yield (port, queue or empty text, counters) of each key."""
    split = {key: (key.rpartition(":")[0], key.rpartition(":")[2]) if queues else (key, "") for key in value}
    # A server uses vendor names for all ports or for none; a vendor name may be SONiC's name of another port.
    renamed = aliases if all(port in aliases for port, _ in split.values()) else {}
    for key, (port, queue) in split.items():
        if not queues or sonic.is_lane(queue):
            yield renamed.get(port, port), queue, value[key]
