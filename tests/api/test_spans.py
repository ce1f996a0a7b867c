"""Spans from an hour to a year: sums of long buckets against numpy, a shift on the right day, and missing counters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pytest
from numpy.typing import NDArray
from support.databases import Server
from support.planted_year import DAY_S, END_S, HOUR_S, SHIFT_S, START_S, Year, fill

from api.conftest import Served, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.counters.rollups import roll_up_hours

pytestmark = pytest.mark.system("numeric")

SPANS_S = {"1h": HOUR_S, "6h": 6 * HOUR_S, "24h": DAY_S, "7d": 7 * DAY_S, "30d": 30 * DAY_S, "1y": 365 * DAY_S}


@pytest.fixture(scope="module")
def year(_embedded_template: Server) -> Iterator[Year]:
    url = _embedded_template.create()
    yield fill(url)
    _embedded_template.drop(url)


@pytest.fixture(scope="module")
def before(year: Year) -> dict[str, dict]:
    """What every route answered before anything was rolled up."""
    with serving(Settings(db=year.url)) as api:
        return answers(api)


@pytest.fixture(scope="module")
def api(year: Year, before: dict[str, dict]) -> Iterator[Served]:
    with connect(year.url, role="keeper", autocommit=True) as conn:
        assert roll_up_hours(conn, settled_s=0) == len(np.unique(np.flatnonzero(~np.isnan(year.flits).all(axis=1))))
    with serving(Settings(db=year.url)) as served:
        yield served


def answers(api: Served) -> dict[str, dict]:
    """Figures of each span as the page asks for them."""
    found = {}
    for name, length in SPANS_S.items():
        span = {"from": END_S - length, "to": END_S}
        found[f"overview {name}"] = api.get("/fabrics/year/overview", points=400, **span)
        found[f"frames {name}"] = api.get("/fabrics/year/frames", step=min(7 * DAY_S, max(60, length // 24)), **span)
        found[f"window {name}"] = api.get("/fabrics/year/stalls", at=END_S, window=f"{length}s")
        series = {"routers": "all", "counters": "rt_flits,ratio,coverage", "points": 200, **span}
        found[f"series {name}"] = api.get("/fabrics/year/timeseries", **series)
    return found


def figures(values: list) -> NDArray[np.float64]:
    return np.array([np.nan if v is None else v for v in values], dtype=float)


@pytest.mark.parametrize("name", SPANS_S)
def test_rolled_up_figures_equal_those_of_finer_tables(api: Served, before: dict[str, dict], name: str) -> None:
    after = answers(api)
    for what in ("overview", "frames", "window", "series"):
        assert after[f"{what} {name}"] == before[f"{what} {name}"]


@pytest.mark.parametrize(("name", "least"), [("7d", 60), ("30d", 60), ("1y", 60)])
def test_the_curve_sums_the_machine(api: Served, year: Year, name: str, least: int) -> None:
    got = api.get("/fabrics/year/overview", points=400, **{"from": END_S - SPANS_S[name], "to": END_S})
    assert least <= len(got["ts"]) <= 401
    flits, stalls = year.of(got["ts"], got["step_s"])
    some = ~np.isnan(flits).all(axis=1)
    assert (figures(got["flits"])[some] == np.nansum(flits, axis=1)[some]).all()
    assert (figures(got["stall_cycles"])[some] == np.nansum(stalls, axis=1)[some]).all()
    assert np.isnan(figures(got["flits"])[~some]).all() and np.isnan(figures(got["p95"])[~some]).all()
    want = np.nanpercentile((stalls / flits)[some], (50, 95), axis=1)
    np.testing.assert_allclose([figures(got[p])[some] for p in ("p50", "p95")], want, rtol=1e-4)


def test_a_shift_shows_at_its_day(api: Served) -> None:
    got = api.get("/fabrics/year/overview", points=400, **{"from": END_S - 365 * DAY_S, "to": END_S})
    assert got["step_s"] == DAY_S
    ratio = figures(got["ratio"])
    jump = int(np.nanargmax(np.diff(np.where(np.isnan(ratio), 1.5, ratio)))) + 1
    assert got["ts"][jump] == "2026-03-30T00:00:00Z"
    assert ratio[jump - 1] == pytest.approx(1.5, rel=0.01) and ratio[jump] == pytest.approx(3, rel=0.01)


def test_months_that_were_not_counted_are_unknown(api: Served) -> None:
    got = api.get("/fabrics/year/overview", points=400, **{"from": END_S - 365 * DAY_S, "to": END_S})
    unknown = [ts for ts, flits in zip(got["ts"], got["flits"], strict=True) if flits is None]
    assert unknown == [f"2026-{day}T00:00:00Z" for day in ("01-30", "01-31", "02-01", "02-02")]
    assert got["counted_share"] == pytest.approx(1 - 4 / len(got["ts"]))
    coverage = dict(zip(got["ts"], got["coverage"], strict=True))
    assert coverage["2026-06-15T00:00:00Z"] == pytest.approx(31 / 32) and coverage["2026-05-31T00:00:00Z"] == 1


def test_a_span_before_the_first_data_is_partly_counted(api: Served) -> None:
    got = api.get("/fabrics/year/overview", points=400, **{"from": START_S - 365 * DAY_S, "to": START_S + 36 * DAY_S})
    assert got["counted_share"] == pytest.approx(37 / 402, abs=0.01)
    begun = [datetime.fromisoformat(ts).timestamp() + got["step_s"] > START_S for ts in got["ts"]]
    assert (~np.isnan(figures(got["flits"])) == begun).all()


def test_an_empty_year_says_that_nothing_was_counted(api: Served) -> None:
    span = {"from": START_S - 400 * DAY_S, "to": START_S - 30 * DAY_S}
    got = api.get("/fabrics/year/overview", points=400, **span)
    assert got["counted_share"] == 0 and len(got["ts"]) >= 60
    assert {*got["flits"], *got["ratio"], *got["p95"]} == {None} and {*got["coverage"]} <= {None}
    never = api.get("/fabrics/never/overview", points=400, **span)
    assert never["counted_share"] == 0 and {*never["flits"]} == {None}


def test_late_rows_are_seen_before_they_are_rolled_up(api: Served, year: Year) -> None:
    """A row in the middle of the year, marked as the writer marks it; and afterwards as it was."""
    at = SHIFT_S + 12 * HOUR_S
    span = {"from": SHIFT_S - 180 * DAY_S, "to": SHIFT_S + 185 * DAY_S}
    change = "UPDATE router_1h SET rt_flits = rt_flits + %s WHERE router = 3 AND ts = to_timestamp(%s)"
    mark = "INSERT INTO rollup_due (fabric_id, hour) SELECT fabric_id, to_timestamp(%s) FROM fabric WHERE name = 'year'"
    sums = []
    for more in (6e9, -6e9):
        with serving(Settings(db=year.url)) as fresh:
            before = fresh.get("/fabrics/year/overview", points=400, **span)
        with connect(year.url, role="owner") as conn:
            conn.execute(change, [more, at])
            conn.execute(mark, [at])
        for rolled in (0, 1):
            with connect(year.url, role="keeper", autocommit=True) as conn:
                assert not rolled or roll_up_hours(conn, settled_s=0) == 1
            with serving(Settings(db=year.url)) as fresh:
                after = fresh.get("/fabrics/year/overview", points=400, **span)
            delta = figures(after["flits"]) - figures(before["flits"])
            assert after["ts"][int(np.nanargmax(np.abs(delta)))] == "2026-03-30T00:00:00Z" and np.nansum(delta) == more
            sums.append(np.nansum(figures(after["flits"])))
    assert sums[0] == sums[1] and sums[2] == sums[3]
