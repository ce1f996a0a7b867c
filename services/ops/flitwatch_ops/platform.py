"""Choice of a command's database and log."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from flitwatch_domain.errors import Cancelled, Conflict, Unavailable
from flitwatch_ops.home import home_folder

log = logging.getLogger(__name__)
#: Seconds between attempts to reach a database that does not answer.
TRY_AGAIN_S = 1.0
#: Seconds that a starting service waits for a database that does not answer.
SERVICE_PATIENCE_S = 60.0
#: Temporary databases are in memory if the machine supports it.
EPHEMERAL_PLACES = ("/dev/shm", tempfile.gettempdir())
EPHEMERAL_PREFIX = "flitwatch-ephemeral-"
EPHEMERAL_FREE_BYTES = 1 << 30


def embedded_folder() -> Path:
    return home_folder() / "pg"


@contextlib.contextmanager
def open_database(
    db_url: str | None = None,
    ephemeral: bool = False,
    patience_s: float = 0.0,
    stop: threading.Event | None = None,
    adds: bool = False,
) -> Iterator[str]:
    """Yield the URL of a migrated database.

    Parameters
    ----------
    db_url : str, optional
        A PostgreSQL URL. Without it, the embedded database is started if necessary. It runs as long as any process uses it.
    ephemeral : bool
        Create a temporary database, removed afterwards, and ignore `db_url`.
    patience_s : float
        Seconds to wait for a database that does not answer, for example while it recovers from a crash.
    stop : Event, optional
        Ends the wait.
    adds : bool
        Whether the caller will store much data.

    Raises
    ------
    DiskFull
        `adds` is set and the database's disk is full.
    Unavailable, Forbidden, Conflict
        The database does not answer, or cannot be migrated; see `flitwatch_db.migrations.migrate`.
    Cancelled
        Stopped while waiting.
    """
    from flitwatch_db.core.log_keep import disk_of
    from flitwatch_db.migrations import migrate_database
    from flitwatch_ops import abandoned
    from flitwatch_ops.embedded import Embedded, sweep_abandoned

    with contextlib.ExitStack() as stack:
        stack.enter_context(_ended_in_order())
        if ephemeral:
            place = _ephemeral_place()
            sweep_abandoned(place, EPHEMERAL_PREFIX)
            folder = Path(tempfile.mkdtemp(prefix=EPHEMERAL_PREFIX, dir=place))
            server = Embedded(folder, durable=False)
            stack.enter_context(abandoned.guard_server(folder))
            stack.callback(server.destroy)
            url = server.start()
        elif db_url:
            url = db_url
        else:
            url = stack.enter_context(Embedded(embedded_folder())).url
        until = time.monotonic() + patience_s
        while True:
            try:
                migrate_database(url)
                break
            except Unavailable as away:
                if time.monotonic() >= until:
                    raise
                log.warning("waiting for the database: %s", away)
                if (stop or threading.Event()).wait(TRY_AGAIN_S):
                    raise Cancelled("stopped while it waited for the database") from away
        if adds:
            disk_of(url).check()
        yield url


def wait_until_migrated(url: str) -> None:
    """Migrate the database as soon as it answers and this version is permitted to. For containers, which would only be restarted. Log each reason to
    wait once. Raise Forbidden if the user lacks the privilege to create schemas or roles."""
    from flitwatch_db.migrations import migrate_database

    last_reason = ""
    with _ended_in_order():
        while True:
            try:
                migrate_database(url)
                return
            except (Unavailable, Conflict) as reason:
                if str(reason) != last_reason:
                    last_reason = str(reason)
                    log.warning("waiting for the database: %s", last_reason)
            time.sleep(TRY_AGAIN_S)


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let a signalled process stop the database that only it uses. By default, Python would leave the database running."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    mine = []
    if threading.current_thread() is threading.main_thread():
        # Services have set their own handlers by now, or will set them.
        mine = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in mine:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in mine:
            if signal.getsignal(number) is end:
                signal.signal(number, signal.SIG_DFL)


def log_url(database_url: str) -> str:
    """Return the log's URL: `FLITWATCH_LOG`, or the database."""
    return os.environ.get("FLITWATCH_LOG") or database_url


def _ephemeral_place() -> str:
    for place in EPHEMERAL_PLACES:
        with contextlib.suppress(OSError):
            free = os.statvfs(place)
            if os.access(place, os.W_OK) and free.f_bavail * free.f_frsize >= EPHEMERAL_FREE_BYTES:
                return place
    return tempfile.gettempdir()
