"""Where the project keeps what it makes on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[3]
#: A log that has grown beyond makes room for a new one when it is opened.
LOG_BYTES = 20_000_000


def home() -> Path:
    """The folder of data, logs and process ids: `FLITWATCH_HOME`, or `.flitwatch` in the checkout."""
    return Path(os.environ.get("FLITWATCH_HOME", ROOT / ".flitwatch")).absolute()


def cache() -> Path:
    """The folder of what is fetched or built once: `FLITWATCH_CACHE`, or `.cache` in the checkout."""
    return Path(os.environ.get("FLITWATCH_CACHE", ROOT / ".cache")).absolute()


def open_log(path: Path) -> IO[bytes]:
    """A log to append to, for its owner's eyes alone, as one of an older version becomes too; what was too long stays beside it as `.log.1`."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.chmod(0o600)
        path.replace(path.with_suffix(".log.1"))
    log = open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))
    os.fchmod(log.fileno(), 0o600)
    return log
