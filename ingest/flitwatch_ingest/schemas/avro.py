"""The row schema of an Avro schema, and the steps that decode its records.

Format: Apache Avro 1.11 specification; the schemas are those that `store_avro_kafka` registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from flitwatch_core.codec import Kind, Role, Wire, describe_error, measure_lists
from flitwatch_domain.errors import BadInput
from flitwatch_ingest.schemas.rows import MOST_COLUMNS, TIME, Column, RowSchema, row_schema

_WIRES = {
    "long": Wire.LONG,
    "int": Wire.INT,
    "float": Wire.FLOAT,
    "double": Wire.DOUBLE,
    "string": Wire.STRING,
    "bytes": Wire.BYTES,
    "boolean": Wire.BOOLEAN,
}
_KINDS = {Wire.FLOAT: Kind.REAL, Wire.DOUBLE: Kind.REAL, Wire.STRING: Kind.TEXT, Wire.BYTES: Kind.TEXT}
_TIME_UNITS_US = {
    "timestamp-millis": 1_000,
    "local-timestamp-millis": 1_000,
    "timestamp-micros": 1,
    "local-timestamp-micros": 1,
}
#: `store_avro_kafka` sends zero for every scalar of this type, regardless of the sampled value.
_ALWAYS_ZERO = "unsigned-int"


class AvroWire(NamedTuple):
    """One field in the form of `flitwatch_core.codec.Feed.add_avro`."""

    wire: int
    null_branch: int
    value_branch: int
    is_list: bool
    zero_is_unknown: bool
    unit_us: int


@dataclass(frozen=True)
class AvroFields:
    """A parsed Avro record schema."""

    names: tuple[str, ...]
    wires: tuple[AvroWire, ...]

    @property
    def has_lists(self) -> bool:
        """Return whether list lengths must be read from a record."""
        return any(w.is_list for w in self.wires)

    def row_schema(self, name: str, record: bytes = b"") -> RowSchema:
        """Return the row schema; `record` (with its five-byte prefix) gives the lengths of lists. Raise BadInput if the record cannot be read, or has
        no timestamp."""
        lengths: Sequence[int] = [0] * len(self.names)
        if self.has_lists:
            code, field, byte, lengths = measure_lists(list(self.wires), record)
            if code:
                raise BadInput(describe_error(code, self.names[field] if field >= 0 else None, byte))
            empty = next(
                (n for n, w, size in zip(self.names, self.wires, lengths, strict=True) if w.is_list and not size), None
            )
            if empty is not None:
                raise BadInput(f"{empty} is an empty list")
        columns = [
            Column(n, Kind.REAL if n == TIME else _KINDS.get(Wire(w.wire), Kind.UNSIGNED), size)
            for n, w, size in zip(self.names, self.wires, lengths, strict=True)
        ]
        schema = row_schema(name, columns)
        # A counter that is always zero is unknown, not idle: it remains an observation.
        zero = {n for n, w in zip(self.names, self.wires, strict=True) if w.zero_is_unknown}
        if any(c.use is not None and c.name in zero for c in schema.columns):
            columns_kept = tuple(
                c if c.name not in zero else Column(c.name, c.kind, c.length, c.role) for c in schema.columns
            )
            schema = RowSchema(schema.name, schema.kind, columns_kept)
        return schema

    def wires_for(self, schema: RowSchema) -> list[AvroWire]:
        """Return the wires in the schema's order; identity columns must be known."""
        return [
            w._replace(zero_is_unknown=False) if c.role is not Role.VALUE else w
            for c, w in zip(schema.columns, self.wires, strict=True)
        ]


def avro_schema(text: str) -> AvroFields:
    """Compile a schema from the registry. Raise BadInput if the schema is not a record of scalars and lists of scalars."""
    try:
        schema = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"the Avro schema is not valid JSON: {problem}") from None
    fields = schema.get("fields") if isinstance(schema, dict) and schema.get("type") == "record" else None
    if not isinstance(fields, list) or not fields:
        raise BadInput("the Avro schema is not a record with fields")
    if len(fields) > MOST_COLUMNS:
        raise BadInput(f"the Avro schema has {len(fields)} fields, more than {MOST_COLUMNS}")
    names, wires = [], []
    for field in fields:
        name = field.get("name") if isinstance(field, dict) else None
        if not isinstance(name, str) or not name:
            raise BadInput("a field of the Avro schema has no name")
        if name in names:
            raise BadInput(f"field {name} is in the Avro schema twice")
        names.append(name)
        wires.append(_parse_wire(name, field.get("type")))
    return AvroFields(tuple(names), tuple(wires))


def _parse_wire(name: str, kind: Any) -> AvroWire:
    null_branch = value_branch = -1
    if isinstance(kind, list):
        others = [i for i, branch in enumerate(kind) if branch != "null"]
        if len(kind) != 2 or len(others) != 1:
            raise BadInput(f"Avro field {name} is a union of more than null and one type")
        value_branch = others[0]
        null_branch, kind = 1 - value_branch, kind[value_branch]
    is_list = isinstance(kind, dict) and kind.get("type") == "array"
    if is_list:
        if null_branch >= 0:
            raise BadInput(f"Avro field {name} is a list that can be null")
        kind = kind.get("items")
    logical = kind.get("logicalType") if isinstance(kind, dict) else None
    plain = kind.get("type") if isinstance(kind, dict) else kind
    if not isinstance(plain, str) or plain not in _WIRES:
        raise BadInput(f"Avro field {name} is of type {orjson.dumps(plain).decode()[:80]}, which LDMS does not write")
    wire = _WIRES[plain]
    unit = _TIME_UNITS_US.get(logical or "", 1_000_000 if wire in (Wire.LONG, Wire.INT) else 0) if name == TIME else 0
    return AvroWire(wire, null_branch, value_branch, is_list, logical == _ALWAYS_ZERO and not is_list, unit)
