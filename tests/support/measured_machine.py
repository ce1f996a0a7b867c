"""A machine that is not simulated. On a site with such a machine, callers without scope `names` get pseudonyms."""

from __future__ import annotations

from typing import Any


def add_measured_machine(conn: Any) -> None:
    """Add a fabric without routers that is not simulated."""
    conn.execute(
        "INSERT INTO fabric (name, kind, technology, counted_at) VALUES ('measured', 'graph', 'generic', 'receiver')"
    )
