"""What following advice saves: the same weeks of the same simulated machine with and without it, over seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.advice.parts import SERVED
from flitwatch_db.tasks.executors import Executor
from flitwatch_research.advice_value.pieces import (
    NONE,
    ORACLE,
    POLICIES,
    QUANTILES,
    TICK_S,
    JobsFile,
    done,
    pieces,
)
from flitwatch_research.advice_value.worlds import CHOSEN

Float = NDArray[np.float64]
Row = dict[str, Any]
Tell = Callable[[int, int, str], None]


def answer(rows: list[Row], command: str, log: JobsFile | None = None) -> Row:
    """The study's result from the rows of all worlds, seeds and policies."""
    rows = sorted(rows, key=lambda one: (CHOSEN.index(one["world"]), one["seed"], POLICIES.index(one["policy"])))
    worlds = list(dict.fromkeys(one["world"] for one in rows))
    table = [compared([one for one in rows if one["world"] == world]) for world in worlds]
    return {
        "study": "advice-value",
        "simulated": True,
        "command": command,
        "days": rows[0]["days"],
        "tick_s": TICK_S,
        "seeds": len({one["seed"] for one in rows}),
        "first_seed": rows[0]["seed"],
        "jobs": None if log is None else {"file": log.read().name, "digest": log.digest},
        "served": [name for name, on in vars(SERVED).items() if on],
        "worlds": dict(zip(worlds, table, strict=True)),
        "points": rows,
    }


def compared(rows: list[Row]) -> Row:
    """Each policy of one world beside no advice on the same seeds."""
    by_policy = {policy: own for policy in POLICIES if (own := [one for one in rows if one["policy"] == policy])}
    base = by_policy[NONE]
    best = _saved(base, by_policy[ORACLE]) if ORACLE in by_policy else np.zeros(len(base))
    return {policy: _policy(base, own, best) for policy, own in by_policy.items()}


def _saved(base: list[Row], own: list[Row]) -> Float:
    return np.array([1 - b["node_hours"] / a["node_hours"] for a, b in zip(base, own, strict=True)])


def _policy(base: list[Row], own: list[Row], best: Float) -> Row:
    saved = _saved(base, own)
    feeling = np.array([1 - b["feeling_node_hours"] / a["feeling_node_hours"] for a, b in zip(base, own, strict=True)])
    waits = {
        name: interval(np.array([b[key] - a[key] for a, b in zip(base, own, strict=True)]))
        for name, key in (("mean_s", "wait_mean_s"), ("p95_s", "wait_p95_s"))
    }
    share = interval(saved)
    choices = [one["choices"] for one in own]
    return {
        "node_hours_saved_share": share,
        "node_hours_saved_share_of_feeling_jobs": interval(feeling),
        "oracle_share": float(saved.mean() / best.mean()) if best.mean() > 0 else None,
        "regret": interval(best - saved),
        "decisions": {
            "count": sum(one["count"] for one in choices),
            "place_as_the_oracle": interval(_share(choices, "good_place")),
            "mode_as_the_oracle": interval(_share(choices, "good_mode")),
            "regret": interval(
                np.array([c["lost_node_s"] / 3600 / one["node_hours"] for c, one in zip(choices, own, strict=True)])
            ),
        },
        "slowdown": dict(
            zip(map(str, QUANTILES), np.mean([one["slowdown"] for one in own], axis=0).tolist(), strict=True)
        ),
        "wait_change": waits,
        "wait_mean_s": float(np.mean([one["wait_mean_s"] for one in own])),
        "worst_user": _worst_user(base, own),
        "utilisation": float(np.mean([one["utilisation"] for one in own])),
        "asked": sum(one["asked"] for one in own),
        "delayed": sum(one["delayed"] for one in own),
        "preferred": sum(one["preferred"] for one in own),
        "overran": sum(one["overran"] for one in own),
        "verdict": verdict(share, waits["mean_s"]) if own[0]["policy"] != NONE else None,
    }


def _share(choices: list[Row], what: str) -> Float:
    """Of each seed's starts of jobs that feel the network; NaN where none of them started."""
    return np.array([one[what] / one["count"] if one["count"] else np.nan for one in choices])


def _worst_user(base: list[Row], own: list[Row]) -> Row:
    """Who waits longest beyond their wait without advice, over all seeds: the same name is another user in another seed."""
    losses = [
        (b["user_wait_s"][user] - a["user_wait_s"][user], user, a["seed"])
        for a, b in zip(base, own, strict=True)
        for user in a["user_wait_s"]
    ]
    most, user, seed = max(losses)
    return {"user": user, "seed": seed, "wait_change_mean_s": most}


def interval(values: Float) -> Row:
    """Mean with its 95 % interval over seeds by Student's t; null below three seeds."""
    from scipy.stats import t

    mean, count = float(values.mean()), len(values)
    if count < 3:
        return {"mean": mean, "low": None, "high": None}
    half = float(t.ppf(0.975, count - 1) * values.std(ddof=1) / np.sqrt(count))
    return {"mean": mean, "low": mean - half, "high": mean + half}


def verdict(saved: Row, wait: Row) -> str:
    """pays | does harm | cannot tell, by the 95 % intervals of node-hours saved and of the change of the mean wait.

    Waiting that buys no saving is harm.
    """
    if saved["low"] is None:
        return "cannot tell"
    if saved["low"] > 0:
        return "pays"
    if saved["high"] < 0 or wait["low"] > 0:
        return "does harm"
    return "cannot tell"


def run(
    worlds: tuple[str, ...],
    seeds: int,
    days: int,
    executor: Executor,
    command: str,
    tell: Tell,
    first: int = 1,
    log: JobsFile | None = None,
) -> Row:
    """The whole study, of the seeds from `first` on; `tell(done, total, message)` after each piece."""
    every = pieces(worlds, seeds, days, first, log)
    rows: list[Row] = []
    for made in done(every, executor):
        rows.append(made)
        tell(len(rows), len(every), f"{made['world']}, seed {made['seed']}, {made['policy']}")
    return answer(rows, command, log)
