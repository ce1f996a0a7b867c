"""Scores estimates against the twin's truth, in a process of its own: what estimates never sees the truth.

`python -m flitwatch_research.scoring KIND SCENARIO SEED USERS` reads a list of estimates as JSON on standard input and prints the list of
their scores as JSON.
"""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson

from flitwatch_domain.blame import FOUND_Q

#: A user counts from this mean effect on, in standard deviations of log run time over the runs that they met; the rest are nulls.
EFFECT_SD = 0.05
#: Recall is given for effects from each of these to the next.
EFFECT_SIZES = (0.05, 0.1, 0.3, 1.0)
FIRST = 10


def score(kind: str, scenario: str, seed: int, users: int, estimate: dict[str, Any]) -> dict[str, Any]:
    """Score `estimate` in another process."""
    return score_all(kind, scenario, seed, users, [estimate])[0]


def score_all(kind: str, scenario: str, seed: int, users: int, estimates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Score several estimates of one scenario (of several, joined by commas, for "blame-pooled") in one other process."""
    argv = [sys.executable, "-m", "flitwatch_research.scoring", kind, scenario, str(seed), str(users)]
    done = subprocess.run(argv, input=orjson.dumps(estimates), capture_output=True)
    if done.returncode:
        from flitwatch_domain.errors import FlitwatchError

        raise FlitwatchError(f"scoring failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return list(orjson.loads(done.stdout))


def score_blame(truth: Any, estimate: dict[str, Any]) -> dict[str, Any]:
    """How well the users who have an effect come first, over all users, and who of those named has none.

    Every user with a mean effect of at least `EFFECT_SD` counts. `average_precision` weighs each by the effect: missing a strong one costs
    more. `precision_at_10` is the share of the first ten who have an effect, of at most `best_at_10`.
    """
    effect = np.asarray(truth.effect_sd, float)
    ranking = np.asarray(estimate["ranking"], int)
    found = np.array([index for index, q in enumerate(estimate["q"]) if q is not None and q <= FOUND_Q], int)
    counts = effect >= EFFECT_SD
    size = np.digitize(effect, EFFECT_SIZES)
    has = [int(((size == one) & counts).sum()) for one in range(1, len(EFFECT_SIZES) + 1)]
    named = [int((size[found] == one).sum()) for one in range(1, len(EFFECT_SIZES) + 1)]
    return {
        "average_precision": _average_precision(ranking, np.where(counts, effect, 0.0)),
        "precision_at_10": float(counts[ranking[:FIRST]].mean()) if counts.any() else None,
        "best_at_10": min(FIRST, int(counts.sum())) / FIRST,
        "with_effect": has,
        "found_by_size": named,
        "found": len(found),
        "false": int((~counts[found]).sum()),
        "false_share": float((~counts[found]).mean()) if len(found) else 0.0,
        "truth": {
            "with_effect": np.flatnonzero(counts).tolist(),
            "roles": {str(index): truth.roles[index] for index in np.flatnonzero(counts).tolist()},
            "effect_sd": {str(index): float(effect[index]) for index in np.flatnonzero(counts).tolist()},
        },
    }


def _average_precision(ranking: np.ndarray, weight: np.ndarray) -> float | None:
    """Mean over the users of weight above 0 of the precision at their place, weighed; None where there is none."""
    hit = weight[ranking] > 0
    if not hit.any():
        return None
    precision = np.cumsum(hit) / np.arange(1, len(ranking) + 1)
    return float((precision * weight[ranking]).sum() / weight.sum())


def pooled(truths: list[Any]) -> Any:
    """One truth of several sets of the same machine: the mean effect over sets."""
    effect_sd = np.mean([truth.effect_sd for truth in truths], axis=0)
    return SimpleNamespace(effect_sd=effect_sd, roles=truths[0].roles)


def score_deviation(truth: Any, estimate: dict[str, Any]) -> dict[str, Any]:
    """The planted counters, the place of the strongest among the ranks, and how many of n planted ones are among the first n."""
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
    from flitwatch_twin.campaign import generate_truth

    kind, scenario, seed, users = sys.argv[1:]
    truths = [generate_truth(name, int(seed), int(users)) for name in scenario.split(",")]
    truth = pooled(truths) if kind == "blame-pooled" else truths[0]
    one = score_deviation if kind == "deviation" else score_blame
    results = [one(truth, estimate) for estimate in orjson.loads(sys.stdin.buffer.read())]
    sys.stdout.buffer.write(orjson.dumps(results, option=orjson.OPT_SERIALIZE_NUMPY))


if __name__ == "__main__":
    main()
