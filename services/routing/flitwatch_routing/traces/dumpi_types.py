"""Sizes of MPI data types in DUMPI text: built-in types, and types that a program derives from them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

Arrays = Mapping[str, tuple[int, ...]]

#: Name without `MPI_` -> bytes of one element, in order of DUMPI's numbers from 2 on (sst-dumpi, common/constants.h).
_BUILT_IN = {
    "CHAR": 1, "SIGNED_CHAR": 1, "UNSIGNED_CHAR": 1, "BYTE": 1, "WCHAR": 4, "SHORT": 2, "UNSIGNED_SHORT": 2,
    "INT": 4, "UNSIGNED": 4, "LONG": 8, "UNSIGNED_LONG": 8, "FLOAT": 4, "DOUBLE": 8, "LONG_DOUBLE": 16,
    "LONG_LONG_INT": 8, "UNSIGNED_LONG_LONG": 8, "LONG_LONG": 8, "PACKED": 1, "LB": 0, "UB": 0, "FLOAT_INT": 8,
    "DOUBLE_INT": 12, "LONG_INT": 12, "SHORT_INT": 6, "2INT": 8, "LONG_DOUBLE_INT": 20,
}  # fmt: skip
_BY_NAME = {f"MPI_{name}": size for name, size in _BUILT_IN.items()}
_BY_NUMBER = dict(enumerate(_BUILT_IN.values(), 2))


class Datatypes:
    """Bytes of an element, by type, for the types that one rank has used so far."""

    def __init__(self) -> None:
        self._made: dict[int, int | None] = {}

    def bytes_of(self, number: int, name: str = "") -> int | None:
        """Return the bytes of an element; None if unknown. Built-in types are identified by name, others only by number."""
        if name in _BY_NAME:
            return _BY_NAME[name]
        return self._made.get(number, None if name else _BY_NUMBER.get(number))

    def tell(self, number: int, size: int) -> None:
        """Record the size that MPI_Type_size returned."""
        self._made[number] = size

    def make(self, number: int, old: int | None, counts: Mapping[str, int], arrays: Arrays) -> None:
        """Add a derived type, with elements of `old` bytes, or of the call's array of types if it has one.

        counts: `count` and `blocklength`, 1 if the call has none. arrays: `lengths` or `blocklengths`, `subsizes`, `oldtypes`.
        """
        lengths = arrays.get("lengths", arrays.get("blocklengths"))
        if "oldtypes" in arrays:
            parts = [self.bytes_of(old_type) for old_type in arrays["oldtypes"]]
            has_sizes = lengths is not None and len(lengths) == len(parts) and None not in parts
            self._made[number] = (
                sum(n * (size or 0) for n, size in zip(lengths or (), parts, strict=True)) if has_sizes else None
            )
            return
        if "subsizes" in arrays:
            elements = prod(arrays["subsizes"])
        elif lengths is not None:
            elements = sum(lengths)
        else:
            elements = counts.get("count", 1) * counts.get("blocklength", 1)
        self._made[number] = None if old is None else elements * old
