"""Disk of the database server behind a connection or a URL."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from flitwatch_domain.data_disk import DataDisk


def check_disk(conn: psycopg.Connection[Any]) -> None:
    """Raise DiskFull if the connection's server has too little space for new data."""
    DataDisk.of(conn.info.get_parameters()).check()


def disk_of(url: str) -> DataDisk:
    """Return the disk of a URL's server."""
    return DataDisk.of(conninfo_to_dict(url))
