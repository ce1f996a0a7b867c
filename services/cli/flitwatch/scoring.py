"""Scores estimates against the twin's truth, in a process of its own: what estimates never sees the truth.

`python -m flitwatch.scoring KIND SCENARIO SEED USERS` reads a list of estimates as JSON on standard input and prints the list of
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

#: What counts as a hit among the first ten: an effect of at least one standard deviation in at least 12 % of the runs.
STRONG_SD, STRONG_SHARE = 1.0, 0.12


def score(kind: str, scenario: str, seed: int, users: int, estimate: dict[str, Any]) -> dict[str, Any]:
    """Score `estimate` in another process."""
    return score_all(kind, scenario, seed, users, [estimate])[0]


def score_all(kind: str, scenario: str, seed: int, users: int, estimates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Score several estimates of one scenario (of several, joined by commas, for "blame-pooled") in one other process."""
    argv = [sys.executable, "-m", "flitwatch.scoring", kind, scenario, str(seed), str(users)]
    done = subprocess.run(argv, input=orjson.dumps(estimates), capture_output=True)
    if done.returncode:
        from flitwatch_domain.errors import FlitwatchError

        raise FlitwatchError(f"scoring failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return list(orjson.loads(done.stdout))


def score_blame(truth: Any, estimate: dict[str, Any]) -> dict[str, Any]:
    """Precision among the first min(10, qualifying) users, and the false share of what was found, over causal nulls."""
    runs = truth.effect_log.shape[0]
    strong = {
        index for index, (effect, exposed) in enumerate(zip(truth.effect_sd, truth.runs_exposed, strict=True))
        if effect >= STRONG_SD and exposed >= STRONG_SHARE * runs
    }  # fmt: skip
    aggressors = {index for index, label in enumerate(truth.label) if label == "aggressor"}
    nulls = {index for index, label in enumerate(truth.label) if label == "null"}
    first = estimate["ranking"][: min(10, len(strong))]
    first_any = estimate["ranking"][: min(10, len(aggressors))]
    found = [index for index, q in enumerate(estimate["q"]) if q is not None and q <= FOUND_Q]
    return {
        "precision_at_10": sum(i in strong or i in aggressors for i in first) / len(first) if first else None,
        "precision_aggressors": sum(i in aggressors for i in first_any) / len(first_any) if first_any else None,
        "false_share": sum(i in nulls for i in found) / len(found) if found else 0.0,
        "found": len(found),
        "truth": {
            "qualifying": sorted(strong),
            "aggressors": sorted(aggressors),
            "roles": {str(index): truth.roles[index] for index in sorted(strong | aggressors)},
            "effect_sd": {str(index): float(truth.effect_sd[index]) for index in sorted(strong | aggressors)},
        },
    }


def pooled(truths: list[Any]) -> Any:
    """One truth of several sets of the same machine: effects one below the other, the label by the mean effect over sets."""
    effect_sd = np.mean([truth.effect_sd for truth in truths], axis=0)
    exposed = np.sum([truth.runs_exposed for truth in truths], axis=0)
    aggressor, null = (effect_sd >= 0.3) & (exposed >= 10 * len(truths)), effect_sd < 0.05
    return SimpleNamespace(
        effect_log=np.concatenate([truth.effect_log for truth in truths]),
        effect_sd=effect_sd,
        runs_exposed=exposed,
        label=np.where(aggressor, "aggressor", np.where(null, "null", "grey")).tolist(),
        roles=truths[0].roles,
    )


def score_deviation(truth: Any, estimate: dict[str, Any]) -> dict[str, Any]:
    """The planted counter and its place among the ranks."""
    order = sorted(estimate["rank"], key=estimate["rank"].__getitem__)
    return {"planted": truth.planted_counter, "rank_of_planted": order.index(truth.planted_counter) + 1}


def main() -> None:
    from flitwatch_simulation.twin.campaign import generate_truth

    kind, scenario, seed, users = sys.argv[1:]
    truths = [generate_truth(name, int(seed), int(users)) for name in scenario.split(",")]
    truth = pooled(truths) if kind == "blame-pooled" else truths[0]
    one = score_deviation if kind == "deviation" else score_blame
    results = [one(truth, estimate) for estimate in orjson.loads(sys.stdin.buffer.read())]
    sys.stdout.buffer.write(orjson.dumps(results, option=orjson.OPT_SERIALIZE_NUMPY))


if __name__ == "__main__":
    main()
