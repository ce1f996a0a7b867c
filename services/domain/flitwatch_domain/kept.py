"""Values that take long to read or to compute, kept for the next request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The values used last, at most `most`, each with the state of the data from which it was made."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[object, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable, state: object = None) -> Value | None:
        """Return the value of a key if its data are in the same state as when it was made, else None."""
        with self._lock:
            known = self._values.get(key)
            if known is None or known[0] != state:
                return None
            self._values.move_to_end(key)
            return known[1]

    def keep(self, key: Hashable, value: Value, state: object = None) -> Value:
        """Keep a value, and return it."""
        with self._lock:
            self._values[key] = (state, value)
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
