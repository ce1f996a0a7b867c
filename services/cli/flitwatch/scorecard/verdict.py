"""What the estimators were asked to reach, and whether they do: computed from the card's own rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OURS, PAPER = "exposure, conditional (ours)", "mi, present throughout (the paper)"
Card = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One demand: what, what was wanted, what was found, whether it holds (None: reported only), and what the paper or its method gives."""

    what: str
    wanted: str
    found: str
    holds: bool | None
    published: str | None = None


def checks(card: Card) -> Iterator[Check]:
    """Every demand on blame, deviation, forecast and speed, as far as the card has the part."""
    for part, found in (
        ("blame", _blame),
        ("blame_pooled", _pooled),
        ("deviation", _deviation),
        ("coverage", _coverage),
    ):
        if card[part]:
            yield from found(card)
    yield from _forecast(card)
    yield from _shapes(card)
    for row in card["timings"]:
        holds = row["wall_s"] <= row["bound_s"]
        yield Check(row["what"], f"at most {row['bound_s']:g} s", f"{row['wall_s']:.2f} s", holds, row.get("published"))


def _average(rows: list[dict[str, Any]], key: str) -> float:
    values = [row[key] for row in rows if row[key] is not None]
    return float(sum(values) / len(values)) if values else float("nan")


def _blame(card: Card) -> Iterator[Check]:
    ours, paper = ([row for row in card["blame"] if row["method"] == name] for name in (OURS, PAPER))
    precision, theirs = _average(ours, "precision_at_10"), _average(paper, "precision_at_10")
    yield Check(
        f"blame, {card['users']} users: precision, {len(ours)} sets", "at least 0.90", f"{precision:.3f} (the paper's method {theirs:.3f})",
        precision >= 0.9, "the paper's method in a prototype 0.60, ours there 0.95-0.98",
    )  # fmt: skip
    by_seed = [
        _average([row for row in ours if row["seed"] == seed], "false_share") for seed in {row["seed"] for row in ours}
    ]
    share = sum(by_seed) / len(by_seed)
    yield Check(f"blame: false share, mean over {len(by_seed)} seeds", "at most 10 %", f"{share:.1%}", share <= 0.1)


def _pooled(card: Card) -> Iterator[Check]:
    pooled = [row for row in card["blame_pooled"] if row["method"].endswith("(ours)")]
    theirs = [row for row in card["blame_pooled"] if row["method"].endswith("(the paper)")]
    seeds = len({row["seed"] for row in pooled})
    what = f"blame, {card['pooled_users']} users, six sets pooled, by day: precision, {seeds} seeds"
    precision, paper = _average(pooled, "precision_at_10"), _average(theirs, "precision_at_10")
    if math.isnan(precision):
        weaker = _average(pooled, "precision_aggressors"), _average(theirs, "precision_aggressors")
        found = "no user qualifies; among all aggressors {:.2f} (the paper's method {:.2f})".format(*weaker)
        yield Check(what, "at least 0.90", found, None)
        return
    yield Check(what, "at least 0.90", f"{precision:.3f} (the paper's method {paper:.3f})", precision >= 0.9)


def _deviation(card: Card) -> Iterator[Check]:
    rows = [row for row in card["deviation"] if row["learner"] == "lightgbm"]
    rates = [row for row in rows if (row["inputs"], row["split"]) == ("rates", "run")]
    deltas = [row for row in rows if (row["inputs"], row["split"]) == ("deltas", "run")]
    worst = max(row["rank_of_planted"] for row in rates)
    yield Check(
        f"deviation: place of the planted counter, rates, {len(rates)} sets",
        "top 3 in every set",
        f"worst {worst}",
        worst <= 3,
    )
    ratio = max(row["mape"] / row["baseline_mape"] for row in rates)
    yield Check(
        "deviation: MAPE from rates over the mean curve's",
        "at most 0.5 in every set",
        f"worst {ratio:.2f}",
        ratio <= 0.5,
    )
    highest = max(row["mape"] for row in deltas)
    yield Check(
        "deviation: MAPE from deltas",
        "below 7 % in every set",
        f"worst {highest:.2f} %",
        highest < 7,
        "3-7 % (Bhatele 2020, divided by rows)",
    )
    by_row = {(row["scenario"], row["inputs"]): row["mape"] for row in rows if row["split"] == "row"}
    lower = [
        1 - by_row[key] / row["mape"] for row in deltas + rates if (key := (row["scenario"], row["inputs"])) in by_row
    ]
    flatters = sum(lower) / len(lower)
    yield Check(
        "deviation: rows divided at random flatter",
        "by more than nothing",
        f"error {flatters:.1%} lower on average",
        flatters > 0,
    )


def _forecast(card: Card) -> Iterator[Check]:
    for row in card["forecast"]:
        gain = row["gain"]
        found = f"{gain['mean']:+.1%} ({gain['low']:+.1%} to {gain['high']:+.1%}); serves {row['serves']}"
        what = f"forecast {row['scenario']}, m {row['m']}, k {row['k']}: attention against the best of the others"
        yield Check(what, "at least 3 %", found, gain["mean"] >= 0.03)
    for row in card["forecast"]:
        served = row["mape"][row["serves"]]
        found = ", ".join(f"{name} {row['mape'][name] / served:.1f} x" for name in ("last steps", "curve"))
        what = f"forecast {row['scenario']}: error of naive forecasts over the serving one's"
        yield Check(what, "reported", found, None, "naive ones lose 2-4 x")
    for row in card["long"]:
        learned = min(row["mape"][name] for name in ("attention", "ridge", "lightgbm"))
        found = f"best learned {learned:.1f} %, ratio {row['mape']['ratio']:.1f} %; serves {row['serves']}"
        yield Check("forecast of long runs", "the better one serves, and is named", found, True)


def _shapes(card: Card) -> Iterator[Check]:
    """What Bhatele 2020, section V-C, saw of m, k and the feature sets; the least error of those that stand in every row; one run-wise split.

    Only ridge and LightGBM tell what features do: the naive forecasters read none, so their error cannot move.
    """
    least: dict[str, dict[tuple[int, int, str], float]] = {}
    learned: dict[str, dict[tuple[int, int, str], float]] = {}
    for row in card["ablation"]:
        key = row["m"], row["k"], row["features"]
        errors_of = {name: value for name, value in row["mape"].items() if name != "attention"}
        least.setdefault(row["scenario"], {})[key] = min(errors_of.values())
        learned.setdefault(row["scenario"], {})[key] = min(errors_of[name] for name in ("ridge", "lightgbm"))
    for scenario, errors in least.items():
        lengths, horizons = sorted({m for m, _, _ in errors}), sorted({k for _, k, _ in errors})
        for k in horizons:
            short, long = (errors[m, k, "app"] for m in lengths)
            found = f"{short:.2f} % at m {lengths[0]}, {long:.2f} % at m {lengths[1]}"
            yield Check(f"forecast {scenario}, k {k}: error falls with m", "required", found, long < short, "falls")
        near, far = (errors[lengths[1], k, "app"] for k in horizons)
        found = f"{near:.2f} % at k {horizons[0]}, {far:.2f} % at k {horizons[1]}"
        yield Check(f"forecast {scenario}, m {lengths[1]}: error falls with k", "reported", found, None, "falls")
        reading = learned[scenario]
        alone, around = (reading[lengths[1], horizons[1], features] for features in ("app", "app+placement+io+sys"))
        helps = scenario.startswith("milc")
        said = "they help" if helps else "they overfit"
        found = f"ridge or LightGBM {alone:.2f} % without, {around:.2f} % with placement, io and sys"
        what = f"forecast {scenario}: what io and sys do to the error"
        yield Check(what, "the paper's shape", found, around < alone if helps else around > alone, said)


def _coverage(card: Card) -> Iterator[Check]:
    coverage = _average(card["coverage"], "coverage90")
    what = f"90 % intervals, out of fold, {len(card['coverage'])} seeds"
    yield Check(what, "88-92 %", f"{coverage:.1%}", 0.88 <= coverage <= 0.92)
