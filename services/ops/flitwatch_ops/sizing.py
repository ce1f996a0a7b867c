"""Estimates of a site's disk, cores and memory, from measured bytes per row and microseconds per record.

Bytes follow from PostgreSQL's row and page layout; tests/db/test_rollups.py compares them with real tables. Processor time and memory are from the
runs in docs/benchmarks/ingest.md.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import TypedDict

from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput

DAY_S = 86_400
#: PostgreSQL's page size, its space after the header, and the overhead of a row: its header and its pointer.
PAGE_BYTES, PAGE_SPACE, ROW_HEADER, ROW_POINTER = 8192, 8168, 24, 4
#: Key entry (fabric, time, device) in pages filled in order of time.
KEY_BYTES = 42
#: Larger rows are compressed or stored out of line, in pieces; their maximum size is estimated.
OUT_OF_LINE_BYTES = 2032
#: Size ratio of a compressed row in TimescaleDB's full edition to one of plain PostgreSQL (router_1s: 51 of 249 bytes).
COMPRESSED = 51 / 249

#: Solved from both Avro runs of 3,264 routers, one with sets of whole routers and one with quarters.
WRITER_US_A_RECORD, WRITER_US_A_VALUE = 2.6, 0.124
DATABASE_US_A_ROW, LOG_US_A_VALUE = 100.0, 0.104
WRITER_BYTES, WRITER_BYTES_A_COUNTER = 130e6, 136
DATABASE_BYTES, LOG_PROCESS_BYTES = 1.1e9, 0.35e9
AVRO_BYTES_A_VALUE, JSON_BYTES_A_VALUE = 6.2, 53.0
#: Default counters per port of an Aries router (492 for 48 tiles) and per endpoint.
PORT_COUNTERS, NIC_COUNTERS = 492 / 48, float(len(ENDPOINT_COLUMNS))
#: Highest measured device rows per second of one writer connection; a topic has one writer.
ONE_WRITER_ROWS_S = 30_000


@dataclass(frozen=True)
class Site:
    """Devices and counters of a site, with `hz` samples per second."""

    routers: int
    ports: int
    nics: int
    hz: float
    port_counters: float = PORT_COUNTERS
    nic_counters: float = NIC_COUNTERS


@dataclass(frozen=True)
class _Kept:
    """Table by time: seconds per row, retention in days (None if indefinite), and the age in days at which the full edition compresses it."""

    seconds: int
    days: float | None
    compressed_after_days: float
    half_full: bool = False


#: Defaults of the migrations (table `time_table`); `flitwatch db maintain --keep TABLE=DAYS` changes them.
KEPT = {
    "1s": _Kept(1, 2, 2 / 24),
    "10s": _Kept(10, 7, 0.5),
    "1m": _Kept(60, 400, 2, half_full=True),
    "1h": _Kept(3600, None, 60, half_full=True),
}
#: Rows of a whole fabric, with an array over its routers in each column.
KEPT_OF_FABRIC = {
    "5m": _Kept(300, 400, 2),
    "2h": _Kept(7200, None, 60),
    "1d": _Kept(86_400, None, 720),
}


def site_of(text: str) -> Site:
    """Read `routers=2500,ports=160000,nics=44000,hz=1`. Raise BadInput if the text has another format or an impossible number."""
    advice = "Write --size routers=2500,ports=160000,nics=44000,hz=1 [,port_counters=20,nic_counters=22]."
    numbers: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            numbers[name.strip()] = float(number)
        except ValueError:
            raise BadInput(f"{part.strip()[:40]!r} is not NAME=NUMBER", advice=advice) from None
    needed = {"routers", "ports", "nics", "hz"}
    if not needed <= numbers.keys() <= needed | {"port_counters", "nic_counters"}:
        raise BadInput(f"{text[:80]!r} must contain routers, ports, nics and hz", advice=advice)
    counts = {name: numbers.pop(name) for name in ("routers", "ports", "nics")}
    if any(not 0 <= count <= 1e8 or count != int(count) for count in counts.values()):
        raise BadInput("routers, ports and nics must be whole numbers up to 100 million", advice=advice)
    if not 1e-4 <= numbers["hz"] <= 100 or any(not 0 <= n <= 1e5 for n in numbers.values()):
        raise BadInput(
            "hz must be between 0.0001 and 100, and counters of a device between 0 and 100,000", advice=advice
        )
    if counts["ports"] and not counts["routers"]:
        raise BadInput("there are ports, but no routers", advice=advice)
    return Site(
        int(counts["routers"]),
        int(counts["ports"]),
        int(counts["nics"]),
        numbers["hz"],
        numbers.get("port_counters", PORT_COUNTERS),
        numbers.get("nic_counters", NIC_COUNTERS),
    )


def row_bytes(columns_bytes: int, half_full: bool = False) -> float:
    """Return the size of a row in bytes, with its share of page and key.

    Parameters
    ----------
    columns_bytes : int
        Size of its columns, padded to 8 bytes.
    half_full : bool
        Half of each page is left free for updates.
    """
    row = ROW_HEADER + columns_bytes + ROW_POINTER
    if row > OUT_OF_LINE_BYTES:
        return row + KEY_BYTES + PAGE_BYTES / PAGE_SPACE * 2 * ROW_HEADER * ceil(row / OUT_OF_LINE_BYTES)
    return PAGE_BYTES / ((PAGE_SPACE // 2 if half_full else PAGE_SPACE) // row) + KEY_BYTES


def device_row_bytes(values: int, half_full: bool = False) -> float:
    """Return the bytes of a row of `router_*` or `endpoint_*`: fabric, device, time, samples, counted time, values."""
    return row_bytes(24 + 8 * (1 + values), half_full)


def port_row_bytes(ports: int) -> float:
    """Return the bytes of a row of `port_10s`: flits, stalls and packets of each port."""
    return row_bytes(24 + 3 * (24 + 8 * ports))


def fabric_row_bytes(routers: int) -> float:
    """Return the bytes of a row of `fabric_*`: the counted time and each counter of every router."""
    return row_bytes(24 + (1 + len(ROUTER_COLUMNS)) * (24 + 8 * routers))


def rows_per_s(hz: float, seconds: int) -> float:
    """Return one device's rows per second. A row of `seconds` is written if it contains any sample."""
    return min(hz, 1 / seconds)


@dataclass(frozen=True)
class Table:
    """Size of one table: bytes per day, and bytes in total (of one year for indefinite retention)."""

    rows_a_day: float
    bytes_a_row: float
    days: float | None
    bytes_a_day: float
    kept_bytes: float
    kept_bytes_compressed: float


def size_tables(site: Site) -> dict[str, Table]:
    """Return the size of every counter table."""
    table_sizes: dict[str, Table] = {}
    for width, retention in KEPT.items():
        if width == "10s":
            devices = {"port_10s": (site.routers, port_row_bytes(ceil(site.ports / max(1, site.routers))))}
        else:
            devices = {
                f"router_{width}": (site.routers, device_row_bytes(len(ROUTER_COLUMNS), retention.half_full)),
                f"endpoint_{width}": (site.nics, device_row_bytes(len(ENDPOINT_COLUMNS), retention.half_full)),
            }
        for name, (count, size) in devices.items():
            table_sizes[name] = _size_table(count * rows_per_s(site.hz, retention.seconds) * DAY_S, size, retention)
    for width, retention in KEPT_OF_FABRIC.items():
        table_sizes[f"fabric_{width}"] = _size_table(
            DAY_S / retention.seconds, fabric_row_bytes(site.routers), retention
        )
    return table_sizes


def _size_table(rows_a_day: float, size: float, kept: _Kept) -> Table:
    days = 365.0 if kept.days is None else kept.days
    loose = min(days, kept.compressed_after_days)
    a_day = rows_a_day * size
    return Table(rows_a_day, size, kept.days, a_day, a_day * days, a_day * (loose + (days - loose) * COMPRESSED))


class TableSize(TypedDict):
    """Table with its row count and row size, retention in days (None if indefinite), and disk size in terabytes."""

    rows_a_day: int
    bytes_a_row: float
    keep_days: float | None
    tb: float
    tb_compressed: float


class DiskSize(TypedDict):
    """Disk size in terabytes: all tables, plain and compressed, and one day in the tables and in the log."""

    plain: float
    compressed: float
    a_day: float
    log_a_day_avro: float
    log_a_day_json: float


class WriterLimit(TypedDict):
    """Rows per second that one writer can handle, and whether that is enough."""

    rows_per_s: int
    fits: bool


class SiteSize(TypedDict):
    """Size of a site; cores and gigabytes of memory by process, with their sum."""

    site: dict[str, float]
    values_per_s: int
    records_per_s: float
    rows_per_s: float
    disk_tb: DiskSize
    cores: dict[str, float]
    memory_gb: dict[str, float]
    tables: dict[str, TableSize]
    one_writer: WriterLimit


def size_site(site: Site) -> SiteSize:
    """Estimate a site's disk in TB, cores, and memory in GB, and whether it exceeds one writer."""
    table_sizes = size_tables(site)
    counters = site.ports * site.port_counters + site.nics * site.nic_counters
    values_s = counters * site.hz
    records_s = (site.routers + site.nics) * site.hz
    rows_s = sum(table.rows_a_day for name, table in table_sizes.items() if name.endswith("s")) / DAY_S
    cores = {
        "writer": (WRITER_US_A_RECORD * records_s + WRITER_US_A_VALUE * values_s) / 1e6,
        "database": DATABASE_US_A_ROW * rows_s / 1e6,
        "log": LOG_US_A_VALUE * values_s / 1e6,
    }
    memory = {
        "writer": WRITER_BYTES + WRITER_BYTES_A_COUNTER * counters,
        "database": DATABASE_BYTES,
        "log": LOG_PROCESS_BYTES,
    }
    return {
        "site": asdict(site),
        "values_per_s": round(values_s),
        "records_per_s": round(records_s, 1),
        "rows_per_s": round(rows_s, 1),
        "disk_tb": {
            "plain": round(sum(table.kept_bytes for table in table_sizes.values()) / 1e12, 3),
            "compressed": round(sum(table.kept_bytes_compressed for table in table_sizes.values()) / 1e12, 3),
            "a_day": round(sum(table.bytes_a_day for table in table_sizes.values()) / 1e12, 4),
            "log_a_day_avro": round(values_s * AVRO_BYTES_A_VALUE * DAY_S / 1e12, 3),
            "log_a_day_json": round(values_s * JSON_BYTES_A_VALUE * DAY_S / 1e12, 3),
        },
        "cores": {name: round(used, 2) for name, used in cores.items()} | {"sum": round(sum(cores.values()), 2)},
        "memory_gb": {name: round(used / 1e9, 2) for name, used in memory.items()}
        | {"sum": round(sum(memory.values()) / 1e9, 2)},
        "tables": {
            name: {
                "rows_a_day": round(table.rows_a_day),
                "bytes_a_row": round(table.bytes_a_row, 1),
                "keep_days": table.days,
                "tb": round(table.kept_bytes / 1e12, 3),
                "tb_compressed": round(table.kept_bytes_compressed / 1e12, 3),
            }
            for name, table in table_sizes.items()
        },
        "one_writer": {"rows_per_s": ONE_WRITER_ROWS_S, "fits": rows_s <= ONE_WRITER_ROWS_S},
    }
