"""Small file systems that a test can fill."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system of a size such as `160m` at a new folder; skip if mounting is not allowed."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"needs the right to mount a small file system: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(place: Path, leave_bytes: int) -> None:
    """Fill the free space except for `leave_bytes`."""
    with contextlib.suppress(OSError), (place / "ballast").open("ab") as file:
        for size in (1 << 24, 1 << 20, 1 << 12):
            while os.statvfs(place).f_bavail * os.statvfs(place).f_frsize >= leave_bytes + size:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
