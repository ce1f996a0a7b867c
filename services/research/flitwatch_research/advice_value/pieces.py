"""The independent pieces of the study: one policy in one variant with one seed, each stored on disk.

Every policy of a variant and a seed has the same jobs, background and noise, so that differences from no advice are paired.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from threadpoolctl import threadpool_limits

from flitwatch_db.tasks.executors import Executor
from flitwatch_domain.advice.pattern import SERVED, Parts
from flitwatch_domain.errors import BadRequest
from flitwatch_research.advice_value import job_log
from flitwatch_research.advice_value.advisers import Served
from flitwatch_research.advice_value.closed_loop import Loop, Outcome
from flitwatch_research.advice_value.modes import TABLE_FILE
from flitwatch_research.advice_value.oracle import Oracle
from flitwatch_research.advice_value.variants import CHOSEN, Month, make_month, owner_name

#: The policy of a site with default settings.
DEFAULT = "served"


@dataclass(frozen=True)
class Policy:
    """Parts that an adviser uses, and its answers that are followed."""

    parts: Parts
    places: bool = True
    delays: bool = True


#: Advisers by name.
PARTS = {
    DEFAULT: Policy(SERVED),
    "served-routing": Policy(replace(SERVED, routing=True)),
    "placement": Policy(SERVED, delays=False),
    "delays": Policy(SERVED, places=False),
    "routing": Policy(Parts.of(["routing"])),
    "counters": Policy(Parts.of(["counters"])),
    "blame": Policy(Parts.of(["blame"])),
    "forecast": Policy(Parts.of(["forecast"])),
    "running": Policy(Parts.of(["running"])),
    "blame-running": Policy(Parts.of(["blame", "running"])),
    "drivers": Policy(Parts.of(["drivers"])),
    "pattern": Policy(Parts.of(["pattern"])),
    "all": Policy(Parts()),
}
NONE, ORACLE = "none", "oracle"
POLICIES = (NONE, *PARTS, ORACLE)
DAYS, TICK_S = 14, 300.0
#: Reported quantiles of the slowdown.
QUANTILES = (0.1, 0.5, 0.9, 0.99)

#: Files without effect on a row.
UNHASHED = ("study.py", "report.py", "mode_fit.py")
Row = dict[str, Any]


@dataclass(frozen=True)
class JobsFile:
    """A log in the Standard Workload Format with the submitted jobs, and a digest of its content."""

    path: str
    digest: str

    @classmethod
    def of(cls, path: Path) -> JobsFile:
        """Return the present file; raise BadRequest if it is unusable."""
        return cls(str(path.resolve()), job_log.read_log(path.resolve()).digest)

    def read(self) -> job_log.JobLog:
        """Return its jobs."""
        return job_log.read_log(Path(self.path))


@dataclass(frozen=True)
class Piece:
    """One policy in one variant with one seed. Its result is stored on disk, so that an interrupted study can be resumed."""

    variant: str
    seed: int
    policy: str
    days: int = DAYS
    log: JobsFile | None = None

    @property
    def kept(self) -> Path:
        """Path of the row stored by the current code."""
        log = "" if self.log is None else self.log.digest
        what = (self.variant, self.seed, self.policy, PARTS.get(self.policy), self.days, log)
        digest = hashlib.sha256(f"{what}{_hash_code()}".encode()).hexdigest()[:20]
        return Path(os.environ.get("FLITWATCH_CACHE", ".cache")) / "advice-value" / f"{digest}.json"

    def read(self) -> Row:
        """Return the row stored earlier by the same code."""
        return dict(orjson.loads(self.kept.read_bytes()))

    def make(self) -> Row:
        """Simulate on this host."""
        with threadpool_limits(1):
            month = _make_month(self.variant, self.seed, self.days, self.log)
            return summarize_month(month, self.policy, simulate_month(month, self.policy))

    def keep(self, made: Row) -> None:
        """Store the row on this host's disk."""
        path = self.kept
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(orjson.dumps(made, option=orjson.OPT_SERIALIZE_NUMPY))
        os.replace(part, path)


@lru_cache(maxsize=1)
def _make_month(variant: str, seed: int, days: int, log: JobsFile | None) -> Month:
    """Return the month of a variant and seed; cached, because all policies use the same month."""
    return make_month(variant, seed, days, TICK_S, None if log is None else log.read())


def simulate_month(month: Month, policy: str) -> Outcome:
    """Simulate one month under one policy."""
    oracle = Oracle()
    if policy == ORACLE:
        loop = Loop(month, oracle, oracle)
        oracle.shown(loop.machine)
        return loop.run()
    return Loop(month, make_adviser(month, policy), oracle).run()


def make_adviser(month: Month, policy: str) -> Served | None:
    """Return the adviser of a policy other than the oracle's; None without advice."""
    if policy == NONE:
        return None
    chosen = PARTS[policy]
    return Served(chosen.parts, month.machine.nodes, month.machine.groups, chosen.places, chosen.delays)


def summarize_month(month: Month, policy: str, outcome: Outcome) -> Row:
    """Return the figures of one month: node-hours of all jobs, and slowdowns and waits of network-sensitive jobs, by user."""
    nodes = np.array([job.nodes for job in month.jobs], float)
    feels = np.array([bool(job.application) for job in month.jobs])
    alone = np.array([job.alone_s for job in month.jobs])
    wait = outcome.start_s - np.array([job.submit_s for job in month.jobs])
    hours = nodes * (outcome.end_s - outcome.start_s) / 3600
    slowdown = ((outcome.end_s - outcome.start_s) / alone)[feels]
    names = np.array([owner_name(month, job) for job in month.jobs])
    return {
        "variant": month.variant, "seed": month.seed, "policy": policy, "days": month.days, "jobs": len(nodes), "feeling_jobs": int(feels.sum()),
        "node_hours": float(hours.sum()), "feeling_node_hours": float(hours[feels].sum()),
        "slowdown": np.quantile(slowdown, QUANTILES).tolist(),
        "wait_mean_s": float(wait.mean()), "wait_p95_s": float(np.quantile(wait, 0.95)),
        "user_wait_s": {str(user): float(wait[names == user].mean()) for user in np.unique(names)},
        "utilisation": outcome.utilisation, "asked": outcome.asked, "delayed": outcome.delayed, "preferred": outcome.preferred, "overran": outcome.overran,
        "choices": vars(outcome.choices),
    }  # fmt: skip


def list_pieces(
    variants: tuple[str, ...], seeds: int, days: int, first: int = 1, log: JobsFile | None = None
) -> list[Piece]:
    """Return all pieces, seed by seed, from the seed `first` on.

    Raises
    ------
    BadRequest
        A variant does not exist.
    """
    for variant in variants:
        if variant not in CHOSEN:
            raise BadRequest(
                f"there is no variant {variant!r} in this study", advice=f"Choose one of {', '.join(CHOSEN)}."
            )
    return [
        Piece(variant, seed, policy, days, log)
        for seed in range(first, first + seeds)
        for variant in variants
        for policy in reversed(POLICIES)
    ]


def compute_rows(every: list[Piece], executor: Executor) -> Iterator[Row]:
    """Yield rows as they are computed, stored ones first; pending pieces are dropped when the caller stops."""
    lacking = []
    for piece in every:
        if piece.kept.exists():
            yield piece.read()
        else:
            lacking.append(piece)
    for number, result in executor.completed([piece.make for piece in lacking]):
        lacking[number].keep(result)
        yield result


@cache
def _hash_code() -> str:
    """Return a digest of the code behind a row: this study, the twin, the served adviser and the estimators, without comments and layout."""
    import flitwatch_ml.blame
    import flitwatch_ml.deviation
    import flitwatch_ml.work.blame
    import flitwatch_ml.work.deviation
    from flitwatch_db.estimates import advice
    from flitwatch_domain import neighbourhood, outlook, run_time
    from flitwatch_domain.advice import basis, decision, pattern
    from flitwatch_domain.network_noise import observations
    from flitwatch_research.campaign.cache import code_version, plain_code
    from flitwatch_simulation import application_aware as routing

    engines = (flitwatch_ml.blame, flitwatch_ml.deviation)
    folders = (Path(__file__).parent, *(Path(str(engine.__file__)).parent for engine in engines))
    files = [path for folder in folders for path in sorted(folder.glob("*.py")) if path.name not in UNHASHED]
    own = (advice, basis, decision, neighbourhood, observations, outlook, routing, run_time, pattern)
    files += [Path(inspect.getfile(module)) for module in (*own, flitwatch_ml.work.blame, flitwatch_ml.work.deviation)]
    digest = hashlib.sha256(code_version().encode() + job_log.THETA_FILE.read_bytes() + TABLE_FILE.read_bytes())
    for path in files:
        digest.update(f"{path.name}\n{plain_code(ast.parse(path.read_bytes()))}\n".encode())
    return digest.hexdigest()
