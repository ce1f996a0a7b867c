"""The scorecard as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from flitwatch.scorecard.verdict import checks

HEAD = """# Scorecard

Every estimator on the cluster twin, the paper's methods (Bhatele 2020) beside ours. **All data is simulated**; the truth is counterfactual (the
same seed without a user), stands in files of its own, and reaches only the process that scores. Made by `{command}`; figures wander a
little with libraries' versions, not with the machine's load.

"""
FORECASTERS = ("attention", "ridge", "lightgbm", "ratio", "curve", "last steps")
HOLDS = {True: "yes", False: "**no**", None: "–"}
Card = dict[str, Any]


def markdown(card: Card) -> str:
    """The whole scorecard."""
    return (
        HEAD.format(command=card["command"])
        + _checks(card)
        + _blame(card)
        + _deviation(card)
        + _forecast(card)
        + _timings(card)
    )


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


def _checks(card: Card) -> str:
    found = list(checks(card))
    lines = [(one.what, one.published, one.wanted, one.found, HOLDS[one.holds]) for one in found]
    short = sum(one.holds is False for one in found)
    asked = sum(one.holds is not None for one in found)
    text = f"{asked - short} of {asked} demands hold; the others are marked **no**.\n\n" + _lacking(card)
    heads = ("what", "published, or a prototype's", "wanted", "found", "holds")
    return "## What was asked for\n\n" + text + table(heads, lines) + "\n"


def _lacking(card: Card) -> str:
    """What was not made, so that nobody takes its absence for a success."""
    by_part = _grouped([{"part": part, "seed": seed} for part, _, seed, _ in card.get("lacking", ())], "part")
    if not card["timings"]:
        by_part["timings",] = []
    if not by_part:
        return ""
    said = [f"{part} ({len(rows)} pieces)" if rows else part for (part,), rows in by_part.items()]
    return f"**Not made yet**, so not in these tables: {', '.join(said)}.\n\n"


def _blame(card: Card) -> str:
    keys = ("precision_at_10", "precision_aggressors", "false_share", "found")
    lines = [
        (method, len({row["seed"] for row in rows}), len(rows), *(_mean(rows, key) for key in keys))
        for (method,), rows in _grouped(card["blame"] + card["blame_pooled"], "method").items()
    ]
    heads = (
        "method", "seeds", "sets", "precision among the strong", "precision among all aggressors", "false share of found (nulls)", "found",
    )  # fmt: skip
    text = (
        f"{card['users']} users; pooled: {card['pooled_users']} users, six sets. Precision at min(10, qualifying); strong: an effect of at least 1 sd of log time "
        "in at least 12 % of the runs; aggressor: 0.3 sd in 10 runs; null: below 0.05 sd; found: q at most 0.05.\n\n"
    )
    return "## Who: blame\n\n" + text + table(heads, lines) + "\n"


def _deviation(card: Card) -> str:
    lines = []
    for (scenario, inputs, split, learner), rows in _grouped(
        card["deviation"], "scenario", "inputs", "split", "learner"
    ).items():
        planted = ", ".join(dict.fromkeys(row["planted"] for row in rows))
        places = ", ".join(str(row["rank_of_planted"]) for row in rows)
        figures = (_mean(rows, "mape"), _mean(rows, "baseline_mape"), _mean(rows, "cpu_s"))
        lines.append((scenario, inputs, split, learner, planted, places, *figures))
    heads = (
        "scenario", "inputs", "split by", "learner", "planted counter", "its place, by seed", "MAPE %", "mean curve's MAPE %", "CPU s",
    )  # fmt: skip
    text = (
        "10 folds, 13 counters. Rows divided at random (the paper's split) stand below those of whole runs: the difference is how much that flatters. "
        "A count over a step contains the step's duration, so errors from deltas say little.\n\n"
    )
    return "## What: deviation\n\n" + text + table(heads, lines) + "\n"


def _gain(row: dict[str, Any]) -> str:
    gain = row["gain"]
    return f"{gain['mean']:+.1%} ({gain['low']:+.1%} to {gain['high']:+.1%})"


def _forecast(card: Card) -> str:
    heads = (
        "scenario", "m", "k", "features", *(f"{name} MAPE %" for name in FORECASTERS), "attention against the best other, 90 % interval",
        "coverage of 90 %", "serves",
    )  # fmt: skip
    lines = [
        (
            row["scenario"], row["m"], row["k"], row["features"], *(row["mape"][name] for name in FORECASTERS), _gain(row), row["coverage90"],
            row["serves"],
        )
        for row in card["forecast"] + card["long"]
    ]  # fmt: skip
    coverage = [
        (scenario, len(rows), f"{_mean(rows, 'coverage90'):.3f}")
        for (scenario,), rows in _grouped(card["coverage"], "scenario").items()
    ]
    ablation = [
        (row["scenario"], row["m"], row["k"], row["features"], *(row["mape"].get(name) for name in FORECASTERS), row["serves"])
        for row in card["ablation"]
    ]  # fmt: skip
    return (
        "## What next: forecast\n\n"
        + f"Every run held out once, {card.get('folds', 10)} folds; long-milc: runs of 620 steps in segments, by forecasters that learned from 80 steps. Attention learns also from windows that the end of a run cuts short, ridge and LightGBM\nbeside it from whole ones: part of its gain is that recipe's (docs/adr/0805).\n\n"
        + table(heads, lines)
        + f"\nCoverage of the 90 % intervals out of fold over {len(card['coverage'])} seeds (m and k as above, app):\n\n"
        + table(("scenario", "seeds", "coverage of 90 %"), coverage)
        + "\nAblations, one run-wise split:\n\n"
        + table(("scenario", "m", "k", "features", *FORECASTERS, "serves"), ablation)
        + "\n"
    )


def _timings(card: Card) -> str:
    lines = [(row["what"], row["wall_s"], row["cpu_s"], row["bound_s"]) for row in card["timings"]]
    text = "## Timings\n\n" + table(("what", "wall s", "CPU s of one process", "bound s"), lines)
    efforts = [
        (part, spent["pieces"], spent["wall_s"], spent["cpu_s"])
        for part, spent in card.get("effort", {}).items()
        if spent["pieces"]
    ]
    if efforts:
        text += "\nWhat making the scorecard's parts took, one process each, without the simulation of the sets:\n\n"
        text += table(("part", "pieces", "wall s", "CPU s"), efforts)
    return text
