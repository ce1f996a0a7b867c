"""Scoring of estimates against the twin's truth, in a separate process, so that estimators never have the truth in memory.

`python -m flitwatch_research.scoring` reads requests, one JSON object {kind, scenario, seed, users, estimates} per line, and answers each with a line,
{scores} or {error}, until its standard input ends. One such process serves an estimating process for its whole life.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, TypedDict

import numpy as np
import orjson

from flitwatch_domain.blame import FOUND_Q
from flitwatch_domain.errors import FlitwatchError

#: Minimum mean effect of a user with an effect, in standard deviations of log run time over overlapping runs; the rest are nulls.
EFFECT_SD = 0.05
#: Class limits of effects for the recall.
EFFECT_SIZES = (0.05, 0.1, 0.3, 1.0)
FIRST = 10


class BlameEstimate(TypedDict):
    """A ranking of users by index, and the q-value of each; None: not named."""

    ranking: list[int]
    q: list[float | None]


class DeviationEstimate(TypedDict):
    """The rank of each counter, from 1."""

    rank: dict[str, float]


class BlameTruth(TypedDict):
    """Users with an effect by index, with role and effect (standard deviations of log run time)."""

    with_effect: list[int]
    roles: dict[str, str]
    effect_sd: dict[str, float]


class BlameFigures(TypedDict):
    """Scores of the ranking of users with an effect, and users named without one; counts are by size of effect."""

    average_precision: float | None
    precision_at_10: float | None
    best_at_10: float
    with_effect: list[int]
    found_by_size: list[int]
    found: int
    false: int
    false_share: float


class BlameScore(BlameFigures):
    """The same, with the users with an effect."""

    truth: BlameTruth


class DeviationScore(TypedDict):
    """The planted counters, the rank of the strongest, and the share of them among the first."""

    planted: str
    rank_of_planted: int
    planted_counters: list[str]
    planted_found: float


def score_estimate(
    kind: str, scenario: str, seed: int, users: int, estimate: BlameEstimate | DeviationEstimate
) -> BlameScore | DeviationScore:
    """Score `estimate` in another process."""
    return score_all(kind, scenario, seed, users, [estimate])[0]


def score_all(
    kind: str, scenario: str, seed: int, users: int, estimates: Sequence[BlameEstimate | DeviationEstimate]
) -> list[BlameScore | DeviationScore]:
    """Score several estimates of one scenario (of several, joined by commas, for "blame-pooled") in one other process."""
    request = {"kind": kind, "scenario": scenario, "seed": seed, "users": users, "estimates": estimates}
    scorer = _start_scorer()
    assert scorer.stdin is not None and scorer.stdout is not None
    answer: dict[str, Any] = {"error": "its process ended"}
    try:
        scorer.stdin.write(orjson.dumps(request) + b"\n")
        scorer.stdin.flush()
        if line := scorer.stdout.readline():
            answer = orjson.loads(line)
    except BrokenPipeError:
        pass
    if "error" in answer:
        if scorer.poll() is not None:
            _start_scorer.cache_clear()
        raise FlitwatchError(f"scoring failed: {answer['error']}")
    return list(answer["scores"])


@cache
def _start_scorer() -> subprocess.Popen[bytes]:
    """Return the process with the truths. It ends when this process ends and closes its standard input."""
    argv = [sys.executable, "-m", "flitwatch_research.scoring"]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def score_blame(truth: Any, estimate: BlameEstimate) -> BlameScore:
    """Score the ranking of users with an effect among all users, and find named users without an effect.

    Every user with a mean effect of at least `EFFECT_SD` counts. `average_precision` is weighted by effect: missing a strong user costs
    more. `precision_at_10` is the share of users with an effect among the first ten; its maximum is `best_at_10`.
    """
    effect = np.asarray(truth.effect_sd, float)
    ranking = np.asarray(estimate["ranking"], int)
    named_users = np.array([index for index, q in enumerate(estimate["q"]) if q is not None and q <= FOUND_Q], int)
    counts = effect >= EFFECT_SD
    size = np.digitize(effect, EFFECT_SIZES)
    has = [int(((size == size_class) & counts).sum()) for size_class in range(1, len(EFFECT_SIZES) + 1)]
    named = [int((size[named_users] == size_class).sum()) for size_class in range(1, len(EFFECT_SIZES) + 1)]
    return {
        "average_precision": _average_precision(ranking, np.where(counts, effect, 0.0)),
        "precision_at_10": float(counts[ranking[:FIRST]].mean()) if counts.any() else None,
        "best_at_10": min(FIRST, int(counts.sum())) / FIRST,
        "with_effect": has,
        "found_by_size": named,
        "found": len(named_users),
        "false": int((~counts[named_users]).sum()),
        "false_share": float((~counts[named_users]).mean()) if len(named_users) else 0.0,
        "truth": {
            "with_effect": np.flatnonzero(counts).tolist(),
            "roles": {str(index): truth.roles[index] for index in np.flatnonzero(counts).tolist()},
            "effect_sd": {str(index): float(effect[index]) for index in np.flatnonzero(counts).tolist()},
        },
    }


def _average_precision(ranking: np.ndarray, weight: np.ndarray) -> float | None:
    """Return the weighted mean of the precision at the ranks of users with positive weight; None if there are none."""
    hit = weight[ranking] > 0
    if not hit.any():
        return None
    precision = np.cumsum(hit) / np.arange(1, len(ranking) + 1)
    return float((precision * weight[ranking]).sum() / weight.sum())


def pool_truths(truths: list[Any]) -> Any:
    """Return one truth for several sets of the same machine, with mean effects over sets."""
    effect_sd = np.mean([truth.effect_sd for truth in truths], axis=0)
    return SimpleNamespace(effect_sd=effect_sd, roles=truths[0].roles)


def score_deviation(truth: Any, estimate: DeviationEstimate) -> DeviationScore:
    """Return the planted counters, the rank of the strongest, and the share of n planted ones among the first n."""
    order = sorted(estimate["rank"], key=estimate["rank"].__getitem__)
    several = list(truth.planted_counters)
    first = set(order[: len(several)])
    return {
        "planted": truth.planted_counter,
        "rank_of_planted": order.index(truth.planted_counter) + 1,
        "planted_counters": several,
        "planted_found": sum(name in first for name in several) / len(several),
    }


def main() -> None:
    for line in sys.stdin.buffer:
        try:
            answer: dict[str, Any] = {"scores": _score_estimates(**orjson.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.buffer.write(orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
        sys.stdout.buffer.flush()


def _score_estimates(
    kind: str, scenario: str, seed: int, users: int, estimates: list[Any]
) -> Sequence[BlameScore | DeviationScore]:
    from flitwatch_research.campaign import generate_truth

    truths = [generate_truth(name, seed, users) for name in scenario.split(",")]
    truth = pool_truths(truths) if kind == "blame-pooled" else truths[0]
    if kind == "deviation":
        return [score_deviation(truth, estimate) for estimate in estimates]
    return [score_blame(truth, estimate) for estimate in estimates]


if __name__ == "__main__":
    main()
