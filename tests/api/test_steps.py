"""Steps of the page's time axis: every length is answered at every size of machine."""

import pytest

from flitwatch_api.counters.windows import step_for
from flitwatch_db.fabrics.reads import Reach

NOW_S = 1_790_002_800
DAY_S = 86_400
#: Seconds of the last day, minutes of the last 14 days, hours of the last 90.
REACH = Reach(NOW_S - 90 * DAY_S, NOW_S, {1: NOW_S - DAY_S, 60: NOW_S - 14 * DAY_S, 3600: NOW_S - 90 * DAY_S})


@pytest.mark.parametrize("routers", [96, 1440, 3264])
@pytest.mark.parametrize("length_s", [900, 3600, 6 * 3600, DAY_S, 7 * DAY_S])
def test_each_axis_of_the_page_is_answered(routers: int, length_s: int) -> None:
    step_s = step_for(REACH, routers, NOW_S - length_s, NOW_S, 360)
    assert 6 <= length_s / step_s <= 360


@pytest.mark.parametrize("routers", [96, 1440, 3264])
def test_a_week_has_a_point_every_hour_at_least(routers: int) -> None:
    assert step_for(REACH, routers, NOW_S - 7 * DAY_S, NOW_S, 360) <= 3600
