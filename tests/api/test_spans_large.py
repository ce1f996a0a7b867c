"""Every span of the page at 3,264 routers: rows at each level that is read, and an answer with a curve."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.counted import DAY_S, END_S, HOUR_S, ROUTERS, fill
from support.databases import Server

from api.conftest import Served, serving
from flitwatch_api.settings import Settings


@pytest.fixture(scope="module")
def large(_embedded_template: Server) -> Iterator[Served]:
    url = _embedded_template.create()
    fill(url)
    with serving(Settings(db=url)) as api:
        yield api
    _embedded_template.drop(url)


@pytest.mark.parametrize(
    ("hours", "least"), [(1, 60), (6, 60), (24, 60), (7 * 24, 60), (30 * 24, 300), (365 * 24, 300)]
)
def test_every_axis_is_a_curve_at_3264_routers(large: Served, hours: int, least: int) -> None:
    span = {"from": END_S - hours * HOUR_S, "to": END_S}
    got = large.get("/fabrics/large/overview", points=400, **span)
    assert least <= len(got["ts"]) <= 400 and got["counted_share"] == 1
    assert set(got["flits"]) == {ROUTERS * 100.0 * got["step_s"]} and set(got["ratio"]) == {2.0} == set(got["p95"])


@pytest.mark.parametrize("days", [30, 365])
def test_frames_and_windows_of_long_axes_answer(large: Served, days: int) -> None:
    frames = large.get("/fabrics/large/frames", step=days * 3600, **{"from": END_S - days * DAY_S, "to": END_S})
    assert 12 <= len(frames["ts"]) <= 31
    got = large.get("/fabrics/large/stalls", at=END_S, window=f"{days}d")
    assert len(got["routers"]["router"]) == ROUTERS and set(got["routers"]["ratio"]) == {2.0}
