"""Format of an archive's files: columns, types and units by table, and the validation of a data table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput

_TYPES: dict[str, tuple[pa.DataType, str]] = {
    "bool": (pa.bool_(), "bool"),
    "int4": (pa.int32(), "int4"),
    "int8": (pa.int64(), "int8"),
    "float8": (pa.float64(), "float8"),
    "text": (pa.string(), "text"),
    "json": (pa.string(), "jsonb"),
    "time": (pa.timestamp("us", "UTC"), "timestamptz"),
    # A fabric is identified by the digest of its structure, because numbers differ between databases.
    "fabric": (pa.string(), "int4"),
    "int4[]": (pa.list_(pa.int32()), "int4[]"),
    "int8[]": (pa.list_(pa.int64()), "int8[]"),
    "float8[]": (pa.list_(pa.float64()), "float8[]"),
    "numeric[]": (pa.list_(pa.decimal128(20, 0)), "numeric[]"),
    "text[]": (pa.list_(pa.string()), "text[]"),
}
#: Units by the suffix of a column's name, longest first.
_UNITS = {
    "stall_cycles": "times of one count of data: a flit; InfiniBand: a word of 4 bytes; Ethernet: a byte", "rb_2x_cycles": "cycles of twice the device's clock",
    "wait_cycles": "as stall_cycles; Slingshot: cycles", "flits": "flits; InfiniBand: words of 4 bytes; Ethernet: bytes", "packets": "packets", "bytes": "bytes",
    "tile_seconds": "s, summed over tiles", "port_seconds": "s, summed over ports", "seconds": "s", "latency_us_sum": "us, summed over packets",
    "errors": "errors", "samples": "samples", "time_ns": "ns", "time_s": "s", "expected_s": "s", "low_s": "s", "high_s": "s", "usual_s": "s", "curve_s": "s",
    "bandwidth_bps": "bit/s", "_ts": "UTC, us", "_at": "UTC, us",
}  # fmt: skip
#: Units of stalls, by the suffix of the column's name, in archives from before ADR 0047; it introduced data-count times.
IN_OWN_COUNTS = {
    "stall_cycles": "cycles of the device's clock; InfiniBand: ticks of port_xmit_wait",
    "wait_cycles": "cycles",
}
_UNIT_OF = {
    "ts": "UTC, start of the bucket, us",
    "counters": "counts of the run's counter_names, rank by rank",
    "counter_sums": "counts of counter_names over ranks",
    "own": "counts/s on the run's routers (table II)",
    "io": "counts/s on routers with I/O nodes",
    "sys": "counts/s on routers without nodes of the run",
    "rates": "counts/s on the network cards of the run's nodes, in the order of endpoint_1s' columns",
}


def unit_of(column: str) -> str | None:
    """Return the unit of a column from its name; None for names, numbers and labels."""
    if column in _UNIT_OF:
        return _UNIT_OF[column]
    return next((unit for end, unit in _UNITS.items() if column.endswith(end)), None)


@dataclass(frozen=True)
class Column:
    """A column: its type by name, and whether it may be unknown."""

    name: str
    type: str
    null: bool

    @property
    def arrow(self) -> pa.DataType:
        return _TYPES[self.type][0]

    @property
    def postgres(self) -> str:
        return _TYPES[self.type][1]

    @cached_property
    def field(self) -> pa.Field:
        unit = unit_of(self.name)
        return pa.field(self.name, self.arrow, self.null, None if unit is None else {"unit": unit})


@dataclass(frozen=True)
class Shape:
    """A table of the archive.

    Attributes
    ----------
    name : str
        The table of the database.
    extra : frozenset of str
        Columns that are not in the database.
    """

    name: str
    columns: tuple[Column, ...]
    extra: frozenset[str] = frozenset()

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([column.field for column in self.columns])

    def check(self, batch: pa.RecordBatch, where: str) -> None:
        """Raise `BadInput` if a value is missing or is not a number."""
        for column, values in zip(self.columns, batch.columns, strict=True):
            if not column.null and values.null_count:
                raise BadInput(f"column {column.name!r} has a row without a value", where=where)
            while pa.types.is_list(values.type):
                values = values.flatten()
            if pa.types.is_floating(values.type) and pc.all(pc.is_finite(values)).as_py() is False:
                raise BadInput(f"column {column.name!r} contains a value that is not a finite number", where=where)


def _parse_shapes(specs: dict[str, str]) -> dict[str, Shape]:
    """Parse `column:type` of each table, with `!` if a value is required. No table of the database has column `run_steps`."""
    shapes = {}
    for name, spec in specs.items():
        cells = [word.partition(":") for word in spec.split()]
        columns = tuple(Column(column, kind.rstrip("!"), not kind.endswith("!")) for column, _, kind in cells)
        shapes[name] = Shape(name, columns, frozenset({"run_steps"} & {column.name for column in columns}))
    return shapes


def _make_counter_specs(device: str, seconds: str, values: tuple[str, ...]) -> dict[str, str]:
    """Return `column:type` of the tables of one device, by table: one a bucket width, all with the same columns."""
    floats = " ".join(f"{value}:float8" for value in values)
    spec = f"fabric:fabric! {device}:int4! ts:time! samples:int4! {seconds}:float8! {floats}"
    return {f"{device}_{width}": spec for width in ("1s", "1m", "1h")}


#: Bucket width of counter tables in seconds; the finest buckets are deleted first (docs/contracts/tables.md).
WIDTHS_S = {
    "router_1s": 1,
    "router_1m": 60,
    "router_1h": 3600,
    "endpoint_1s": 1,
    "endpoint_1m": 60,
    "endpoint_1h": 3600,
    "port_10s": 10,
}

#: All files of a part, in the order of a restore. Estimates are not archived, so a restored forecast does not contain its estimate's number.
SHAPES = _parse_shapes(
    {
        "job": "job_pk:int8! cluster:text! job_id:text! array_task:int4 het_offset:int4 restart:int4! user_name:text account:text name:text"
        " partition:text state:text! exit_code:text submit_ts:time start_ts:time end_ts:time! nodes:int4 node_list:text simulated:bool!"
        " updated_at:time! run_steps:int8!",
        "job_node": "job_pk:int8! node:text! fabric:fabric endpoint:int4 router:int4",
        "job_step": "job_pk:int8! step:text! name:text state:text start_ts:time end_ts:time nodes:int4 node_list:text",
        "run": "run_id:int8! run_key:text! job_pk:int8 job_id:text exe:text! start_ts:time ranks:int4! counter_names:text[]! simulated:bool!"
        " run_steps:int8!",
        "run_rank": "run_id:int8! rank:int4! node:text endpoint:int4",
        "run_step": "run_id:int8! step:int4! time_s:float8! rank_time_ns:int8[]! counters:numeric[] counter_sums:float8[]",
        "run_step_around": "run_id:int8! step:int4! own:float8[] io:float8[] sys:float8[]",
        "run_step_nic": "run_id:int8! step:int4! rates:float8[]",
        "forecast": "run_id:int8! after_steps:int4! ahead:int4! made_at:time! forecaster:text! expected_s:float8! low_s:float8! high_s:float8!"
        " usual_s:float8! curve_s:float8[]!",
        **_make_counter_specs("router", "tile_seconds", ROUTER_COLUMNS),
        **_make_counter_specs("endpoint", "seconds", ENDPOINT_COLUMNS),
        "port_10s": "fabric:fabric! router:int4! ts:time! port_seconds:float8! flits:float8[] stall_cycles:float8[] packets:float8[]",
    }
)

#: Files that parts of older versions lack.
ADDED = frozenset({"run_step_nic"})

#: Files of a fabric.
FABRIC_SHAPES = _parse_shapes(
    {
        "fabric": "name:text! kind:text! technology:text! simulated:bool! counted_at:text! timeless:bool! source:text! attributes:json! warnings:text[]!"
        " created_at:time!",
        "router": "router:int4! name:text! guid:text group_id:int4 row:int4 col:int4 level:int4 coords:int4[] attributes:json!",
        "endpoint": "endpoint:int4! router:int4! port:int4 node:text! nid:int8 component_id:int8 role:text! guid:text",
        "link": "link:int4! src_router:int4 src_port:int4 dst_router:int4 dst_port:int4 src_endpoint:int4 dst_endpoint:int4 class:text!"
        " bandwidth_bps:float8 multiplicity:int4!",
    }
)
