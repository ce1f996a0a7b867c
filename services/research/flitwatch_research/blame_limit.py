"""`python -m flitwatch_research.blame_limit`: the recall of blame that is possible, from a test that knows all but the user's own effect.

The informed test knows the form of the user's effect, the law of the noise, and the effects of all other users and hours. It is Neyman and Pearson's,
locally in the effect. The joint model knows the three forms and estimates the rest: it draws all users together, each with or without an effect.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from flitwatch_domain.blame import FOUND_Q, NAMED, benjamini_hochberg
from flitwatch_ml.blame import CalendarBlame
from flitwatch_ml.blame.calendar import fit_calendar, winsorise_values
from flitwatch_research.scorecard.variants import bootstrap_interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DAY_S, EPOCH_S, DAYS = 86_400.0, 1_767_571_200.0, 90
#: Two users have each of these effects; 54 to 114 others have none.
EFFECTS = (0.1, 0.1, 0.2, 0.2, 0.4, 0.4)
LEAST_USERS, MOST_USERS = 60, 120
NOISE = 0.2
#: Effect for which the test is best.
TESTED = 0.1
SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "binary": lambda amounts: (amounts > 0).astype(float),
    "linear": lambda amounts: amounts,
    "saturating": lambda amounts: amounts / (amounts + 30),
}
#: Users have jobs one after the other and noise is normal, or sessions of an hour and gamma noise with outliers.
GENERATORS = ("jobs", "sessions")
OUTLIERS, LEAST_OUTLIER, MOST_OUTLIER = 0.02, 1.5, 3.0
GRID = np.linspace(-2, 3, 5001)
#: The joint model's effects, and its share of users with an effect before the data.
POSSIBLE, PRIOR = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6), 0.05
#: Draws of all users, and how many of these come before the first that counts.
SWEEPS, DISCARDED = 160, 40


@dataclass(frozen=True, eq=False)
class DrawnRuns:
    """Exposure (runs, users), time_s and start_s (runs,). Only for the test and for scoring: the form of the effects, the effects of the first users on log
    times, felt (runs, users), and the noise (runs,)."""

    exposure: Floats
    time_s: Floats
    start_s: Floats
    shape: str
    felt: Floats
    noise: Floats


def draw_runs(generator: str, seed: int, runs: int, effects: Sequence[float] = EFFECTS) -> DrawnRuns:
    """Return one set of runs of one application; deterministic by its arguments."""
    rng = np.random.default_rng([seed, GENERATORS.index(generator), 50])
    users, shape = int(rng.integers(LEAST_USERS, MOST_USERS + 1)), list(SHAPES)[seed % len(SHAPES)]
    start = np.sort(rng.uniform(0, DAYS * DAY_S, runs))
    draw = _draw_jobs if generator == "jobs" else _draw_sessions
    exposure = np.column_stack([draw(rng, start, rng.uniform(0.2, 0.5)) for _ in range(users)])
    noise = NOISE * rng.normal(size=runs)
    if generator == "sessions":
        noise = np.log(rng.gamma(NOISE**-2, NOISE**2, runs))
        noise += (rng.random(runs) < OUTLIERS) * np.log(rng.uniform(LEAST_OUTLIER, MOST_OUTLIER, runs))
    felt = np.zeros_like(exposure)
    felt[:, : len(effects)] = _effects_on_log(exposure[:, : len(effects)], shape, np.array(effects))
    hours = 0.03 * np.sin(2 * np.pi * start / DAY_S)
    return DrawnRuns(exposure, 300 * np.exp(hours + noise + felt.sum(1)), EPOCH_S + start, shape, felt, noise)


def informed_p_values(drawn: DrawnRuns, generator: str, base_known: bool = False) -> Floats:
    """Return the p-value of each user from the informed test, (users,). With `base_known`, it also knows the time of a run without any user."""
    columns = _effects_on_log(drawn.exposure, drawn.shape, TESTED)
    if not base_known:
        columns = columns - columns.mean(0)
    density = noise_density(generator)
    score = -np.gradient(np.log(density), GRID)
    information = float((score**2 * density).sum() / density.sum())
    scores = np.interp(drawn.noise[:, None] + drawn.felt, GRID, score)
    return norm.sf((columns * scores).sum(0) / np.sqrt(information * (columns**2).sum(0)))


@cache
def noise_density(generator: str) -> Floats:
    """Return the density of a generator's noise on the grid."""
    if generator == "jobs":
        return norm.pdf(GRID, scale=NOISE)
    shape = NOISE**-2

    def usual(values: Floats) -> Floats:
        density = np.exp(shape * (values - np.exp(values) + 1))
        return density / np.exp(shape * (GRID - np.exp(GRID) + 1)).sum() / (GRID[1] - GRID[0])

    factors = np.linspace(LEAST_OUTLIER, MOST_OUTLIER, 301)
    wild = np.mean([usual(GRID - np.log(factor)) for factor in factors], axis=0)
    return (1 - OUTLIERS) * usual(GRID) + OUTLIERS * wild


def joint_q_values(drawn: DrawnRuns, seed: int = 0) -> Floats:
    """Return the expected false share among each user and those more likely to have an effect, (users,), from the joint model (Gibbs sampling)."""
    rng, log_time = np.random.default_rng(seed), np.log(drawn.time_s)
    calendar = fit_calendar(drawn.start_s, log_time)
    rest = calendar.without(winsorise_values(calendar.without(log_time)))
    forms = [_effects_on_log(drawn.exposure, shape, effect) for shape in SHAPES for effect in POSSIBLE]
    columns = np.ascontiguousarray(np.stack([calendar.without(form) for form in forms]).transpose(2, 0, 1))
    halves = (columns**2).sum(2) / 2
    prior = np.log(np.append(np.full(len(forms), PRIOR / len(forms)), 1 - PRIOR))
    none, freedom = len(forms), calendar.degrees_of_freedom
    form, without, variance = np.full(len(columns), none), np.zeros(len(columns)), float(rest @ rest) / freedom
    for sweep in range(SWEEPS):
        for user in rng.permutation(len(columns)).tolist():
            if form[user] != none:
                rest = rest + columns[user, form[user]]
            weights = prior + np.append((columns[user] @ rest - halves[user]) / variance, 0.0)
            chances = np.exp(weights - weights.max())
            chances /= chances.sum()
            without[user] += chances[none] * (sweep >= DISCARDED)
            form[user] = min(int(np.searchsorted(np.cumsum(chances), rng.random())), none)
            if form[user] != none:
                rest = rest - columns[user, form[user]]
        variance = float(rest @ rest) / rng.chisquare(freedom)
    without /= SWEEPS - DISCARDED
    order = np.argsort(without, kind="stable")
    q_values = np.empty(len(without))
    q_values[order] = np.cumsum(without[order]) / np.arange(1, len(without) + 1)
    return q_values


def found_at_share(q_values: Sequence[Floats], effects: Sequence[float] = EFFECTS) -> list[Bools]:
    """Return who is found in each set at the largest limit of the false discovery rate for which the false share over all sets is at most 0.05.

    The limit is chosen with the truth of these sets, in favour of the test.
    """

    def false_share(limit: float) -> float:
        found = [q <= limit for q in q_values]
        return sum(each[len(effects) :].sum() for each in found) / max(sum(each.sum() for each in found), 1)

    limits = [limit for limit in np.geomspace(0.2, 0.002, 100).tolist() if false_share(limit) <= FOUND_Q]
    return [q <= max(limits, default=0.0) for q in q_values]


def tabulate(generators: Sequence[str], numbers_of_runs: Sequence[int], seeds: range, few: int) -> Iterator[str]:
    """Yield the rows of a Markdown table, with 95 % intervals over seeds; the joint model and our method on the first `few` seeds of sets with 200 runs."""
    yield "| generator, runs | method | sets | +10 % | +20 % | +40 % | false share |"
    yield "|---|---|---|---|---|---|---|"
    for generator in generators:
        for runs in numbers_of_runs:
            sets = [draw_runs(generator, seed, runs) for seed in seeds]
            for base_known, method in ((False, "informed"), (True, "informed, base time too")):
                p_values = [informed_p_values(drawn, generator, base_known) for drawn in sets]
                found = found_at_share([benjamini_hochberg(p) for p in p_values])
                yield _format_row(f"{generator}, {runs}", method, found)
            if runs == 200 and few:
                joint = found_at_share([joint_q_values(drawn) for drawn in sets[:few]])
                yield _format_row(f"{generator}, {runs}", "joint model", joint)
                fits = [CalendarBlame().fit(drawn.exposure, drawn.time_s, drawn.start_s) for drawn in sets[:few]]
                yield _format_row(f"{generator}, {runs}", "ours", [np.array(fit.verdict_) == NAMED for fit in fits])


def _format_row(sets: str, method: str, found: list[Bools]) -> str:
    recalls = np.array([each[: len(EFFECTS)].reshape(-1, 2).mean(1) for each in found])
    cells = ["{:.2f} ({:.2f} to {:.2f})".format(*bootstrap_interval(recall.tolist())) for recall in recalls.T]
    false, named = sum(int(each[len(EFFECTS) :].sum()) for each in found), sum(int(each.sum()) for each in found)
    return f"| {sets} | {method} | {len(found)} | {' | '.join(cells)} | {false} of {named} |"


def _effects_on_log(exposure: Floats, shape: str, effect: Floats | float) -> Floats:
    """Return the effect of each user on log times, (runs, users), for a mean effect on exposed runs of `effect`."""
    felt = SHAPES[shape](exposure)
    return np.log1p(effect * felt / (felt.sum(0) / np.maximum((exposure > 0).sum(0), 1)))


def _draw_jobs(rng: np.random.Generator, start: Floats, present: float) -> Floats:
    """Return a user's nodes during each run: jobs of about eight hours with pauses."""
    mean_s = 3600 * rng.lognormal(np.log(8), 0.5)
    count = int(1.5 * DAYS * DAY_S * present / mean_s) + 50
    jobs, pauses = rng.exponential(mean_s, count), rng.exponential(mean_s * (1 - present) / present, count)
    ends = np.cumsum(jobs + pauses) - rng.uniform(0, mean_s / present)
    job = np.minimum(np.searchsorted(ends, start, side="right"), count - 1)
    return np.where((start >= ends[job] - jobs[job]) & (start < ends[job]), rng.lognormal(3.4, 0.6, count)[job], 0.0)


def _draw_sessions(rng: np.random.Generator, start: Floats, present: float) -> Floats:
    """Return a user's nodes during each run: independent from hour to hour."""
    amounts = (rng.random(DAYS * 24) < present) * rng.lognormal(3.4, 0.6, DAYS * 24)
    return amounts[(start // 3600).astype(np.int64)]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="blame_limit", description=__doc__)
    parser.add_argument("--seed", type=int, default=5000, help="first seed")
    parser.add_argument("--sets", type=int, default=200, help="sets of each kind")
    parser.add_argument("--few", type=int, default=60, help="sets of 200 runs for the joint model and our method")
    chosen = parser.parse_args(argv)
    for row in tabulate(GENERATORS, (100, 200, 400), range(chosen.seed, chosen.seed + chosen.sets), chosen.few):
        print(row, flush=True)


if __name__ == "__main__":
    main()
