"""The scorecard by variant: figures over seeds with intervals, and a headline that names variants in which a baseline is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from flitwatch_db.estimates.inputs import Runs
from flitwatch_research.campaign import VARIANTS, Campaign, split_scenario
from flitwatch_research.scoring import EFFECT_SIZES

OURS, PAPER = "calendar (ours, as served)", "mi, present throughout (the paper)"
#: Variants with only missing readings equal the plain one for blame, which reads no counters.
NO_BLAME = ("missing",)
#: Variants with different counters or run times for a forecast or deviation model; the others change only the users.
COUNTER_VARIANTS = ("plain", "variation5", "missing", "variation15", "law", "drift", "everything")
Rows = list[dict[str, Any]]
#: A figure, and the ends of its interval; NaN if there is none.
Interval = tuple[float, float, float]
DRAWS = 2000


def runs_of(campaign: Campaign) -> Runs:
    """Return the runs of a simulated set in the form that tasks read from the database."""
    return Runs(np.arange(len(campaign.run_key)), campaign.run_start_s.astype(float), campaign.times_s, True)


def group_by_variant(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """Yield (variant, its rows) from easy to hard; variants without rows are omitted."""
    for variant in VARIANTS:
        if some := [row for row in rows if split_scenario(row["scenario"])[1] == variant]:
            yield variant, some


def bootstrap_interval(values: Sequence[float | None], seeds: Sequence[int] | None = None) -> Interval:
    """Return (mean, low, high) with a 95 % bootstrap interval. Variants with the same `seed` share machine and users, so they are resampled together; NaN
    below three seeds."""
    samples = [(value, at) for at, value in enumerate(values) if value is not None and not math.isnan(value)]
    if not samples:
        return math.nan, math.nan, math.nan
    found, places = np.array([value for value, _ in samples], float), [at for _, at in samples]
    drawn = _drawn(found, np.ones(len(found)), places if seeds is None else [seeds[at] for at in places])
    return float(found.mean()), *drawn


def interval_over_seeds(rows: Rows, value: Callable[[dict[str, Any]], float | None]) -> Interval:
    """Return the `bootstrap_interval` of a figure of rows with seeds."""
    return bootstrap_interval([value(row) for row in rows], [row["seed"] for row in rows])


def wilson_interval(part: Sequence[int], whole: Sequence[int], seeds: Sequence[int]) -> Interval:
    """Return (share, low, high) from counts of rows: Wilson's 95 % interval, or the bootstrap interval over seeds if it is wider; NaN if the total is
    zero."""
    held, n = sum(part), sum(whole)
    if not n:
        return math.nan, math.nan, math.nan
    z, p = float(norm.isf(0.025)), held / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low, high = _drawn(np.array(part, float), np.array(whole, float), seeds)
    return (
        p,
        min(max(middle - half, 0.0), p if math.isnan(low) else low),
        max(middle + half, 0.0 if math.isnan(high) else high),
    )


def _drawn(sums: NDArray[np.float64], sizes: NDArray[np.float64], seeds: Sequence[int]) -> tuple[float, float]:
    """Return the 95 % interval of sums over sizes, resampling whole seeds; NaN below three seeds."""
    label = np.unique(np.asarray(seeds), return_inverse=True)[1]
    by_seed, sizes_by_seed = np.bincount(label, sums), np.bincount(label, sizes)
    if len(by_seed) < 3:
        return math.nan, math.nan
    draws = np.random.default_rng(0).integers(0, len(by_seed), (DRAWS, len(by_seed)))
    size = sizes_by_seed[draws].sum(1)
    low, high = np.quantile(by_seed[draws].sum(1)[size > 0] / size[size > 0], [0.025, 0.975])
    return float(low), float(high)


def format_interval(value: tuple[float, float, float], form: str = ".2f") -> str:
    """Return a figure with its interval."""
    mean, low, high = value
    if math.isnan(mean):
        return "–"
    return f"{mean:{form}}" if math.isnan(low) else f"{mean:{form}} ({low:{form}} to {high:{form}})"


class BlameLine(TypedDict):
    """One method in one variant, over seeds; `recall` and `with_effect` are by size of effect."""

    average_precision: Interval
    precision_at_10: Interval
    best_at_10: float
    recall: list[Interval]
    with_effect: list[int]
    false_share: Interval
    found: float


def blame_line(rows: Rows) -> BlameLine:
    """Return the figures of one method in one variant, over seeds."""
    with_effect, found_counts = (np.array([row[name] for row in rows]) for name in ("with_effect", "found_by_size"))
    seeds = [row["seed"] for row in rows]
    return {
        "average_precision": interval_over_seeds(rows, lambda row: row["average_precision"]),
        "precision_at_10": interval_over_seeds(rows, lambda row: row["precision_at_10"]),
        "best_at_10": interval_over_seeds(rows, lambda row: row["best_at_10"])[0],
        "recall": [
            wilson_interval(f.tolist(), n.tolist(), seeds) for f, n in zip(found_counts.T, with_effect.T, strict=True)
        ],
        "with_effect": with_effect.sum(0).tolist(),
        "false_share": wilson_interval([row["false"] for row in rows], [row["found"] for row in rows], seeds),
        "found": sum(row["found"] for row in rows) / len(rows),
    }


class StressLine(TypedDict):
    """One method on one calendar, over draws."""

    draws: int
    false_share: Interval
    recall: Interval
    named: float


def stress_lines(rows: Rows) -> dict[tuple[str, str], StressLine]:
    """Return the lines by (calendar, method)."""
    keys = dict.fromkeys((row["scenario"], row["method"]) for row in rows)
    of = {key: [row for row in rows if (row["scenario"], row["method"]) == key] for key in keys}
    return {
        key: {
            "draws": len(some),
            "false_share": interval_over_seeds(some, lambda row: row["false_share"]),
            "recall": interval_over_seeds(some, lambda row: row["recall"]),
            "named": sum(row["named"] for row in some) / len(some),
        }
        for key, some in of.items()
    }


def group_methods(rows: Rows) -> dict[str, Rows]:
    """Return the rows of each method."""
    return {
        name: [row for row in rows if row["method"] == name] for name in dict.fromkeys(row["method"] for row in rows)
    }


def size_names() -> list[str]:
    """Return the classes of effects, in standard deviations of log run time."""
    return [
        f"{low:g} to {high:g}" if high else f"{low:g} and more"
        for low, high in zip(EFFECT_SIZES, (*EFFECT_SIZES[1:], None), strict=True)
    ]


def write_headline(report: dict[str, Any]) -> list[str]:
    """Return one sentence per question, which begins with any case in which a baseline is better. Intervals are 95 %, over seeds."""
    lines = []
    if report["blame"]:
        lines.append(_blame_headline(report["blame"]))
    if report["deviation"]:
        lines.append(_deviation_headline(report["deviation"]))
    if report["forecast"]:
        lines.append(_forecast_headline(report["forecast"]))
    return lines


def _blame_headline(rows: Rows) -> str:
    won: list[tuple[str, str]] = []
    lost: list[tuple[str, str]] = []
    for variant, some in group_by_variant(rows):
        best = {
            name: interval_over_seeds(own, lambda row: row["average_precision"])[0]
            for name, own in group_methods(some).items()
        }
        first = max(best, key=best.__getitem__)
        (won if best[OURS] >= best[first] - 1e-9 else lost).append((variant, first))
    paired = {
        of: pair
        for of, pair in _pair_methods(rows, lambda row: row["method"], "average_precision").items()
        if OURS in pair and PAPER in pair
    }
    gain = bootstrap_interval([pair[OURS] - pair[PAPER] for pair in paired.values()], [seed for _, seed in paired])
    ours = blame_line([row for row in rows if row["method"] == OURS])
    broken = [
        variant
        for variant, some in group_by_variant(rows)
        if blame_line(group_methods(some)[OURS])["false_share"][0] > 0.1
    ]
    beaten = "; ".join(f"in {variant} {name} is better" for variant, name in lost)
    recall = "; ".join(
        f"{size} sd {format_interval(one)}" for size, one in zip(size_names(), ours["recall"], strict=True)
    )
    silent = [variant for variant, some in group_by_variant(rows) if not blame_line(group_methods(some)[OURS])["found"]]
    return (
        f"**Blame**: {beaten + '. ' if beaten else ''}Ours has the highest average precision in {len(won)} of {len(won) + len(lost)} scenarios, "
        f"{format_interval(gain, '+.2f')} on the paper's method. False share {format_interval(ours['false_share'])}"
        f"{'; above 0.10 in ' + ', '.join(broken) if broken else ', at most 0.10 in every scenario'}. "
        f"Recall by effect: {recall}."
        f"{' It names no user in ' + ', '.join(silent) + '.' if silent else ''}"
    )


def _deviation_headline(rows: Rows) -> str:
    rows = [row for row in rows if (row["inputs"], row["split"]) == ("rates", "run")]
    useless = [
        variant
        for variant, some in group_by_variant(rows)
        if interval_over_seeds(some, lambda row: row["mape"])[0]
        >= interval_over_seeds(some, lambda row: row["baseline_mape"])[0]
    ]
    planted_found = interval_over_seeds(rows, lambda row: row["planted_found"])
    seeds = [row["seed"] for row in rows]
    first = wilson_interval([row["rank_of_planted"] == 1 for row in rows], [1] * len(rows), seeds)
    chosen = interval_over_seeds(rows, lambda row: row["chosen_mape"] / row["mape"] - 1)
    beaten = f"The mean curve alone is better in {', '.join(useless)}. " if useless else ""
    return (
        f"**Drivers**: {beaten}{format_interval(planted_found)} of the planted counters are ranked among the first, and the "
        f"strongest is first in {format_interval(first)} of the sets. "
        f"Errors are nested; if the counters are chosen, they differ by {format_interval(chosen, '+.1%')}."
    )


def _forecast_headline(rows: Rows) -> str:
    below, above, attention = [], [], []
    for variant, some in group_by_variant(rows):
        gain, low, _ = forecast_gain(some)
        if gain < -0.01:
            above.append(f"{variant} ({gain:+.1%})")
        elif not math.isnan(low) and low > 0:
            below.append(variant)
        if select_best(some)[0] == "attention alone":
            attention.append(variant)
    worst = (
        f"What served lost to the best candidate, known afterwards, by more than 1 % in {', '.join(above)}. "
        if above
        else ""
    )
    alone = (
        f"Attention alone is the best candidate in {', '.join(attention)}. "
        if attention
        else "Attention alone wins nowhere. "
    )
    coverage = interval_over_seeds(rows, lambda row: row["coverage90"])
    return (
        f"**Forecast**: {worst}{alone}The deployed forecaster is better than every candidate, by more than its interval, in {len(below)} of "
        f"{len(list(group_by_variant(rows)))} scenarios. 90 % intervals cover {format_interval(coverage)}."
    )


def select_best(rows: Rows) -> tuple[str, float]:
    """Return the candidate with the smallest error on the sets of a variant, and that error."""
    errors = {name: bootstrap_interval([row["mape"][name] for row in rows])[0] for name in rows[0]["mape"]}
    best = min(errors, key=errors.__getitem__)
    return best, errors[best]


def forecast_gain(rows: Rows) -> tuple[float, float, float]:
    """Return 1 - error of the deployed forecasters / error of the variant's best candidate, over runs for one or two sets, over sets from three on."""
    best, _ = select_best(rows)
    gains = [row["gain_on"][best] for row in rows]
    if len(gains) == 1:
        return gains[0]["mean"], gains[0]["low"], gains[0]["high"]
    return bootstrap_interval([gain["mean"] for gain in gains], [row["seed"] for row in rows])


def _pair_methods(
    rows: Rows, key: Callable[[dict[str, Any]], str], value: str
) -> dict[tuple[str, int], dict[str, float]]:
    """Return the value of every method by set (scenario, seed)."""
    sets: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if row[value] is not None:
            sets.setdefault((row["scenario"], row["seed"]), {})[key(row)] = row[value]
    return sets
