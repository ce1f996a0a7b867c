"""Which slice of a topic's devices a record belongs to: all writers of a topic come to the same number, before they know more of the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flitwatch_core.codec import DEVICE_NAMES, Slicer, Wire
from flitwatch_domain.errors import BadInput
from flitwatch_ingest.registry import Schemas
from flitwatch_ingest.schemas.avro import AvroFields
from flitwatch_ingest.schemas.rows import COMPONENT

_UNKNOWN = -1
#: Where records go that nobody can read: to the dead letters of the first slice.
_FIRST = 0
#: Metrics of an Aries router, all of whose nodes are one device.
_ARIES = "AR_"


class Slicing:
    """Divides records; the Avro schemas that they name were asked for.

    Parameters
    ----------
    schemas : Schemas
    """

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._slicer = Slicer()

    def slices(self, values: list[bytes], count: int) -> Any:
        """int32[records]: the slice of each, 0 to `count` - 1."""
        found = self._slicer.slices(values, count)
        unknown = found == _UNKNOWN
        if not unknown.any():
            return found
        learnt = [self._learn(int.from_bytes(prefix[1:], "big")) for prefix in _prefixes(values, unknown)]
        if any(learnt):
            found = self._slicer.slices(values, count)
        found[found == _UNKNOWN] = _FIRST
        return found

    def _learn(self, schema_id: int) -> bool:
        try:
            fields = self._schemas.fields(schema_id)
        except BadInput:
            return False
        self._slicer.add_avro(schema_id, [tuple(wire) for wire in fields.wires], *_names(fields))
        return True


def _prefixes(values: Sequence[bytes], unknown: Any) -> set[bytes]:
    return {values[i][:5] for i in unknown.nonzero()[0].tolist()}


def _names(fields: AvroFields) -> tuple[int, list[int], bool]:
    """(the component's field or -1, the fields that name a device, whether it is one of an Aries)"""
    places = {name: i for i, name in enumerate(fields.names) if not fields.wires[i].is_list}
    component = places.get(COMPONENT, -1)
    if component >= 0 and fields.wires[component].wire not in (Wire.LONG, Wire.INT):
        component = -1
    names = [places[name] for name in DEVICE_NAMES if name in places]
    return component, names, any(name.startswith(_ARIES) for name in fields.names)
