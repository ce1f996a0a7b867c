"""All figures of blame for planted variants: `python -m ml.test_blame_golden` (in tests/) rewrites the file.

A change of an estimator shows here first, in figures; the tests of truths show whether it is an improvement.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame
from flitwatch_ml.blame.calibration import calibrate_blame, rank_drivers
from flitwatch_ml.blame.information import exact_p_values, mutual_information_bits
from flitwatch_ml.blame.strata import day_numbers, hour_and_weekend
from flitwatch_research.stress import draw_case
from ml.golden_figures import differences, figures, plain

GOLDEN = Path(__file__).parent / "golden" / "blame.json"
#: Variant, seed, runs and users of each set; small, so that all are fitted within seconds.
SETS = (
    ("none", 300, 120, 50),
    ("shift-20", 301, 120, 50),
    ("pairs", 302, 150, 50),
    ("campaigns", 303, 100, 50),
    ("drift", 304, 60, 44),
)


def of_set(variant: str, seed: int, runs: int, users: int) -> dict[str, Any]:
    """What the estimators give for a set."""
    drawn = draw_case(variant, seed, runs, users)
    rng = np.random.default_rng(seed)
    groups = rng.integers(1, 9, runs).astype(float)
    marks = [float(np.median(drawn.start_s))]
    whole = CalendarBlame().fit(drawn.exposure, drawn.time_s, drawn.start_s)
    marked = CalendarBlame(alpha=0.3, max_selected=6, min_exposed=8).fit_scores(
        drawn.exposure, drawn.time_s, drawn.start_s, groups[:, None], marks, below=0.5
    )
    strata = hour_and_weekend(drawn.start_s)
    plainly = ExposureBlame().fit(drawn.exposure, drawn.time_s, strata, day_numbers(drawn.start_s))
    logged = ExposureBlame(alpha=0.2, max_selected=3, response="log").fit(drawn.exposure, drawn.time_s)
    overlap = np.clip(drawn.exposure / np.quantile(drawn.exposure, 0.97), 0, 1)
    paper = PresenceBlame(rule="any").fit(overlap, drawn.time_s, strata)
    return {
        "calendar": figures(
            whole, "score p_value q_value sign exposed_runs testable selected ranking verdict reasons effect_s effect_interval_s"
        ),
        "regimes": plain(whole.calendar_.axes.shape),
        "marked": figures(marked, "score p_value q_value selected"),
        "exposure": figures(plainly, "score p_value q_value selected ranking"),
        "logged": figures(logged, "score p_value q_value selected"),
        "presence": figures(paper, "score p_value q_value sign ranking"),
        "drivers": rank_drivers(["groups", "noise"], np.column_stack([groups, rng.normal(size=runs)]), drawn.time_s, drawn.start_s),
    }  # fmt: skip


def of_tables() -> dict[str, Any]:
    """Mutual information and its chances on drawn tables, all-absent and all-present columns among them; calibration on noise."""
    rng = np.random.default_rng(9)
    present, slow = rng.random((60, 12)) < rng.random(12), rng.random(60) < 0.4
    present[:, 0], present[:, 1] = False, True
    strata = rng.integers(0, 3, 60)
    drawn = draw_case("nobody", 310, 60, 44)
    return {
        "bits": plain(mutual_information_bits(present, slow)),
        "exact": plain(exact_p_values(present, slow)),
        "exact in strata": plain(exact_p_values(present, slow, strata)),
        "calibration": calibrate_blame(drawn.exposure, drawn.time_s, drawn.start_s, shuffles=6, seed=2),
    }


def collect_figures() -> dict[str, Any]:
    """Everything that the file holds."""
    return {**{variant: of_set(variant, *rest) for variant, *rest in SETS}, "tables": of_tables()}


@pytest.mark.parametrize("variant", [variant for variant, *_ in SETS])
def test_every_number_of_a_set_is_as_committed(variant: str) -> None:
    arguments = next(rest for name, *rest in SETS if name == variant)
    assert (
        differences(json.loads(json.dumps(of_set(variant, *arguments))), json.loads(GOLDEN.read_text())[variant]) == []
    )


def test_every_number_of_the_tables_is_as_committed() -> None:
    assert differences(json.loads(json.dumps(of_tables())), json.loads(GOLDEN.read_text())["tables"]) == []


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(collect_figures()) + "\n")
