"""Checkpoint of a collector on disk, replaced atomically: a crash leaves either the old or the new one."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from pathlib import Path
from typing import Any

import orjson

from flitwatch_domain.errors import BadInput

log = logging.getLogger(__name__)
#: The disk or the quota is full: once an operator frees space, the next save succeeds.
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Checkpoint:
    """A JSON object in a file.

    Parameters
    ----------
    path : Path or None
        None keeps it in memory only (imports that start from the beginning each time).
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._saved = b""
        self.value: dict[str, Any] = self._load_value()

    def _load_value(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise BadInput(problem.strerror or str(problem), where=str(self._path)) from problem
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict):
            raise BadInput(
                "is not a checkpoint",
                where=str(self._path),
                advice="Remove it to collect from the start. Nothing is counted twice.",
            )
        self._saved = data
        return value

    def save(self) -> None:
        """Make the current value durable; do nothing if it has not changed.

        On a full disk the old value is kept until a later save. Records that are then read twice are counted once.
        """
        if self._path is None:
            return
        data = orjson.dumps(self.value, option=orjson.OPT_INDENT_2)
        if data == self._saved:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            with fresh.open("wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            fresh.replace(self._path)
        except OSError as problem:
            if problem.errno not in _FULL:
                raise
            log.warning("%s cannot be written; retrying: %s", self._path, problem.strerror)
            return
        finally:
            with contextlib.suppress(FileNotFoundError):
                fresh.unlink()
        self._saved = data
