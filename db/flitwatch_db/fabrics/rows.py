"""Row of a fabric, used by all readers of table `fabric`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.sql import SQL

#: The columns of `StoredFabric`.
COLUMNS = SQL(
    "fabric_id, name, kind, technology, simulated, counted_at, timeless AS snapshot, source, attributes, warnings, created_at"
)


@dataclass(frozen=True, slots=True)
class StoredFabric:
    """A fabric's row; `snapshot` is true if its counters are one sample without a time."""

    fabric_id: int
    name: str
    kind: str
    technology: str
    simulated: bool
    counted_at: str
    snapshot: bool
    source: str
    attributes: dict[str, Any]
    warnings: list[str]
    created_at: datetime
