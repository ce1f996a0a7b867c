"""The scorecard's independent pieces: one per core at a time, each kept on disk, so that what was interrupted goes on where it stopped."""

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
#: The part that reads no set of the twin.
STRESS = "stress"


@dataclass(frozen=True)
class PieceResult:
    """Rows of a piece, what making them took, and whether they were read back."""

    rows: Rows
    wall_s: float
    cpu_s: float
    kept: bool


@dataclass(frozen=True)
class Piece:
    """One call of a function of this package, `module.name`, whose rows belong to a part of the scorecard.

    Its arguments begin with a scenario or several, their seed, and the number of users; those of the calendar stress, which simulates no machine, are
    its worlds and the number of the draw.
    """

    part: str
    function: str
    arguments: tuple[Any, ...]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The simulated sets that it reads."""
        if self.part == STRESS:
            return ()
        named = self.arguments[0]
        return (named,) if isinstance(named, str) else tuple(named)

    @property
    def kept(self) -> Path:
        """Path of the stored rows, once the current code has computed them."""
        return scorecard_folder() / f"{self._hash_name()}.json"

    def read(self) -> PieceResult:
        """Return the rows that the same code made before."""
        stored = orjson.loads(self.kept.read_bytes())
        return PieceResult(stored["rows"], stored["wall_s"], stored["cpu_s"], kept=True)

    def make(self) -> PieceResult:
        """Make the rows, on the machine that runs this."""
        module, _, name = self.function.partition(".")
        make = getattr(importlib.import_module(f"flitwatch_research.scorecard.{module}"), name)
        wall, cpu = time.perf_counter(), _cpu_s()
        # One piece a core: a second thread of a product waits for the other pieces.
        with threadpool_limits(1):
            rows = list(make(*self.arguments))
        return PieceResult(rows, time.perf_counter() - wall, _cpu_s() - cpu, kept=False)

    def keep(self, made: PieceResult) -> None:
        """Keep the rows on this machine's disk."""
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
    """Make the sets that the pieces read and that are not there yet; a message as each machine's are ready.

    Sets of one seed share a machine and its jobs, so they are made together. The processes make nothing else: they hold truths, which no estimator may see.
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
    """Yield (part, what was made) of each piece as it is done; those kept first, read back without a process for it."""
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
    """Return CPU seconds of this process, without the one that scores."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def scorecard_folder() -> Path:
    """`$FLITWATCH_CACHE/scorecard`, else `.cache/scorecard` below the working directory."""
    return Path(os.environ.get("FLITWATCH_CACHE", ".cache")) / "scorecard"


@cache
def _hash_code(word: str) -> str:
    """Return a digest of what the rows of one word depend on: its estimators, the twin, and how they are scored; comments and layout play no part."""
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
