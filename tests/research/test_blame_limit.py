"""The informed test of blame finds what its own arithmetic says, no user where none has an effect, and no less than our method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from flitwatch_domain.blame import FOUND_Q, benjamini_hochberg
from flitwatch_ml.blame import CalendarBlame
from flitwatch_research.blame_limit import (
    EFFECTS,
    GENERATORS,
    GRID,
    NOISE,
    draw_runs,
    found_at_share,
    informed_p_values,
    joint_q_values,
    main,
    noise_density,
)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("base_known", [False, True])
def test_nobody_is_found_where_no_user_has_an_effect(generator: str, base_known: bool) -> None:
    found = 0
    for seed in range(100):
        p = informed_p_values(draw_runs(generator, seed, 200, effects=()), generator, base_known)
        found += bool((benjamini_hochberg(p) <= FOUND_Q).any())
    # In 5 % of the sets at most, by chance in all but one of a hundred such tests.
    assert binom.sf(found - 1, 100, FOUND_Q) > 0.01


@pytest.mark.system("numeric")
def test_a_user_who_slows_runs_has_the_score_of_the_effect_over_the_noise() -> None:
    excess = []
    for seed in range(0, 300, 3):
        drawn = draw_runs("jobs", seed, 200, effects=(0.1,))
        exposed = drawn.exposure[:, 0] > 0
        expected = np.log(1.1) * np.sqrt(200 * exposed.mean() * (1 - exposed.mean())) / NOISE
        excess.append(norm.isf(informed_p_values(drawn, "jobs")[0]) - expected)
    assert drawn.shape == "binary" and abs(np.mean(excess)) < 3 / np.sqrt(len(excess))


@pytest.mark.system("numeric")
@pytest.mark.parametrize("generator", GENERATORS)
def test_the_joint_model_finds_strong_users_and_nobody_where_none_has_an_effect(generator: str) -> None:
    strong = [joint_q_values(draw_runs(generator, seed, 200, effects=(0.4, 0.4))) <= FOUND_Q for seed in range(6)]
    assert sum(each[:2].sum() for each in strong) >= 11 and sum(each[2:].sum() for each in strong) <= 1
    nothing = [joint_q_values(draw_runs(generator, seed, 200, effects=())) <= FOUND_Q for seed in range(6)]
    assert sum(each.any() for each in nothing) <= 1


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_density_is_that_of_the_drawn_noise(generator: str) -> None:
    noise = np.concatenate([draw_runs(generator, seed, 400).noise for seed in range(25)])
    below = np.cumsum(noise_density(generator)) * (GRID[1] - GRID[0])
    for value in (-0.4, -0.2, 0.0, 0.2, 0.4, 0.8):
        share = float(np.interp(value, GRID, below))
        assert abs((noise <= value).mean() - share) < 4 * np.sqrt(share * (1 - share) / len(noise)) + 1e-3


@pytest.mark.system("numeric")
def test_the_informed_test_finds_no_less_than_ours_and_less_than_three_quarters_alongside_sessions() -> None:
    sets = [draw_runs("sessions", seed, 200) for seed in range(7000, 7100)]
    informed = found_at_share([benjamini_hochberg(informed_p_values(drawn, "sessions")) for drawn in sets])
    ours = [CalendarBlame().fit_scores(drawn.exposure, drawn.time_s, drawn.start_s) for drawn in sets[:20]]
    weak = [slice(0, 2), slice(0, len(EFFECTS))]
    for users in weak:
        most = np.mean([each[users].mean() for each in informed[:20]])
        assert most >= np.mean([(fit.q_value_[users] <= FOUND_Q).mean() for fit in ours])
    assert np.mean([each[:2].mean() for each in informed]) < 0.75
    assert sum(each[len(EFFECTS) :].sum() for each in informed) <= 0.05 * sum(each.sum() for each in informed)


@pytest.mark.system("numeric")
def test_the_table_has_a_row_for_each_kind_of_set_and_method(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--sets", "3", "--few", "1"])
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2 + len(GENERATORS) * (3 * 2 + 2)
    assert [row.split("|")[3].strip() for row in rows if "| ours |" in row] == ["1", "1"]
