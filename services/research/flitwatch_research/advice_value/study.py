"""Study of the savings by advice: the same weeks of the same simulated machine with and without it, over seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.tasks.executors import Executor
from flitwatch_domain.advice.pattern import SERVED
from flitwatch_research.advice_value.pieces import (
    NONE,
    ORACLE,
    POLICIES,
    QUANTILES,
    TICK_S,
    JobsFile,
    compute_rows,
    list_pieces,
)
from flitwatch_research.advice_value.variants import CHOSEN

Float = NDArray[np.float64]
Row = dict[str, Any]
Tell = Callable[[int, int, str], None]


def summarize_study(rows: list[Row], command: str, log: JobsFile | None = None) -> Row:
    """Return the study's result from the rows of all variants, seeds and policies."""
    rows = sorted(rows, key=lambda row: (CHOSEN.index(row["variant"]), row["seed"], POLICIES.index(row["policy"])))
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    table = [compare_policies([row for row in rows if row["variant"] == variant]) for variant in variants]
    return {
        "study": "advice-value",
        "simulated": True,
        "command": command,
        "days": rows[0]["days"],
        "tick_s": TICK_S,
        "seeds": len({row["seed"] for row in rows}),
        "first_seed": rows[0]["seed"],
        "jobs": None if log is None else {"file": log.read().name, "digest": log.digest},
        "served": [name for name, on in vars(SERVED).items() if on],
        "variants": dict(zip(variants, table, strict=True)),
        "points": rows,
    }


def compare_policies(rows: list[Row]) -> Row:
    """Return the comparison of each policy of one variant with no advice on the same seeds."""
    by_policy = {policy: own for policy in POLICIES if (own := [row for row in rows if row["policy"] == policy])}
    base = by_policy[NONE]
    best = _saved_share(base, by_policy[ORACLE]) if ORACLE in by_policy else np.zeros(len(base))
    return {policy: _summarize_policy(base, own, best) for policy, own in by_policy.items()}


def _saved_share(base: list[Row], own: list[Row]) -> Float:
    return np.array([1 - b["node_hours"] / a["node_hours"] for a, b in zip(base, own, strict=True)])


def _summarize_policy(base: list[Row], own: list[Row], best: Float) -> Row:
    saved = _saved_share(base, own)
    feeling = np.array([1 - b["feeling_node_hours"] / a["feeling_node_hours"] for a, b in zip(base, own, strict=True)])
    waits = {
        name: mean_interval(np.array([b[key] - a[key] for a, b in zip(base, own, strict=True)]))
        for name, key in (("mean_s", "wait_mean_s"), ("p95_s", "wait_p95_s"))
    }
    share = mean_interval(saved)
    choices = [row["choices"] for row in own]
    return {
        "node_hours_saved_share": share,
        "node_hours_saved_share_of_feeling_jobs": mean_interval(feeling),
        "oracle_share": float(saved.mean() / best.mean()) if best.mean() > 0 else None,
        "regret": mean_interval(best - saved),
        "decisions": {
            "count": sum(row["count"] for row in choices),
            "place_as_the_oracle": mean_interval(_share_of_starts(choices, "good_place")),
            "mode_as_the_oracle": mean_interval(_share_of_starts(choices, "good_mode")),
            "regret": mean_interval(
                np.array([c["lost_node_s"] / 3600 / row["node_hours"] for c, row in zip(choices, own, strict=True)])
            ),
        },
        "slowdown": dict(
            zip(map(str, QUANTILES), np.mean([row["slowdown"] for row in own], axis=0).tolist(), strict=True)
        ),
        "wait_change": waits,
        "wait_mean_s": float(np.mean([row["wait_mean_s"] for row in own])),
        "worst_user": _worst_user(base, own),
        "utilisation": float(np.mean([row["utilisation"] for row in own])),
        "asked": sum(row["asked"] for row in own),
        "delayed": sum(row["delayed"] for row in own),
        "preferred": sum(row["preferred"] for row in own),
        "overran": sum(row["overran"] for row in own),
        "verdict": decide_verdict(share, waits["mean_s"]) if own[0]["policy"] != NONE else None,
    }


def _share_of_starts(choices: list[Row], what: str) -> Float:
    """Return the share among each seed's starts of network-sensitive jobs; NaN if none started."""
    return np.array([choice[what] / choice["count"] if choice["count"] else np.nan for choice in choices])


def _worst_user(base: list[Row], own: list[Row]) -> Row:
    """Find the user with the longest additional wait compared with no advice, over all seeds. Equal names in two seeds are different users."""
    losses = [
        (b["user_wait_s"][user] - a["user_wait_s"][user], user, a["seed"])
        for a, b in zip(base, own, strict=True)
        for user in a["user_wait_s"]
    ]
    most, user, seed = max(losses)
    return {"user": user, "seed": seed, "wait_change_mean_s": most}


def mean_interval(values: Float) -> Row:
    """Return the mean with its 95 % interval over seeds (Student's t); null below three seeds."""
    from scipy.stats import t

    mean, count = float(values.mean()), len(values)
    if count < 3:
        return {"mean": mean, "low": None, "high": None}
    half = float(t.ppf(0.975, count - 1) * values.std(ddof=1) / np.sqrt(count))
    return {"mean": mean, "low": mean - half, "high": mean + half}


def decide_verdict(saved: Row, wait: Row) -> str:
    """Return pays | does harm | cannot tell, from the 95 % intervals of node-hours saved and of the change of the mean wait.

    Longer waits without savings are harm.
    """
    if saved["low"] is None:
        return "cannot tell"
    if saved["low"] > 0:
        return "pays"
    if saved["high"] < 0 or wait["low"] > 0:
        return "does harm"
    return "cannot tell"


def run_study(
    variants: tuple[str, ...],
    seeds: int,
    days: int,
    executor: Executor,
    command: str,
    tell: Tell,
    first: int = 1,
    log: JobsFile | None = None,
) -> Row:
    """Run the whole study, with seeds from `first` on; `tell(done, total, message)` is called after each piece."""
    every = list_pieces(variants, seeds, days, first, log)
    rows: list[Row] = []
    for row in compute_rows(every, executor):
        rows.append(row)
        tell(len(rows), len(every), f"{row['variant']}, seed {row['seed']}, {row['policy']}")
    return summarize_study(rows, command, log)
