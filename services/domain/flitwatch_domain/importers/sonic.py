"""Tables of SONiC's databases, from a dump or from Redis, and what they say of a switch and its neighbours.

A dump is the JSON of `sonic-db-dump -n NAME -y` (or `redis-dump -y`): an object a database by key, each value a hash's fields, with or without `type` and `value`
around them. APPL_DB and COUNTERS_DB put a colon between table and key, CONFIG_DB a bar. Tables and fields: sonic-net/sonic-swss, doc/swss-schema.md (PORT_TABLE,
LLDP_ENTRY_TABLE); sonic-net/sonic-dbsyncd, lldp_syncd (LLDP_ENTRY_TABLE, LLDP_LOC_CHASSIS; capabilities as the bits of IEEE 802.1AB, the first highest).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flitwatch_domain import numerals
from flitwatch_domain.importers.lldp import Neighbour, Port, Switch

#: Fields by key.
Tables = dict[str, Mapping[str, str]]

NEIGHBOURS, CHASSIS, PORTS = "LLDP_ENTRY_TABLE", "LLDP_LOC_CHASSIS", "PORT_TABLE"
METADATA, CONFIGURED_PORTS = "DEVICE_METADATA", "PORT"
#: Keys by which a dump is known.
MARKS = (f'"{NEIGHBOURS}:', f'"{CHASSIS}"', f'"{PORTS}:', '"COUNTERS_PORT_NAME_MAP"')
_BRIDGE, _ROUTER = 0x20, 0x08
#: LldpPortIdSubtype of IEEE 802.1AB.
_BY_MAC = "3"


def tables_of(document: object) -> Tables:
    """Hashes by key; other values, and what is no dump, are left out. A list holds several databases."""
    tables: Tables = {}
    for database in document if isinstance(document, list) else [document]:
        for key, value in database.items() if isinstance(database, dict) else ():
            if isinstance(value, dict) and isinstance(value.get("value"), dict):
                value = value["value"]
            if isinstance(value, dict):
                tables[key] = {name: str(text) for name, text in value.items() if isinstance(text, str | int | float)}
    return tables


def rows_of(tables: Tables, table: str, between: str = ":") -> Iterator[tuple[str, Mapping[str, str]]]:
    """A table's keys, without its name, and their fields."""
    start = table + between
    for key, fields in tables.items():
        if key.startswith(start):
            yield key[len(start) :], fields


def name_of(tables: Tables) -> str:
    """Return the switch's own name in LLDP, else its host's name; empty if it has neither."""
    lldp_name = tables.get(CHASSIS, {}).get("lldp_loc_sys_name", "")
    return lldp_name or tables.get(f"{METADATA}|localhost", {}).get("hostname", "")


def switch_of(tables: Tables, name: str) -> Switch:
    """The switch of these tables; `name` is its name where they say none."""
    ports = {
        key: Port(fields.get("alias", ""), _speed_to_bps(fields.get("speed", "")))
        for table, between in ((PORTS, ":"), (CONFIGURED_PORTS, "|"))
        for key, fields in rows_of(tables, table, between)
        # Beside the ports stand PortConfigDone and PortInitDone.
        if "lanes" in fields and ("alias" in fields or "speed" in fields)
    }
    metadata = tables.get(f"{METADATA}|localhost", {})
    neighbours = [_to_neighbour(port, fields) for port, fields in rows_of(tables, NEIGHBOURS)]
    chassis = tables.get(CHASSIS, {}).get("lldp_loc_chassis_id", "") or metadata.get("mac", "")
    return Switch(name_of(tables) or name, chassis, ports, neighbours)


def _to_neighbour(port: str, fields: Mapping[str, str]) -> Neighbour:
    enabled = fields.get("lldp_rem_sys_cap_enabled", "").split()
    bits = numerals.whole_or_hexadecimal(f"0x{enabled[0][:2]}") or 0 if enabled else 0
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
    """SONiC's speeds are megabits a second."""
    return (numerals.parse_whole(speed) or float("nan")) * 1e6


def is_dump(value: Any) -> bool:
    """Return whether a document is a database dump with data about ports."""
    return any(
        key.startswith((f"{NEIGHBOURS}:", CHASSIS, f"{PORTS}:", f"{METADATA}|", "COUNTERS_PORT_NAME_MAP"))
        for part in (value if isinstance(value, list) else [value])
        if isinstance(part, dict)
        for key in part
    )
