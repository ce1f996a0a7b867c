"""The scorecard as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

HEAD = """# Scorecard

Every estimator on the cluster twin, the paper's methods beside ours. **All data is simulated**; the truth is counterfactual (the same seed
without a user), stands in files of its own, and reaches only the process that scores. Made by `make scorecard`; figures wander a little with
libraries' versions, not with the machine's load (times are CPU time of one core).

"""


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _mean(rows: list[dict[str, Any]], key: str) -> float | None:
    known = [row[key] for row in rows if row[key] is not None]
    return sum(known) / len(known) if known else None


def _grouped(rows: list[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return groups


def markdown(card: dict[str, Any]) -> str:
    """The whole scorecard."""
    return HEAD + _blame(card) + _deviation(card) + _forecast(card)


def _blame(card: dict[str, Any]) -> str:
    keys = ("precision_at_10", "precision_aggressors", "false_share", "found")
    lines = [
        (method, len(rows), *(_mean(rows, key) for key in keys))
        for (method,), rows in _grouped(card["blame"] + card["blame_pooled"], "method").items()
    ]
    heads = (
        "method",
        "sets",
        "precision among the strong",
        "precision among all aggressors",
        "false share of found (nulls)",
        "found",
    )
    text = "Precision at min(10, qualifying); strong: an effect of at least 1 sd of log time in at least 12 % of the runs; aggressor: 0.3 sd in 10 runs.\n\n"
    return "## Who: blame\n\n" + text + table(heads, lines) + "\n"


def _deviation(card: dict[str, Any]) -> str:
    lines = []
    for (scenario, inputs, split), rows in _grouped(card["deviation"], "scenario", "inputs", "split").items():
        places = ", ".join(str(row["rank_of_planted"]) for row in rows)
        lines.append(
            (
                scenario,
                inputs,
                split,
                rows[0]["planted"],
                places,
                _mean(rows, "mape"),
                _mean(rows, "baseline_mape"),
                _mean(rows, "cpu_s"),
            )
        )
    heads = (
        "scenario",
        "inputs",
        "split by",
        "planted counter (first seed)",
        "its place, by seed",
        "MAPE %",
        "mean curve's MAPE %",
        "CPU s",
    )
    return "## What: deviation\n\n" + table(heads, lines) + "\n"


def _forecast(card: dict[str, Any]) -> str:
    names = ("attention", "ridge", "lightgbm", "ratio", "curve", "last steps")
    head = [
        (
            r["scenario"],
            r["m"],
            r["k"],
            r["features"],
            *(r["mape"][n] for n in names),
            f"{r['gain']['mean']:+.1%} ({r['gain']['low']:+.1%} to {r['gain']['high']:+.1%})",
            r["coverage90"],
            r["serves"],
        )
        for r in card["forecast"]
    ]
    heads = (
        "scenario",
        "m",
        "k",
        "features",
        *(f"{name} MAPE %" for name in names),
        "gain over the best other, 90 % interval",
        "coverage of 90 %",
        "serves",
    )
    text = "## What next: forecast\n\n" + table(heads, head)
    text += "\nIntervals over divisions into folds by many seeds:\n\n" + table(
        ("scenario", "m", "k", "seeds", "coverage of 90 %"),
        [(r["scenario"], r["m"], r["k"], r["seeds"], f"{r['coverage90']:.3f}") for r in card["coverage"]],
    )
    ablation = [
        (r["scenario"], r["m"], r["k"], r["features"], *(r["mape"].get(n) for n in names), r["serves"])
        for r in card["ablation"]
    ]
    return (
        text
        + "\nAblations, one run-wise split:\n\n"
        + table(("scenario", "m", "k", "features", *names, "serves"), ablation)
    )
