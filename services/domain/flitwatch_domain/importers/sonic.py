"""Tables of SONiC's databases, from a dump or from Redis, converted to a switch and its neighbours.

A dump is the JSON of `sonic-db-dump -n NAME -y` (or `redis-dump -y`): one object per database, with each hash's fields by key, with or without surrounding
`type` and `value`. APPL_DB and COUNTERS_DB have a colon between table and key, CONFIG_DB a bar. Tables and fields: sonic-net/sonic-swss, doc/swss-schema.md
(PORT_TABLE, LLDP_ENTRY_TABLE); sonic-net/sonic-dbsyncd, lldp_syncd (LLDP_ENTRY_TABLE, LLDP_LOC_CHASSIS; capabilities as the bits of IEEE 802.1AB, first highest).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flitwatch_domain import units
from flitwatch_domain.importers.lldp import Neighbour, Port, Switch

#: Fields by key.
Tables = dict[str, Mapping[str, str]]

NEIGHBOURS, CHASSIS, PORTS = "LLDP_ENTRY_TABLE", "LLDP_LOC_CHASSIS", "PORT_TABLE"
METADATA, CONFIGURED_PORTS = "DEVICE_METADATA", "PORT"
#: Keys that identify a dump.
MARKS = (f'"{NEIGHBOURS}:', f'"{CHASSIS}"', f'"{PORTS}:', '"COUNTERS_PORT_NAME_MAP"')
_BRIDGE, _ROUTER = 0x20, 0x08
#: LldpPortIdSubtype of IEEE 802.1AB.
_BY_MAC = "3"


def tables_of(document: object) -> Tables:
    """Return hashes by key; other values and non-dumps are omitted. A list contains several databases."""
    tables: Tables = {}
    for database in document if isinstance(document, list) else [document]:
        for key, value in database.items() if isinstance(database, dict) else ():
            if isinstance(value, dict) and isinstance(value.get("value"), dict):
                value = value["value"]
            if isinstance(value, dict):
                tables[key] = {name: str(text) for name, text in value.items() if isinstance(text, str | int | float)}
    return tables


def rows_of(tables: Tables, table: str, between: str = ":") -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield a table's keys, without its name, and their fields."""
    start = table + between
    for key, fields in tables.items():
        if key.startswith(start):
            yield key[len(start) :], fields


def name_of(tables: Tables) -> str:
    """Return the switch's own name in LLDP, else its host's name; empty if it has neither."""
    lldp_name = tables.get(CHASSIS, {}).get("lldp_loc_sys_name", "")
    return lldp_name or tables.get(f"{METADATA}|localhost", {}).get("hostname", "")


def switch_of(tables: Tables, name: str) -> Switch:
    """Build the switch of these tables; `name` is used if they contain none."""
    ports = {
        key: Port(fields.get("alias", ""), _speed_to_bps(fields.get("speed", "")))
        for table, between in ((PORTS, ":"), (CONFIGURED_PORTS, "|"))
        for key, fields in rows_of(tables, table, between)
        # PortConfigDone and PortInitDone are in the same table as the ports.
        if "lanes" in fields and ("alias" in fields or "speed" in fields)
    }
    metadata = tables.get(f"{METADATA}|localhost", {})
    neighbours = [_to_neighbour(port, fields) for port, fields in rows_of(tables, NEIGHBOURS)]
    chassis = tables.get(CHASSIS, {}).get("lldp_loc_chassis_id", "") or metadata.get("mac", "")
    return Switch(name_of(tables) or name, chassis, ports, neighbours)


def _to_neighbour(port: str, fields: Mapping[str, str]) -> Neighbour:
    enabled = fields.get("lldp_rem_sys_cap_enabled", "").split()
    bits = units.whole_or_hexadecimal(f"0x{enabled[0][:2]}") or 0 if enabled else 0
    return Neighbour(
        port,
        fields.get("lldp_rem_sys_name", "").strip(),
        fields.get("lldp_rem_chassis_id", ""),
        fields.get("lldp_rem_port_id", "").strip(),
        fields.get("lldp_rem_port_desc", "").strip(),
        by_mac=fields.get("lldp_rem_port_id_subtype", "") == _BY_MAC,
        forwards=bool(bits & (_BRIDGE | _ROUTER)),
    )


def _speed_to_bps(speed: str) -> float:
    """Convert SONiC's speed from megabits per second."""
    return (units.parse_whole(speed) or float("nan")) * 1e6


def is_dump(value: Any) -> bool:
    """Return whether a document is a database dump with data about ports."""
    return any(
        key.startswith((f"{NEIGHBOURS}:", CHASSIS, f"{PORTS}:", f"{METADATA}|", "COUNTERS_PORT_NAME_MAP"))
        for part in (value if isinstance(value, list) else [value])
        if isinstance(part, dict)
        for key in part
    )
