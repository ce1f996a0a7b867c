"""`flitwatch study blame-stress`: blame on simulated calendars with known truth."""

from __future__ import annotations

from typing import TypedDict

from flitwatch.console import make_progress, print_result

NAME = "blame-stress"
SUMMARY = "Blame's false names and recall on simulated hard calendars, by method."
DRAWS, SEED = 20, 1


class StressMeans(TypedDict):
    """Means over draws: share of false names, recall of strong users (None if there are none), and number of names."""

    false_share: float
    recall: float | None
    named: float


class StressRow(StressMeans):
    """Scores of a method in a variant."""

    variant: str
    what: str
    method: str


class StressReport(TypedDict):
    """One row per variant and method."""

    draws: int
    seed: int
    rows: list[StressRow]
    simulated: bool


def run_stress_study(variants: tuple[str, ...], draws: int | None, seed: int | None, as_json: bool) -> None:
    """Draw the calendars (default: all) and print the scores."""
    from flitwatch_research.stress import VARIANTS

    report = stress_blame(list(variants or VARIANTS), draws or DRAWS, SEED if seed is None else seed)
    print_result(report, as_json)


def stress_blame(variants: list[str], draws: int, seed: int) -> StressReport:
    """Return false share and recall of our method, of exposure without a calendar, and of the paper's method, by variant."""
    from flitwatch_research.stress import VARIANTS, score_methods

    rows: list[StressRow] = []
    with make_progress("draws") as bar:
        task = bar.add_task("draws", total=draws * len(variants))
        for variant in variants:
            of_method: dict[str, list[tuple[float, float, float]]] = {}
            for at in range(draws):
                for method, figures in score_methods(variant, seed + at).items():
                    of_method.setdefault(method, []).append(figures)
                bar.update(task, advance=1)
            rows += [
                {"variant": variant, "what": VARIANTS[variant], "method": name, **_average_figures(of)}
                for name, of in of_method.items()
            ]
    return {"draws": draws, "seed": seed, "rows": rows, "simulated": True}


def _average_figures(figures: list[tuple[float, float, float]]) -> StressMeans:
    import numpy as np

    false_share, recall, named = np.mean(figures, axis=0)
    return {
        "false_share": float(false_share),
        "recall": None if np.isnan(recall) else float(recall),
        "named": float(named),
    }
