"""Hard simulated calendars for blame: users with jobs over time, concurrent runs, and a machine that is upgraded, drifts or is noisy.

Each draw has eight strong users, twelve weak ones, and users without an effect who are active for only three to eight weeks. A user's effect is a
saturating function of the nodes; it is not the form of any estimator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.blame import FOUND_Q, NAMED
from flitwatch_domain.errors import BadRequest
from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame
from flitwatch_ml.blame.strata import hour_and_weekend

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Variants by name, with their effect on all runs.
VARIANTS = {
    "none": "nothing",
    "shift-10": "all runs take 10 % longer from one day on",
    "shift-20": "all runs take 20 % longer from one day on",
    "drift": "run times rise by a tenth and swing over weeks",
    "campaigns": "all users are present for whole weeks, and run times swing over weeks",
    "slow-weeks": "every fourth week is 15 % slower, and every other user who slows no other user comes in those weeks alone",
    "pairs": "four users who slow no other user come together with four strong ones",
    "heteroscedastic": "noise is nearly four times as large from a day on",
    "heavy-tails": "noise has Student's tails, 2.2 degrees of freedom",
    "nobody": "no user slows another; all runs take 20 % longer from one day on",
}
#: Variants of the calendar stress: no shift, and level shifts of all runs.
CALENDAR = ("none", "shift-10", "shift-20")

DAY_S, WEEK_S = 86_400.0, 604_800.0
#: Monday 2026-01-05, 00:00 UTC.
EPOCH_S = 1_767_571_200.0
DAYS, RUNS, USERS, ALONE_S, NOISE = 120, 200, 240, 300.0, 0.08
STRONG, WEAK, PAIRS = 8, 12, 4
#: Index of the slow week in each four weeks.
SLOW_WEEK = 1
#: Number of nodes at which a user's effect is half of its maximum.
HALF_NODES = 30.0


@dataclass(frozen=True, eq=False)
class StressCase:
    """Estimator inputs: exposure (runs, users), time_s and start_s (runs,). Only for scoring: strong, null, effect_s (users,), partner {strong:
    null}."""

    exposure: Floats
    time_s: Floats
    start_s: Floats
    strong: Ints
    null: Ints
    effect_s: Floats
    partner: dict[int, int]


def draw_case(variant: str, seed: int, runs: int = RUNS, users: int = USERS) -> StressCase:
    """Return one set; deterministic by its arguments."""
    if variant not in VARIANTS:
        raise BadRequest(f"there is no variant {variant!r}", advice=f"Choose one of {', '.join(VARIANTS)}.")
    rng = np.random.default_rng([seed, 27])
    start = np.sort(rng.uniform(0, DAYS * DAY_S, runs))
    strength = np.zeros(users)
    strength[:STRONG] = rng.uniform(0.10, 0.22, STRONG)
    strength[STRONG : STRONG + WEAK] = rng.uniform(0.01, 0.04, WEAK)
    if variant == "nobody":
        strength[:] = 0.0
    exposure = np.column_stack([_draw_exposure(rng, variant, user, start) for user in range(users)])
    partner = {}
    if variant == "pairs":
        for strong in range(PAIRS):
            partner[strong] = STRONG + WEAK + strong
            exposure[:, partner[strong]] = (
                exposure[:, strong] * rng.lognormal(0, 0.15, runs) * (rng.random(runs) >= 0.01)
            )
    felt = strength * exposure / (exposure + HALF_NODES)
    time_s = _draw_levels(rng, variant, start) * np.prod(1 + felt, axis=1)
    exposed = exposure > 0
    extra = np.where(exposed, time_s[:, None] * (1 - 1 / (1 + felt)), 0.0).sum(0) / np.maximum(exposed.sum(0), 1)
    return StressCase(
        exposure,
        time_s,
        EPOCH_S + start,
        np.flatnonzero(strength >= 0.1),
        np.flatnonzero(strength == 0),
        extra,
        partner,
    )


#: The methods by name; ours is the production method.
OURS, WITHOUT_CALENDAR, PAPER = "ours", "exposure, without a calendar", "mutual information (the paper's)"


def score_methods(variant: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return (false share, recall of strong users, number of names) of each method on one draw; recall is NaN without strong users."""
    drawn = draw_case(variant, seed)
    plain = ExposureBlame().fit(drawn.exposure, drawn.time_s, hour_and_weekend(drawn.start_s))
    paper = PresenceBlame(rule="any").fit(drawn.exposure, drawn.time_s)
    ours = CalendarBlame().fit(drawn.exposure, drawn.time_s, drawn.start_s)
    named = {
        OURS: np.array(ours.verdict_) == NAMED,
        WITHOUT_CALENDAR: plain.q_value_ <= FOUND_Q,
        PAPER: (paper.q_value_ <= FOUND_Q) & (paper.sign_ > 0),
    }
    return {
        method: (
            float(flags[drawn.null].sum() / max(flags.sum(), 1)),
            float(flags[drawn.strong].mean()) if len(drawn.strong) else float("nan"),
            float(flags.sum()),
        )
        for method, flags in named.items()
    }


def _draw_exposure(rng: np.random.Generator, variant: str, user: int, start: Floats) -> Floats:
    """Return the nodes of a user's jobs during each run: successive jobs with pauses, within the user's windows."""
    span = DAYS * DAY_S
    if variant == "campaigns":
        weeks = np.flatnonzero(rng.random(DAYS // 7 + 1) < rng.uniform(0.2, 0.45))
        windows = [(float(week) * WEEK_S, float(week + 1) * WEEK_S) for week in weeks]
        duty = rng.uniform(0.5, 0.9)
    elif variant == "slow-weeks" and user >= STRONG + WEAK and user % 2:
        weeks = np.arange(SLOW_WEEK, DAYS // 7 + 1, 4)
        windows = [(float(week) * WEEK_S, float(week + 1) * WEEK_S) for week in weeks]
        duty = rng.uniform(0.5, 0.9)
    elif user < STRONG + WEAK:
        windows, duty = [(0.0, span)], rng.uniform(0.15, 0.35)
    else:
        length = rng.uniform(3, 8) * WEEK_S
        begin = rng.uniform(-length / 2, span - length / 2)
        windows, duty = [(begin, begin + length)], rng.uniform(0.15, 0.8)
    job_s, nodes = 3600 * rng.lognormal(np.log(8), 0.9), rng.lognormal(np.log(60), 0.8)
    pause_s = job_s * (1 - duty) / duty
    node_counts = np.zeros(len(start))
    for begin, end in windows:
        at = begin + rng.exponential(pause_s)
        while at < end:
            length = rng.exponential(job_s)
            node_counts[(start >= at) & (start < at + length)] += nodes * rng.lognormal(0, 0.4)
            at += length + rng.exponential(pause_s)
    return node_counts


def _draw_levels(rng: np.random.Generator, variant: str, start: Floats) -> Floats:
    """Return the time of each run without users: effects of the hour and the variant, and noise."""
    span = DAYS * DAY_S
    after = start >= rng.uniform(0.25, 0.75) * span
    hour, phase = start % DAY_S / 3600, rng.uniform(0, 2 * np.pi, 2)
    level = ALONE_S * (1 + 0.03 * np.sin(2 * np.pi * (hour - 9) / 24))
    shift = {"shift-10": 0.1, "shift-20": 0.2, "nobody": 0.2}.get(variant, 0.0)
    level = level * np.where(after, 1 + shift, 1.0)
    if variant in ("drift", "campaigns"):
        level *= 1 + 0.06 * np.sin(2 * np.pi * start / (60 * DAY_S) + phase[0])
        level *= 1 + 0.04 * np.sin(2 * np.pi * start / (26 * DAY_S) + phase[1])
    if variant == "slow-weeks":
        level = np.where(np.floor(start / WEEK_S) % 4 == SLOW_WEEK, 1.15, 1.0) * level
    if variant == "drift":
        level *= 1 + 0.1 * start / span
    if variant == "heavy-tails":
        return level * np.exp(0.7 * NOISE * rng.standard_t(2.2, len(start)))
    if variant == "heteroscedastic":
        return level * np.exp(NOISE * rng.normal(size=len(start)) * np.where(after, 2.2, 0.6))
    return level * rng.gamma(NOISE**-2, NOISE**2, len(start))
