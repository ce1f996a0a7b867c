"""Check for free disk space for new data in this machine's own database.

Below a limit (the mark) the platform refuses new data: the writer leaves records in the log, and imports and tasks are refused with the reason. The
remaining space is for the database's own log, deletions and small changes. Below half of the mark, the embedded log refuses records too, and
collectors wait. The disk of a remote server is not checked.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from flitwatch_domain.errors import BadRequest, DiskFull

#: Setting: the mark in MiB; 0 disables the check.
LEAST_FREE = "FLITWATCH_DISK_LEAST_FREE_MIB"
#: Default of the mark: the smaller of the two.
LEAST_BYTES, LEAST_PART = 1 << 30, 0.05
#: The part of the mark that is reserved for the log.
LOG_PART = 0.5
MIB = 1 << 20


class DataDisk:
    """Disk of a folder. A folder of None means a remote server, whose disk is not checked."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    @classmethod
    def of(cls, parameters: Mapping[str, str | int | None]) -> DataDisk:
        """Find the disk of the server that a connection with these parameters (named as in libpq) reaches."""
        passwords = parameters.get("passfile") or ""
        if not str(parameters.get("host") or "").startswith("/") or not passwords:
            return cls(None)
        # Embedded server: the file is FOLDER/logins/SERVICE/pgpass, next to FOLDER/data.
        parents = Path(str(passwords)).parents
        if len(parents) < 3 or parents[1].name != "logins":
            return cls(None)
        data = parents[2] / "data"
        return cls(data if data.is_dir() else None)

    def lack(self, part: float = 1.0, whose: str = "the database's") -> str | None:
        """Return why new data are refused; None if more than `part` of the mark is free. Raise BadRequest if the setting is not a valid size."""
        disk = self._read_disk()
        if disk is None:
            return None
        mark = part * _least_bytes(os.environ.get(LEAST_FREE, ""), disk.f_blocks * disk.f_frsize)
        free = disk.f_bavail * disk.f_frsize
        if free >= mark:
            return None
        return (
            f"{whose} disk has {free // MIB:,} MiB left, less than the {math.ceil(mark / MIB):,} MiB that are kept free"
        )

    def free_bytes(self) -> int | None:
        """Return the free bytes; None if unknown."""
        disk = self._read_disk()
        return None if disk is None else disk.f_bavail * disk.f_frsize

    def _read_disk(self) -> os.statvfs_result | None:
        try:
            return None if self.folder is None else os.statvfs(self.folder)
        except OSError:
            return None

    def check(self, part: float = 1.0, whose: str = "the database's") -> None:
        """Raise DiskFull unless more than `part` of the mark is free."""
        if (why := self.lack(part, whose)) is not None:
            raise DiskFull(
                f"{why}, so nothing new is stored",
                advice="Free some space (`flitwatch db status` shows what is large), and try again.",
            )


def _least_bytes(text: str, disk_bytes: int) -> float:
    if not text:
        return min(LEAST_BYTES, LEAST_PART * disk_bytes)
    try:
        least = float(text)
    except ValueError:
        least = math.nan
    if not 0 <= least < math.inf:
        raise BadRequest(f"{LEAST_FREE} is {text!r}", advice="Give a number of MiB, or 0 for no limit.")
    return least * MIB
