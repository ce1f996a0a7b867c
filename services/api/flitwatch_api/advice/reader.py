"""Reads the data for advice in a separate process: on a large site, reading would block the event loop.

Protocol of `python -m flitwatch_api.advice.reader`: the first line of standard input is the database URL. Each further line requests one reading.
The answer is a series of frames, each with a 4-byte length and a pickle of that length, ended by an empty frame. The process ends at the end of its
input.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

import psycopg

from flitwatch_db.estimates.advice import load_basis
from flitwatch_domain.advice.basis import Basis
from flitwatch_domain.errors import FlitwatchError, Unavailable

log = logging.getLogger(__name__)

REFRESH_S = 15.0
#: Reading pauses without questions. The first question after a pause waits up to RENEWED_IN_S for new state.
IDLE_S, RENEWED_IN_S = 300.0, 3.0


class AdviceState:
    """Holds the newest basis, which is replaced as a whole.

    Parameters
    ----------
    url : str     the database
    """

    def __init__(self, url: str) -> None:
        self._reader = Reader(url)
        self._basis: Basis | None = None
        self._read_at = self._asked_at = 0.0
        self._away = False
        self._task: asyncio.Task[None] | None = None
        self._first = asyncio.Lock()
        self._tried = asyncio.Event()

    async def get(self) -> tuple[Basis, float, bool]:
        """Return the basis, its age in seconds, and whether the last read failed. Raise Unavailable if none was ever read."""
        self._asked_at = time.monotonic()
        if self._basis is None:
            async with self._first:
                if self._basis is None:
                    await self._read_basis()
        if self._task is None or self._task.done():
            self._tried.clear()
            self._task = asyncio.create_task(self._refresh_loop())
        if not self._tried.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._tried.wait(), RENEWED_IN_S)
        assert self._basis is not None
        return self._basis, time.monotonic() - self._read_at, self._away

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await asyncio.to_thread(self._reader.stop)

    async def _read_basis(self) -> None:
        try:
            self._basis = await asyncio.to_thread(self._reader.read)
        except Unavailable:
            self._away = True
            raise
        self._read_at, self._away = time.monotonic(), False

    async def _refresh_loop(self) -> None:
        while time.monotonic() - self._asked_at < IDLE_S:
            spent = time.monotonic()
            if self._read_at < spent - REFRESH_S:
                try:
                    await self._read_basis()
                except FlitwatchError as problem:
                    log.warning("advice keeps its old state: %s", problem.message)
            self._tried.set()
            # Reading a large site takes long, but uses at most a tenth of the database's time.
            await asyncio.sleep(max(REFRESH_S, 10 * (time.monotonic() - spent)))
        self._tried.set()
        await asyncio.to_thread(self._reader.stop)


#: Entries per frame. Unpickling a frame blocks the interpreter for at most one or two milliseconds.
PART = 500
#: Lower priority than the API, so that responses go first on a shared core.
NICENESS = 15
STATEMENT_S = 60.0


def main() -> None:
    """Serve readings."""
    os.nice(NICENESS)
    url = sys.stdin.buffer.readline().decode().rstrip("\n")
    for _ in iter(sys.stdin.buffer.readline, b""):
        try:
            parts: Iterator[Any] = iter([*_split_basis(_read_basis(url))])
        except (psycopg.Error, OSError, FlitwatchError) as problem:
            parts = iter([type(problem).__name__])
        for part in parts:
            _send_frame(pickle.dumps(part, pickle.HIGHEST_PROTOCOL))
        _send_frame(b"")
        sys.stdout.buffer.flush()


def _send_frame(frame: bytes) -> None:
    sys.stdout.buffer.write(len(frame).to_bytes(4, "big") + frame)


def _read_basis(url: str) -> Basis:
    from flitwatch_db import connect

    # The worker table of the queue needs the writer role; nothing is written.
    with connect(url, role="writer", application="flitwatch advice", statement_s=STATEMENT_S) as conn:
        conn.read_only = True
        return load_basis(conn)


def _split_basis(basis: Basis) -> Iterator[tuple[str, Any]]:
    """Yield the basis without its large tables, then parts of these tables."""
    yield "basis", replace(basis, nodes={}, runs={}, memo={})
    nodes = list(basis.nodes.items())
    for at in range(0, len(nodes), PART):
        yield "nodes", dict(nodes[at : at + PART])
    for application, rows in basis.runs.items():
        for at in range(0, len(rows), PART):
            yield "runs", (application, rows[at : at + PART])


class Reader:
    """Reader process, started on first use and restarted after it dies."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._process: subprocess.Popen[bytes] | None = None
        self._one = threading.Lock()

    def read(self) -> Basis:
        """Return a new reading. This blocks. Raise Unavailable if the database does not answer, or the reader process died."""
        with self._one:
            try:
                return self._request_basis()
            except (OSError, EOFError, ValueError, pickle.UnpicklingError):
                self._end()
                raise Unavailable("the advice service has no new state because its reader ended") from None

    def _request_basis(self) -> Basis:
        if self._process is None or self._process.poll() is not None:
            argv = [sys.executable, "-m", "flitwatch_api.advice.reader"]
            self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self._process.stdin is not None
            # Not as an argument: the URL can contain a password.
            self._process.stdin.write(self._url.encode() + b"\n")
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return _join_parts(_read_frames(self._process.stdout))

    def stop(self) -> None:
        """End the process."""
        process = self._process
        if process is not None:
            process.kill()
        with self._one:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _read_frames(stream: IO[bytes]) -> Iterator[Any]:
    while True:
        head = stream.read(4)
        if len(head) != 4:
            raise EOFError
        size = int.from_bytes(head, "big")
        if not size:
            return
        yield pickle.loads(stream.read(size))


def _join_parts(parts: Iterator[Any]) -> Basis:
    # Always read the answer to its end, so that the next one starts at its beginning.
    basis: Basis | None = None
    failed = ""
    for part in parts:
        if isinstance(part, str):
            failed = part
            continue
        what, value = part
        if what == "basis":
            basis = value
        elif basis is not None and what == "nodes":
            basis.nodes.update(value)
        elif basis is not None:
            basis.runs.setdefault(value[0], []).extend(value[1])
    if failed or basis is None:
        raise Unavailable(f"the advice service has no new state: {failed or 'nothing was read'}")
    return basis


if __name__ == "__main__":
    main()
