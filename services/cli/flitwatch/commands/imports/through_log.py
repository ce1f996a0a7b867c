"""Imports of streaming formats: append to the log, run the writer, and report the stored records."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from flitwatch.console import SOME_REFUSED, Database, make_progress, stderr_console

if TYPE_CHECKING:
    import psycopg

    from flitwatch_ingest.collectors import Publisher
    from flitwatch_ingest.writer import Drain

#: Rejections listed in a report. All are counted, and all are in the dead-letter table.
MOST_LISTED = 1000
_PATIENCE_S = 60.0


class RejectedRecord(TypedDict):
    where: str
    reason: str


class RejectedRecords(TypedDict):
    """First rejected records, and their total number."""

    rejected: list[RejectedRecord]
    rejected_total: int


@dataclass
class ImportLog:
    """Open log of a database, for one import.

    Attributes
    ----------
    sources : set of str     source names of this file's records only
    shared : set of str      source names shared with other files; only rejections since the start of the import count
    before : int             the newest dead letter at the start
    """

    publisher: Publisher
    drain: Drain
    conn: psycopg.Connection[Any]
    sources: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    before: int = 0

    def write(self, quiet: bool = False) -> None:
        """Run the writer up to the last published record. With `quiet`, the caller shows the progress."""
        self.publisher.flush()
        if quiet:
            self.drain.write()
            return
        with make_progress("writing") as display:
            task = display.add_task("writing", total=None)
            self.drain.write(progress=lambda done, total: display.update(task, completed=done, total=total))

    def rejected(self) -> RejectedRecords:
        """Return the report's fields on records rejected by the decoder or the writer."""
        from flitwatch_db.ingest import imports

        names = {*self.sources, *(f"{source}#rejected" for source in self.sources)}
        count, records = imports.list_refused(self.conn, names, MOST_LISTED, self.shared, self.before)
        return {"rejected": [{"where": item.where, "reason": item.reason} for item in records], "rejected_total": count}


@contextmanager
def open_import_log(database: Database) -> Iterator[ImportLog]:
    """Open the database, its log and a producer."""
    from flitwatch_db import connect
    from flitwatch_db.ingest import imports
    from flitwatch_ingest.collectors import Publisher
    from flitwatch_ingest.writer import Drain
    from flitwatch_ops import platform
    from flitwatch_stream.backends import open_log

    with (
        database.open(adds=True) as url,
        open_log(platform.log_url(url)) as log,
        log.producer("flitwatch-import") as producer,
        connect(url, autocommit=True) as conn,
        Drain(url, platform.log_url(url)) as drain,
    ):
        publisher = Publisher(producer, say=print_notice, patience_s=_PATIENCE_S)
        yield ImportLog(publisher, drain, conn, before=imports.last_refused(conn))


def print_notice(text: str) -> None:
    """Print a message on standard error."""
    stderr_console().print(text, markup=False, highlight=False)


def finish_import(report: Mapping[str, Any], status: int = 0) -> None:
    """End the command with `status`, or with `SOME_REFUSED` if the report has rejected records."""
    if status or report["rejected_total"]:
        sys.exit(status or SOME_REFUSED)
