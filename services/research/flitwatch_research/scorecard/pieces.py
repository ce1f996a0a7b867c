"""The scorecard's independent pieces: one per core at a time, each stored on disk, so that an interrupted run can be resumed."""

from __future__ import annotations

import ast
import hashlib
import importlib
import os
import resource
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson
from threadpoolctl import threadpool_limits

from flitwatch_db.tasks.executors import Executor

Rows = list[dict[str, Any]]
#: The part without sets of the twin.
STRESS = "stress"


@dataclass(frozen=True)
class PieceResult:
    """Rows of a piece, the cost of computing them, and whether they were loaded from disk."""

    rows: Rows
    wall_s: float
    cpu_s: float
    kept: bool


@dataclass(frozen=True)
class Piece:
    """One call of a function of this package, `module.name`, that returns rows for a part of the scorecard.

    Its arguments begin with one or several scenarios, their seed, and the number of users. For the calendar stress, which simulates no machine, they are
    the variants and the number of the draw.
    """

    part: str
    function: str
    arguments: tuple[Any, ...]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Return the simulated sets that it reads."""
        if self.part == STRESS:
            return ()
        named = self.arguments[0]
        return (named,) if isinstance(named, str) else tuple(named)

    @property
    def kept(self) -> Path:
        """Path of the rows stored by the current code."""
        return scorecard_folder() / f"{self._hash_name()}.json"

    def read(self) -> PieceResult:
        """Return the rows stored earlier by the same code."""
        stored = orjson.loads(self.kept.read_bytes())
        return PieceResult(stored["rows"], stored["wall_s"], stored["cpu_s"], kept=True)

    def make(self) -> PieceResult:
        """Compute the rows on this host."""
        module, _, name = self.function.partition(".")
        make = getattr(importlib.import_module(f"flitwatch_research.scorecard.{module}"), name)
        wall, cpu = time.perf_counter(), _cpu_s()
        # One piece per core: a second thread of a product would wait for other pieces.
        with threadpool_limits(1):
            rows = list(make(*self.arguments))
        return PieceResult(rows, time.perf_counter() - wall, _cpu_s() - cpu, kept=False)

    def keep(self, made: PieceResult) -> None:
        """Store the rows on this host's disk."""
        path = self.kept
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(orjson.dumps(made, option=orjson.OPT_SERIALIZE_NUMPY))
        os.replace(part, path)

    def _hash_name(self) -> str:
        code = _hash_code(self.function.partition(".")[0])
        digest = hashlib.sha256(f"{self.function}{self.arguments}{code}".encode())
        return digest.hexdigest()[:20]


def simulate_sets(pieces: Iterable[Piece], executor: Executor) -> Iterator[str]:
    """Compute the missing sets of the pieces; yield a message when the sets of a machine are ready.

    Sets with the same seed share a machine and its jobs, so they are computed together. The processes do nothing else, because they contain truths, which
    estimators must not see.
    """
    from flitwatch_research.campaign.__main__ import main as simulate

    machines: dict[tuple[int, int], dict[str, None]] = {}
    for piece in (item for item in pieces if item.scenarios):
        seed, users = piece.arguments[1:3]
        machines.setdefault((seed, users), {}).update(dict.fromkeys(piece.scenarios))
    lacking = {
        machine: names_to_make
        for machine, names in machines.items()
        if (names_to_make := _find_missing(tuple(names), *machine))
    }
    if not lacking:
        return
    longest_first = sorted(lacking.items(), key=lambda item: -len(item[1]) * item[0][1])
    for number, _ in executor.completed([partial(simulate, *machine, names) for machine, names in longest_first]):
        yield "sets of seed {}, {} users".format(*longest_first[number][0])


def _find_missing(names: tuple[str, ...], seed: int, users: int) -> list[str]:
    from flitwatch_research.campaign.cache import record_paths

    return [name for name in names if not all(path.exists() for path in record_paths(name, seed, users))]


def compute_pieces(pieces: Iterable[Piece], executor: Executor) -> Iterator[tuple[str, PieceResult]]:
    """Yield (part, result) of each piece when it is complete; stored ones come first and are loaded without a separate process."""
    lacking = []
    for piece in pieces:
        if piece.kept.exists():
            yield piece.part, piece.read()
        else:
            lacking.append(piece)
    for number, result in executor.completed([piece.make for piece in lacking]):
        lacking[number].keep(result)
        yield lacking[number].part, result


def _cpu_s() -> float:
    """Return the CPU seconds of this process, without the scoring process."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def scorecard_folder() -> Path:
    """Return `$FLITWATCH_CACHE/scorecard`, else `.cache/scorecard` below the working directory."""
    return Path(os.environ.get("FLITWATCH_CACHE", ".cache")) / "scorecard"


@cache
def _hash_code(word: str) -> str:
    """Return a digest of the code behind a word's rows: its estimators, the twin, and the scoring, without comments and layout."""
    import flitwatch_ml
    from flitwatch_research import scoring, stress
    from flitwatch_research.campaign.cache import code_version, plain_code

    estimators = Path(str(flitwatch_ml.__file__)).parent
    own = [Path(__file__).parent / f"{word}.py", estimators / "folds.py", Path(str(scoring.__file__))]
    own += [path for path in [estimators / "work" / f"{word}.py"] if path.exists()]
    own += [Path(str(stress.__file__))] if word == "blame" else []
    digest = hashlib.sha256(code_version().encode())
    for path in [*own, *sorted((estimators / word).glob("*.py"))]:
        digest.update(f"{path.name}\n{plain_code(ast.parse(path.read_bytes()))}\n".encode())
    return digest.hexdigest()
