"""The writer for one-shot imports: everything that is in the log now, then done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from flitwatch_db import connect
from flitwatch_db.ingest import store as ingest
from flitwatch_domain.errors import Conflict, Unavailable
from flitwatch_ingest.writer.loop import Writer
from flitwatch_ingest.writer.measures import Measures
from flitwatch_ingest.writer.settings import WriterSettings
from flitwatch_stream.backends import open_log

_LOOK_S = 0.1


def drain_log(
    url: str,
    log_url: str,
    until: Mapping[tuple[str, int], int] | None = None,
    settings: WriterSettings | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
    limit_s: float | None = None,
) -> Measures:
    """Write records until the database is at `until`, then stop.

    Alongside a running writer it takes only topics that no one holds, and waits for the others to be written.

    Parameters
    ----------
    url, log_url : str
        The database and the log.
    until : mapping, optional
        Next offset by (topic, partition); without it, the ends of all topics as they are now.
    progress : callable
        Called with (records written, records in all).
    limit_s : float, optional
        Raise Unavailable after so long.

    Raises
    ------
    DiskFull
        The database's disk has no room; what is not written waits in the log.

    Returns
    -------
    Measures
        What this writer itself carried.
    """
    stop = threading.Event()
    deadline = time.monotonic() + limit_s if limit_s is not None else None
    with open_log(log_url) as log, connect(url, role="writer", autocommit=True) as conn:
        writer = Writer(url, log, settings, stop, opportunistic=True)
        try:
            targets = dict(writer.assigned.ends() if until is None else until)
            # Of the log's whole length others wrote most before: what is told is this call's share.
            begun = _count_done(ingest.load_positions(conn, writer.reader), targets)
            total = sum(targets.values()) - sum(begun.values())
            while True:
                writer.disk.check()
                came = writer.step()
                if came:
                    continue
                writer.give_up_held()
                writer.commit(everything=True)
                done = _count_done(ingest.load_positions(conn, writer.reader), targets)
                progress(sum(done.values()) - sum(begun.values()), total)
                if done == targets and not writer.replaying:
                    return writer.measures
                if deadline is not None and time.monotonic() > deadline:
                    raise Unavailable("the records were not written in time")
                time.sleep(_LOOK_S)
        except Conflict:
            raise Unavailable("another writer took over the topics during the import", advice="Import again.") from None
        finally:
            writer.close()


def _count_done(
    stored: Mapping[tuple[str, int], ingest.Position], targets: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    return {place: min(end, stored[place].position if place in stored else 0) for place, end in targets.items()}
