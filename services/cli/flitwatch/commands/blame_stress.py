"""`flitwatch blame --stress`: blame against calendars whose truth is known; simulated."""

from __future__ import annotations

from typing import TypedDict

from flitwatch.console import progress


class StressMeans(TypedDict):
    """Means over draws: share of names that are false, recall of strong users (None where there are none), and names."""

    false_share: float
    recall: float | None
    named: float


class StressRow(StressMeans):
    """A method in a world."""

    world: str
    what: str
    method: str


class StressReport(TypedDict):
    """A row a world and method."""

    draws: int
    seed: int
    rows: list[StressRow]
    simulated: bool


def stressed(worlds: list[str], draws: int, seed: int) -> StressReport:
    """False share and recall of ours, of exposure without a calendar, and of the paper's method, by world."""
    from flitwatch_research.stress import WORLDS

    rows: list[StressRow] = []
    with progress("draws") as bar:
        task = bar.add_task("draws", total=draws * len(worlds))
        for world in worlds:
            scored: dict[str, list[tuple[float, float, float]]] = {}
            for at in range(draws):
                for method, figures in _scored(world, seed + at).items():
                    scored.setdefault(method, []).append(figures)
                bar.update(task, advance=1)
            rows += [
                {"world": world, "what": WORLDS[world], "method": name, **_means(of)} for name, of in scored.items()
            ]
    return {"draws": draws, "seed": seed, "rows": rows, "simulated": True}


def _scored(world: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """(false share, recall of strong users, named) of each method on one draw."""
    import numpy as np

    from flitwatch_domain.blame import FOUND_Q, NAMED
    from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame
    from flitwatch_ml.blame.strata import hour_and_weekend
    from flitwatch_research.stress import draw

    drawn = draw(world, seed)
    plain = ExposureBlame().fit(drawn.exposure, drawn.time_s, hour_and_weekend(drawn.start_s))
    paper = PresenceBlame(rule="any").fit(drawn.exposure, drawn.time_s)
    ours = CalendarBlame().fit(drawn.exposure, drawn.time_s, drawn.start_s)
    named = {
        "ours": np.array(ours.verdict_) == NAMED,
        "exposure, without a calendar": plain.q_value_ <= FOUND_Q,
        "mutual information (the paper's)": (paper.q_value_ <= FOUND_Q) & (paper.sign_ > 0),
    }
    return {
        method: (
            float(found[drawn.null].sum() / max(found.sum(), 1)),
            float(found[drawn.strong].mean()) if len(drawn.strong) else float("nan"),
            float(found.sum()),
        )
        for method, found in named.items()
    }


def _means(figures: list[tuple[float, float, float]]) -> StressMeans:
    import numpy as np

    false_share, recall, named = np.mean(figures, axis=0)
    return {
        "false_share": float(false_share),
        "recall": None if np.isnan(recall) else float(recall),
        "named": float(named),
    }
