"""Roots planted in the packet engine, found only from port counters (the figures of docs/benchmarks/roots.md on a few seeds), and only from packet samples."""

from __future__ import annotations

import pytest

from flitwatch_research.planted_roots import QUIET, SETTINGS, SEVERAL, UNCOUNTED, Setting, run_samples, score_setting

#: None of them served to choose a threshold.
SEEDS = range(500, 505)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_single_roots_are_found_within_one_link(setting: Setting) -> None:
    scores = score_setting(setting, SEEDS)
    assert sum(one["found"] for one in scores) >= 0.9 * len(scores)
    assert sum(one["first_right"] for one in scores) >= 0.9 * len(scores)
    assert sum(one["wrong"] for one in scores) == 0


@pytest.mark.system("numeric")
def test_in_quiet_runs_nothing_is_named() -> None:
    for setting in QUIET:
        scores = score_setting(setting, SEEDS[:3])
        assert [one["named"] for one in scores] == [0] * len(scores), setting


@pytest.mark.system("numeric")
def test_of_several_roots_at_once_most_are_found_and_few_names_are_wrong() -> None:
    scores = [one for setting in SEVERAL for one in score_setting(setting, SEEDS[:4])]
    assert sum(one["found"] for one in scores) >= 0.6 * sum(one["planted"] for one in scores)
    assert sum(one["wrong"] for one in scores) <= 0.15 * sum(one["named"] for one in scores)


@pytest.mark.system("numeric")
def test_without_a_tenth_of_the_counters_a_root_is_found_or_it_says_that_it_cannot_tell() -> None:
    scores = [one for setting in UNCOUNTED for one in score_setting(setting, SEEDS[:4])]
    assert sum(one["wrong"] for one in scores) == 0
    assert all(one["found"] or one["cannot_tell"] for one in scores)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_samples_find_single_roots_within_one_link(setting: Setting) -> None:
    scores = run_samples(setting, range(500, 520))
    assert sum(one["found"] for one in scores) >= 0.9 * len(scores)
    assert sum(one["first_right"] for one in scores) >= 0.9 * len(scores)
    assert sum(one["wrong"] for one in scores) <= 0.25 * sum(one["named"] for one in scores)


@pytest.mark.system("numeric")
def test_samples_of_quiet_runs_name_nothing() -> None:
    for setting in QUIET:
        scores = run_samples(setting, range(500, 510))
        assert [one["named"] for one in scores] == [0] * len(scores), setting
        assert not all(one["cannot_tell"] for one in scores), "too few samples: the test asks nothing"


@pytest.mark.system("numeric")
def test_samples_of_several_roots_at_once_find_most_and_name_few_others() -> None:
    scores = [one for setting in SEVERAL for one in run_samples(setting, range(500, 510))]
    assert sum(one["found"] for one in scores) >= 0.7 * sum(one["planted"] for one in scores)
    assert sum(one["wrong"] for one in scores) <= 0.2 * sum(one["named"] for one in scores)
