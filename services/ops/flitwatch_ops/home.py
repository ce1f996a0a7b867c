"""Folders of Flitwatch's data on this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import IO

_ABOVE = Path(__file__).resolve().parents[3]
#: Checkout of the running code; None for an installed package.
CHECKOUT = _ABOVE if (_ABOVE / "services" / "ops" / "flitwatch_ops").is_dir() else None
#: A larger log is rotated when it is opened.
LOG_BYTES = 20_000_000


def home_folder() -> Path:
    """Return the folder of data, logs and process ids: `FLITWATCH_HOME`, `.flitwatch` in the checkout, or `flitwatch` in the user's state folder."""
    return _choose_folder("FLITWATCH_HOME", ".flitwatch", "XDG_STATE_HOME", ".local/state")


def cache_folder() -> Path:
    """Return the cache folder for downloads and builds: `FLITWATCH_CACHE`, `.cache` in the checkout, or `flitwatch` in the user's cache."""
    return _choose_folder("FLITWATCH_CACHE", ".cache", "XDG_CACHE_HOME", ".cache")


def _choose_folder(variable: str, in_checkout: str, of_user: str, usual: str) -> Path:
    named = os.environ.get(variable)
    if named:
        return Path(named).absolute()
    if CHECKOUT is not None:
        return CHECKOUT / in_checkout
    return Path(os.environ.get(of_user) or Path.home() / usual).absolute() / "flitwatch"


def shorten_log(path: Path, log: IO[bytes]) -> None:
    """Shorten a log that is too long while another process appends to it. Its lines move to `.log.1`, or are lost if the disk is full."""
    if os.fstat(log.fileno()).st_size <= LOG_BYTES:
        return
    with contextlib.suppress(OSError), open_log(path.with_suffix(".log.1")) as older:
        older.truncate(0)
        shutil.copyfileobj(path.open("rb"), older)
    # A writer in append mode continues at the new end.
    log.truncate(0)


def open_log(path: Path) -> IO[bytes]:
    """Open a log to append to, readable only by its owner, even if an older version created it. A log that is too long is moved to `.log.1`."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.chmod(0o600)
        path.replace(path.with_suffix(".log.1"))
    log = open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))
    os.fchmod(log.fileno(), 0o600)
    return log
