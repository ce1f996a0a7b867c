"""The cost limit of a window is in bytes: a minute of the largest machines is answered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.counted import DAY_S, END_S, HOUR_S, fill
from support.counted import ROUTERS as ROUTERS_SPANS_LARGE
from support.databases import Server

from api.conftest import Served, serving
from api.streams import START, count, tell, wait_until_listening
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_torus

ROUTERS = 34 * 40 * 24

pytestmark = pytest.mark.system("processes")


def test_a_minute_of_32640_routers_is_answered(embedded_db: str) -> None:
    """It begins within a minute, so that all of it is read by the second."""
    made = build_torus((34, 40, 24))
    assert len(made.routers) == ROUTERS
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, made)
        for second in (15, 75):
            count(conn, fabric_id, second, 10)
        tell(conn, fabric_id)
    with serving(Settings(db=embedded_db, web=None)) as api:
        wait_until_listening(api)
        for path in ("stalls", "congestion"):
            got = api.get(f"/fabrics/{fabric_id}/{path}", at=START + 80, window="60s")
            assert got["window_s"] == 60 and got["routers"]["router"] == [1]
            assert np.sum(got["routers"]["flits"]) == 10


# Every span of the page at 3,264 routers: rows at each level that is read, and an answer with a curve.


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
    assert set(got["flits"]) == {ROUTERS_SPANS_LARGE * 100.0 * got["step_s"]} and set(got["ratio"]) == {2.0} == set(
        got["p95"]
    )


@pytest.mark.parametrize("days", [30, 365])
def test_frames_and_windows_of_long_axes_answer(large: Served, days: int) -> None:
    frames = large.get("/fabrics/large/frames", step=days * 3600, **{"from": END_S - days * DAY_S, "to": END_S})
    assert 12 <= len(frames["ts"]) <= 31
    got = large.get("/fabrics/large/stalls", at=END_S, window=f"{days}d")
    assert len(got["routers"]["router"]) == ROUTERS_SPANS_LARGE and set(got["routers"]["ratio"]) == {2.0}
