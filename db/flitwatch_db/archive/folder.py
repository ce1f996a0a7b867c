"""Folder of an archive: its parts by month, its lock, and its content."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from flitwatch_db.archive.parts import ManifestHead, Part, Writer, guard_disk_writes
from flitwatch_db.archive.shapes import FABRIC_SHAPES, SHAPES
from flitwatch_domain.errors import BadInput, BadRequest, Conflict

FORMAT = "flitwatch archive 1"
PART, FABRIC = "flitwatch archive part 1", "flitwatch archive fabric 1"
MARK = "archive.json"
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_NAME = re.compile(r"(measured|simulated)-\d{6}")
_DIGEST = re.compile(r"[0-9a-f]{32}")


class Key(NamedTuple):
    """A job in one state, or a run without a job; an archive contains each state once."""

    kind: str
    cluster: str
    name: str
    restart: int
    updated_at: datetime | None
    run_steps: int


def mark_archive_folder(root: Path) -> None:
    """Mark an empty folder as an archive. If a file system that was mounted there is unavailable, the mark is missing. Raise BadRequest if the folder
    does not exist, or contains other things."""
    if not root.is_dir():
        raise BadRequest(
            f"there is no folder {root}",
            advice="Mount or create it, and run this on a machine that can reach it. It is not created automatically.",
        )
    if not (root / MARK).is_file():
        with Folder(root, create=True):
            pass


class Folder:
    """Archive as a context manager, which excludes other readers and writers.

    Parameters
    ----------
    create : bool
        Create it if it does not exist.

    Raises
    ------
    BadRequest
        The path is not a folder, or the folder contains other things.
    Conflict
        Another process uses it.
    BadInput
        Its parts do not match their names.
    """

    def __init__(self, root: Path, create: bool = False) -> None:
        self.root, self.create = Path(root), create
        self._lock: int | None = None

    def __enter__(self) -> Folder:
        with guard_disk_writes(f"the archive {self.root} cannot be used"):
            self._open_folder()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open_folder(self) -> None:
        mark = self.root / MARK
        if self.create and not self.root.exists():
            self.root.mkdir(parents=True, mode=0o750)
        if not self.root.is_dir():
            raise BadRequest(f"there is no folder {self.root}", advice="Name the folder of an archive.")
        if not mark.is_file():
            if not self.create or any(self.root.iterdir()):
                raise BadRequest(f"{self.root} is not an archive", advice="Name an archive, or a new or empty folder.")
            mark.write_text(json.dumps({"format": FORMAT}) + "\n")
        self._lock = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o640)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            self._lock = None
            raise Conflict(
                f"the archive {self.root} is in use by another process", advice="Wait until it ends."
            ) from None
        self._check_mark(mark)
        # Files of a killed process; only the owner of the lock writes.
        for draft in self.root.glob(".draft-*"):
            shutil.rmtree(draft, ignore_errors=True)
        self._drop_replaced()

    def _check_mark(self, mark: Path) -> None:
        try:
            mark_format = json.loads(mark.read_bytes()[:1000])["format"]
        except (ValueError, TypeError, KeyError):
            mark_format = None
        if mark_format != FORMAT:
            raise BadInput(f"the format is {mark_format!r}; this version reads {FORMAT!r}", where=MARK)

    def months(self) -> list[str]:
        """Return the months with parts, oldest first."""
        return sorted(entry.name for entry in self.root.iterdir() if _MONTH.fullmatch(entry.name) and entry.is_dir())

    def parts(self, months: Sequence[str] | None = None) -> list[Part]:
        """Return the parts of some months, or all, in the order of writing."""
        month_parts = []
        for month in self.months() if months is None else sorted(set(months) & set(self.months())):
            for place in sorted((self.root / month).iterdir(), key=lambda one: (one.name[-6:], one.name)):
                shown = f"{month}/{place.name}"
                if place.is_symlink() or (self.root / month).is_symlink() or not _NAME.fullmatch(place.name):
                    raise BadInput("this is not part of an archive", where=shown)
                month_parts.append(Part(place, shown, SHAPES, PART))
        return month_parts

    def fabric(self, digest: str) -> Part:
        if not _DIGEST.fullmatch(digest):
            raise BadInput(f"{digest[:80]!r} does not name a fabric", where="fabrics")
        return Part(self.root / "fabrics" / digest, f"fabrics/{digest}", FABRIC_SHAPES, FABRIC)

    def has_fabric(self, digest: str) -> bool:
        """Return whether the archive contains a fabric."""
        return (self.root / "fabrics" / digest / "manifest.json").is_file()

    @contextlib.contextmanager
    def write(self, place: str, about: ManifestHead) -> Iterator[Writer]:
        """Write a part at `place`; it is removed unless it is committed."""
        with guard_disk_writes(f"the archive {self.root} cannot be written"):
            writer = Writer(self.root / f".draft-{place.replace('/', '-')}", self.root / place, about)
            try:
                yield writer
            finally:
                writer.discard()

    def next_place(self, month: str, simulated: bool) -> str:
        """Return the name of a month's next part."""
        place = self.root / month
        numbers = [int(entry.name[-6:]) for entry in place.iterdir()] if place.is_dir() else []
        return f"{month}/{'simulated' if simulated else 'measured'}-{max(numbers, default=0) + 1:06d}"

    def known(self, months: Sequence[str]) -> set[Key]:
        """Load the keys of all jobs and runs in the parts of some months."""
        part_keys: set[Key] = set()
        for part in self.parts(months):
            part_keys |= read_part_keys(part)
        return part_keys

    def _drop_replaced(self) -> None:
        """Remove replaced parts, left by a writer that was killed before it could remove them."""
        for month in self.months():
            for place in (self.root / month).iterdir():
                with contextlib.suppress(BadInput, OSError):
                    old = Part(place, place.name, SHAPES, PART).manifest.get("replaces")
                    if isinstance(old, str) and _NAME.fullmatch(old) and old < place.name:
                        shutil.rmtree(self.root / month / old, ignore_errors=True)


def read_part_keys(part: Part) -> set[Key]:
    """Read the keys of a part's jobs and runs from their identifying columns."""
    part_keys: set[Key] = set()
    try:
        jobs = pq.read_table(
            part.place / "job.parquet", columns=["cluster", "job_id", "restart", "updated_at", "run_steps"]
        )
        runs = pq.read_table(part.place / "run.parquet", columns=["run_key", "job_pk", "run_steps"])
    except (pa.ArrowException, OSError) as problem:
        raise BadInput(f"cannot be read as Parquet: {str(problem)[:200]}", where=part.shown) from None
    for row in jobs.to_pylist():
        part_keys.add(Key("job", row["cluster"], row["job_id"], row["restart"], row["updated_at"], row["run_steps"]))
    for row in runs.to_pylist():
        if row["job_pk"] is None:
            part_keys.add(Key("run", "", row["run_key"], 0, None, row["run_steps"]))
    return part_keys
