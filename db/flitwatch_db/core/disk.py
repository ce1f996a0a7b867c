"""The disk of the database that a connection or a URL leads to."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from flitwatch_domain.data_disk import DataDisk


def check_disk(conn: psycopg.Connection[Any]) -> None:
    """Raise DiskFull where the connection's server takes nothing new."""
    DataDisk.of(conn.info.get_parameters()).check()


def disk_of(url: str) -> DataDisk:
    """The disk of a URL's server."""
    return DataDisk.of(conninfo_to_dict(url))
