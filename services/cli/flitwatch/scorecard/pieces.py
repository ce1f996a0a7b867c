"""The scorecard's independent pieces: two at a time, each kept on disk, so that what was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Piece:
    """One call of a function of this package, `module.name`, whose rows belong to a part of the scorecard."""

    part: str
    function: str
    arguments: tuple[Any, ...]

    def rows(self) -> Rows:
        """Make the rows, or read them where the same code made them before."""
        kept = _folder() / f"{self._name()}.json"
        if kept.exists():
            return list(orjson.loads(kept.read_bytes()))
        module, _, name = self.function.partition(".")
        rows = list(getattr(importlib.import_module(f"flitwatch.scorecard.{module}"), name)(*self.arguments))
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(orjson.dumps(rows, option=orjson.OPT_SERIALIZE_NUMPY))
        os.replace(part, kept)
        return rows

    def _name(self) -> str:
        code = _code(self.function.partition(".")[0])
        digest = hashlib.sha256(f"{self.function}{self.arguments}{code}".encode())
        return digest.hexdigest()[:20]


def done(pieces: Iterable[Piece], processes: int) -> Iterator[tuple[str, Rows]]:
    """(part, rows) of each piece as it is done."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(piece.rows): piece.part for piece in pieces}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _folder() -> Path:
    """`$FLITWATCH_CACHE/scorecard`, else `.cache/scorecard` below the working directory."""
    return Path(os.environ.get("FLITWATCH_CACHE", ".cache")) / "scorecard"


@cache
def _code(word: str) -> str:
    """A digest of what the rows of one word depend on: its estimators, the twin, and how they are scored."""
    import flitwatch_ml
    from flitwatch import scoring
    from flitwatch_simulation.twin.campaign.cache import code_version

    estimators = Path(str(flitwatch_ml.__file__)).parent
    own = [Path(__file__).parent / f"{word}.py", estimators / "folds.py", Path(str(scoring.__file__))]
    digest = hashlib.sha256(code_version().encode())
    for path in [*own, *sorted((estimators / word).glob("*.py"))]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
