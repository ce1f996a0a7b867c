"""Steps of the page's time axis: every length is answered for every machine size."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_api.counters.windows import MAX_BYTES, MAX_CELLS, MAX_ROWS, Steps, cost_of, step_for
from flitwatch_db.fabrics.reads import Reach
from flitwatch_domain.errors import TooCostly

NOW_S = 1_790_002_800
DAY_S = 86_400
#: Seconds of the last day, minutes of the last 400 days, hours of the last two years; the newest hour is not rolled up yet.
REACH = Reach(
    NOW_S - 730 * DAY_S,
    NOW_S,
    {1: NOW_S - DAY_S, 60: NOW_S - 400 * DAY_S, 3600: NOW_S - 730 * DAY_S},
    {300: NOW_S - 400 * DAY_S, 7200: NOW_S - 730 * DAY_S, 86_400: NOW_S - 730 * DAY_S},
    due_s=(NOW_S - 3600,),
)
HOUR_TO_YEAR = [3600, 6 * 3600, DAY_S, 7 * DAY_S, 30 * DAY_S, 365 * DAY_S]


@pytest.mark.parametrize("routers", [96, 1440, 3264, 8160])
@pytest.mark.parametrize("length_s", HOUR_TO_YEAR)
def test_each_axis_of_the_page_is_a_curve(routers: int, length_s: int) -> None:
    steps = step_for(REACH, routers, NOW_S - length_s, NOW_S, 400)
    assert 60 <= length_s / steps.step_s <= 400 and steps.step_s % steps.width_s == 0
    cost = cost_of(REACH, routers, steps.width_s, NOW_S - length_s, NOW_S)
    assert cost.rows <= MAX_ROWS and cost.cells <= MAX_CELLS


@given(st.integers(1, 8160), st.integers(60, 365 * DAY_S), st.integers(1, 2000))
def test_every_span_up_to_a_year_is_answered(routers: int, length_s: int, points: int) -> None:
    steps = step_for(REACH, routers, NOW_S - length_s, NOW_S, points)
    assert length_s <= points * steps.step_s and steps.step_s % steps.width_s == 0


@pytest.mark.parametrize("length_s", [900, *HOUR_TO_YEAR])
def test_without_rollups_a_small_machine_has_its_curve_too(length_s: int) -> None:
    """Every hour still due, as right after an upgrade."""
    due = tuple(range(NOW_S - 730 * DAY_S, NOW_S, 3600))
    steps = step_for(replace(REACH, due_s=due), 96, NOW_S - length_s, NOW_S, 400)
    assert 6 <= length_s / steps.step_s <= 400


@pytest.mark.parametrize(("routers", "answered"), [(3264, True), (16_667, True), (32_640, True), (96_000, False)])
def test_a_minute_of_a_large_machine_is_within_the_bytes_of_a_window(routers: int, answered: bool) -> None:
    cost = cost_of(REACH, routers, 10, NOW_S - 60, NOW_S)
    assert (cost.bytes(9) <= MAX_BYTES) == answered
    assert cost.bytes(9) == routers * 60 * (9 * 8 + 12)
    days = cost_of(REACH, routers, DAY_S, NOW_S - 365 * DAY_S, NOW_S - DAY_S)
    assert days.bytes(3) == routers * 364 * 3 * 8


def test_what_costs_too_much_is_refused_with_the_name_of_the_limit() -> None:
    with pytest.raises(TooCostly, match="MAX_CELLS"):
        step_for(REACH, 20_000, NOW_S - 365 * DAY_S, NOW_S, 360)
    due = tuple(range(NOW_S - 730 * DAY_S, NOW_S, 3600))
    with pytest.raises(TooCostly, match="MAX_ROWS") as refused:
        step_for(replace(REACH, due_s=due), 3264, NOW_S - 365 * DAY_S, NOW_S, 360)
    assert "flitwatch db maintain" in refused.value.advice


def test_minutes_that_are_gone_are_not_asked_for() -> None:
    then = NOW_S - 500 * DAY_S
    assert step_for(REACH, 3264, then, then + DAY_S, 400) == Steps(3600, 3600)
