"""Shared parts of accounting imports: `flitwatch import sacct`, `pbs`, `flux`, `swf` and `clustercockpit`."""

from __future__ import annotations

import gc
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader
from itertools import chain, islice, repeat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

import click

from flitwatch.console import Database, make_progress, print_result

if TYPE_CHECKING:
    import psycopg

    from flitwatch.commands.imports.through_log import ImportLog
    from flitwatch_domain.errors import BadInput
    from flitwatch_ingest.sources.incarnations import Found, Held, JobKey
    from flitwatch_ingest.sources.rejection import Rejection

#: Jobs in memory at once; they are written before the next are read, so a year needs no more memory than an hour. 10,000 with three steps each took
#: 313 MB.
JOBS_AT_ONCE = 2_000
#: A small first batch, so that the page shows jobs after a moment.
JOBS_AT_FIRST = 100
#: Bytes that are read at a time.
_BLOCK = 1 << 16
#: Thresholds of the garbage collector: allocations minus deallocations, and collections of the younger generations.
_COLLECT_AT = (200_000, 10, 10)
#: Advice for a file without jobs, by source.
_NO_JOB = {
    "sacct": "By default, sacct lists only the caller's jobs since midnight. Use sacct --allusers --starttime=2026-01-31 --parsable2.",
    "pbs": "Give the days on which jobs ran: the files of PBS_HOME/server_priv/accounting.",
    "flux": "By default, flux jobs lists only the caller's active jobs. Use flux jobs -A -a --json.",
    "swf": "Give a whole log: a line of 18 numbers for each job follows its header.",
    "clustercockpit": "Give the folder of ClusterCockpit's job archive.",
}


@dataclass
class NodeCounts:
    """Number of jobs whose recorded number of nodes is not that of their host list, and the first of them."""

    jobs: int = 0
    examples: list[str] = field(default_factory=list)


class Reader(Protocol):
    """Converts files to jobs, one file after another."""

    def read(self, source: IO[bytes], where: str, /) -> Iterator[Found | Rejection]:
        """Yield the jobs and rejected parts of a file."""

    def rest(self) -> Iterator[Found | Rejection]:
        """Yield the entries left after the last file."""


def import_jobs(
    source: str, files: Sequence[Path], reader: Callable[[], Reader], *, name: Path, database: Database, as_json: bool
) -> None:
    """Import jobs through the log, print the report, and end with its exit status.

    Parameters
    ----------
    source : str
        Program that wrote the files: sacct, pbs, ...
    files : sequence of Path
        Files in reading order. If there are several, an unreadable file is rejected and the others are read.
    reader : callable
        Returns a new reader.
    name : Path
        Path given by the user; rejected records are listed under it.
    """
    from flitwatch.commands.imports.through_log import finish_import, open_import_log
    from flitwatch_db.ingest import imports
    from flitwatch_domain.errors import BadInput
    from flitwatch_domain.importers.packed import open_plain
    from flitwatch_ingest.sources.rejection import Rejection

    # Thousands of jobs are created and freed, and they contain no cycles: searching them for garbage would take a third of the time.
    gc.freeze()
    gc.set_threshold(*_COLLECT_AT)
    # Reject unusable files before starting a database.
    if all(map(_is_empty, files)):
        raise BadInput(
            "is empty" if len(files) == 1 else "contains only empty files", where=str(name), advice=_NO_JOB[source]
        )
    with open_plain(files[0]) as plain:
        reader().read(plain, str(files[0]))
    with open_import_log(database) as through, make_progress("importing") as display:
        size = sum(os.path.getsize(file) for file in files)
        task = display.add_task("importing", total=size)
        content = Content()
        reading = reader()
        items = chain(content.read(files, reading), reading.rest())
        # Store these jobs' remaining records of the log first: incarnation numbers continue from there.
        through.write(quiet=True)
        rejected: list[Rejection] = []
        differing = NodeCounts()
        imports.count_jobs_from_here(through.conn)
        sizes = chain([JOBS_AT_FIRST], repeat(JOBS_AT_ONCE))
        while batch := list(islice(items, next(sizes))):
            rejected += [item for item in batch if isinstance(item, Rejection)]
            _publish_batch(through, source, [item for item in batch if not isinstance(item, Rejection)], differing)
            display.update(task, completed=min(content.bytes, size))
        # Rejections of the same content have one source: a second import does not list them twice, and another day's file of the same name does not
        # hide them.
        listed = f"{source}:{name.absolute()}#{content.digest.hexdigest()}"
        for number, item in enumerate(rejected, start=1):
            through.publisher.reject(item, listed, number)
        through.sources.add(listed)
        through.write(quiet=True)
        report = imports.jobs_counted(through.conn)._asdict() | {
            "node_counts_differ": differing.jobs,
            "node_counts_examples": differing.examples,
            "unfinished_files": content.unfinished,
            **through.rejected(),
        }
    print_result(report, as_json)
    if not report["jobs"] and not report["rejected_total"]:
        click.echo(f"{name}: contains no job. {_NO_JOB[source]}", err=True)
    if report["unplaced"]:
        hosts = ", ".join(report["unplaced_examples"])
        click.echo(
            f"{report['unplaced']} of {report['jobs']} jobs ran on hosts that are on no fabric, such as {hosts}: import the "
            f"topology (flitwatch import fabric).",
            err=True,
        )
    if differing.jobs:
        click.echo(
            f"{differing.jobs} of {report['jobs']} jobs have another number of nodes than hosts, such as {', '.join(differing.examples)}: "
            f"they are placed on their hosts, and the larger number is kept.",
            err=True,
        )
    for file in content.unfinished:
        click.echo(
            f"{file}: the last line has no line end. If the file was cut off, the last field is incomplete.", err=True
        )
    finish_import(report)


def _publish_batch(through: ImportLog, source: str, found: list[Found], differing: NodeCounts) -> None:
    """Number a batch's incarnations after the stored ones, and write the batch; add the jobs whose number of nodes is not that of their hosts."""
    from flitwatch_db.ingest import imports
    from flitwatch_domain.jobs import count_other_nodes
    from flitwatch_ingest.collectors.sacct import publish_jobs
    from flitwatch_ingest.sources.incarnations import list_unnumbered, number_restarts

    jobs = number_restarts(found, _load_incarnations(through.conn, list_unnumbered(found)))
    for job in jobs:
        if (listed := count_other_nodes(job)) is not None:
            differing.jobs += 1
            if len(differing.examples) < imports.MOST_EXAMPLES:
                differing.examples.append(f"{job.job_id} ({job.nodes} nodes, {listed} hosts)")
    publish_jobs(jobs, through.publisher, source)
    through.shared |= {f"{source}:{job.cluster}" for job in jobs}
    through.write(quiet=True)
    imports.count_jobs(through.conn, {(job.cluster, job.job_id, job.restart) for job in jobs})


def _is_empty(file: Path) -> bool:
    """Return whether a file is empty; False if it cannot be read."""
    from flitwatch_domain.errors import BadInput
    from flitwatch_domain.importers.packed import open_plain

    try:
        with open_plain(file) as plain:
            return not plain.read(1)
    except BadInput:
        return False


class Content:
    """Counts the files' bytes as they are read, and computes their digest."""

    def __init__(self) -> None:
        self.bytes = 0
        self.digest = hashlib.blake2b(digest_size=8)
        #: Files of lines whose last line has no end.
        self.unfinished: list[str] = []
        self._first = self._last = b""

    def read(self, files: Sequence[Path], reader: Reader) -> Iterator[Found | Rejection]:
        """Yield the entries and rejections that `reader` finds in the files."""
        from flitwatch_domain.errors import BadInput
        from flitwatch_domain.importers.packed import open_plain
        from flitwatch_ingest.sources.rejection import Rejection

        for file in files:
            try:
                with open_plain(file) as plain:
                    counted = _Counted(plain, self._count_bytes)
                    self._first = self._last = b""
                    yield from reader.read(counted, str(file))  # type: ignore[arg-type]
                # JSON shows its end itself.
                if self._first not in (b"{", b"[") and self._last not in (b"", b"\n", b"\r"):
                    self.unfinished.append(str(file))
                if counted.damage is not None:
                    yield Rejection(str(file), counted.damage.reason)
            except BadInput as bad:
                if len(files) == 1:
                    raise
                yield Rejection(str(file), bad.reason)

    def _count_bytes(self, data: bytes) -> bytes:
        self.bytes += len(data)
        self._first = self._first or data.lstrip()[:1]
        self._last = data[-1:] or self._last
        self.digest.update(data)
        return data


class _Counted:
    """File that passes its blocks to `each` as they are read. It ends where it is damaged, and `damage` has the reason."""

    def __init__(self, file: IO[bytes], each: Callable[[bytes], bytes]) -> None:
        self._file = cast(BufferedReader, file)
        self._each = each
        self._begun = False
        self.damage: BadInput | None = None

    def __iter__(self) -> Iterator[bytes]:
        held: list[bytes] = []
        while block := self._read_part(partial(self._file.read1, _BLOCK)):
            first, *others = block.split(b"\n")
            held.append(first)
            if others:
                yield b"".join(held) + b"\n"
                yield from (line + b"\n" for line in others[:-1])
                held = [others[-1]]
        if any(held):
            yield b"".join(held)

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        # What a block holds before the damage would be lost with it.
        while size > 0 and (part := self._read_part(partial(self._file.read1, min(size, _BLOCK)))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _read_part(self, read: Callable[[], bytes]) -> bytes:
        from flitwatch_domain.errors import BadInput

        try:
            part = read()
        except BadInput as damage:
            if not self._begun:
                raise
            self.damage = damage
            return b""
        self._begun = True
        return self._each(part)


def _load_incarnations(conn: psycopg.Connection[Any], keys: set[JobKey]) -> dict[JobKey, list[Held]]:
    from flitwatch_db.ingest import imports
    from flitwatch_ingest.sources.incarnations import Held

    incarnations: defaultdict[JobKey, list[Held]] = defaultdict(list)
    for cluster, job_id, restart, submit_s, start_s, end_s in imports.list_incarnations(conn, keys):
        incarnations[cluster, job_id].append(Held(restart, submit_s, start_s, end_s))
    return dict(incarnations)
