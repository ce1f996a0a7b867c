"""What the estimators were asked to reach, and whether they do: computed from the card's own rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OURS, PAPER = "exposure, conditional (ours)", "mi, present throughout (the paper)"
Card = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One demand: what, what was wanted, what was found, and whether it holds."""

    what: str
    wanted: str
    found: str
    holds: bool


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
    for row in card["timings"]:
        holds = row["wall_s"] <= row["bound_s"]
        yield Check(row["what"], f"at most {row['bound_s']:g} s", f"{row['wall_s']:.2f} s", holds)


def _average(rows: list[dict[str, Any]], key: str) -> float:
    values = [row[key] for row in rows if row[key] is not None]
    return float(sum(values) / len(values)) if values else float("nan")


def _blame(card: Card) -> Iterator[Check]:
    ours, paper = ([row for row in card["blame"] if row["method"] == name] for name in (OURS, PAPER))
    precision, theirs = _average(ours, "precision_at_10"), _average(paper, "precision_at_10")
    yield Check(
        f"blame, {card['users']} users: precision, {len(ours)} sets", "at least 0.90", f"{precision:.3f} (the paper's method {theirs:.3f})",
        precision >= 0.9,
    )  # fmt: skip
    by_seed = [
        _average([row for row in ours if row["seed"] == seed], "false_share") for seed in {row["seed"] for row in ours}
    ]
    share = sum(by_seed) / len(by_seed)
    yield Check(f"blame: false share, mean over {len(by_seed)} seeds", "at most 10 %", f"{share:.1%}", share <= 0.1)


def _pooled(card: Card) -> Iterator[Check]:
    pooled = [row for row in card["blame_pooled"] if row["method"].endswith("(ours)")]
    precision = _average(pooled, "precision_at_10")
    yield Check(
        f"blame, {card['pooled_users']} users, six sets pooled, by day: precision", "at least 0.90", f"{precision:.3f}", precision >= 0.9
    )  # fmt: skip


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
    yield Check("deviation: MAPE from deltas", "below 7 % in every set", f"worst {highest:.2f} %", highest < 7)
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
    for row in card["long"]:
        learned = min(row["mape"][name] for name in ("attention", "ridge", "lightgbm"))
        found = f"best learned {learned:.1f} %, ratio {row['mape']['ratio']:.1f} %; serves {row['serves']}"
        yield Check("forecast of long runs", "the better one serves, and is named", found, True)
    for scenario in dict.fromkeys(row["scenario"] for row in card["ablation"]):
        best = {
            (row["m"], row["k"]): min(row["mape"].values())
            for row in card["ablation"]
            if row["scenario"] == scenario and row["features"] == "app"
        }
        for k in sorted({k for _, k in best}):
            (short, before), (long, after) = sorted((m, value) for (m, at), value in best.items() if at == k)
            yield Check(
                f"forecast {scenario}, k {k}: error falls with m",
                "required",
                f"{before:.2f} % at m {short}, {after:.2f} % at m {long}",
                after < before,
            )


def _coverage(card: Card) -> Iterator[Check]:
    coverage = _average(card["coverage"], "coverage90")
    what = f"90 % intervals, out of fold, {len(card['coverage'])} seeds"
    yield Check(what, "88-92 %", f"{coverage:.1%}", 0.88 <= coverage <= 0.92)
