"""The writer for one-shot imports: it writes the current content of the log and stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from flitwatch_db import connect
from flitwatch_db.ingest import store as ingest
from flitwatch_domain.errors import Conflict, Unavailable
from flitwatch_ingest.writer.loop import Writer
from flitwatch_ingest.writer.measures import Measures
from flitwatch_ingest.writer.settings import WriterSettings
from flitwatch_stream.backends import open_log

_LOOK_S = 0.1

Progress = Callable[[int, int], object]


class Drain:
    """A writer for one or several imports. Next to a running writer it takes only unassigned topics, and waits until the others are written.

    Parameters
    ----------
    url, log_url : str
        The database and the log.
    """

    def __init__(self, url: str, log_url: str, settings: WriterSettings | None = None) -> None:
        with ExitStack() as stack:
            log = stack.enter_context(open_log(log_url))
            self._conn = stack.enter_context(connect(url, role="writer", autocommit=True))
            self._writer = Writer(url, log, settings, threading.Event(), opportunistic=True)
            stack.callback(self._writer.close)
            self._open = stack.pop_all()

    def __enter__(self) -> Drain:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the topics, and close the log and the database."""
        self._open.close()

    def write(
        self,
        until: Mapping[tuple[str, int], int] | None = None,
        progress: Progress = lambda done, total: None,
        limit_s: float | None = None,
    ) -> Measures:
        """Write records until the database is at `until`.

        Parameters
        ----------
        until : mapping, optional
            Next offset by (topic, partition); without it, the present ends of all topics.
        progress : callable
            Called with (records written, total records).
        limit_s : float, optional
            Raise Unavailable after this long.

        Raises
        ------
        DiskFull
            The database's disk has no space; unwritten records wait in the log.

        Returns
        -------
        Measures
            Totals of this writer only.
        """
        writer = self._writer
        deadline = time.monotonic() + limit_s if limit_s is not None else None
        try:
            targets = dict(writer.assigned.ends() if until is None else until)
            writer.assigned.look_again()
            # Most of the log was written before: report only the share of this call.
            begun = _count_done(ingest.load_positions(self._conn, writer.reader), targets)
            total = sum(targets.values()) - sum(begun.values())
            while True:
                writer.disk.check()
                if not writer.has_read(targets) and writer.step():
                    continue
                writer.give_up_held()
                writer.commit(everything=True)
                done = _count_done(ingest.load_positions(self._conn, writer.reader), targets)
                progress(sum(done.values()) - sum(begun.values()), total)
                if done == targets and not writer.replaying:
                    return writer.measures
                if deadline is not None and time.monotonic() > deadline:
                    raise Unavailable("the records were not written in time")
                time.sleep(_LOOK_S)
        except Conflict:
            raise Unavailable(
                "another writer took the topics over while they were imported", advice="Import again."
            ) from None


def _count_done(
    stored: Mapping[tuple[str, int], ingest.Position], targets: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    return {place: min(end, stored[place].position if place in stored else 0) for place, end in targets.items()}
