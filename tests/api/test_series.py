"""Series, overview and frames against numpy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest
from support.waiting import eventually

from api.conftest import Served, summed
from api.database import HOSTILE, T0, THROUGH, SampleDatabase
from flitwatch_db import connect
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import store as ingest


def table(rows: list) -> np.ndarray:
    return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float)


def by_steps(values: np.ndarray, ts: list[str], step: int) -> np.ndarray:
    """Sums of seconds [SECONDS, R] in the answer's steps: float64[R, T]."""
    out = []
    for text in ts:
        start = int(datetime.fromisoformat(text).timestamp()) - T0
        piece = values[max(0, start) : max(0, start + step)]
        out.append(summed(piece) if len(piece) else np.full(values.shape[1], np.nan))
    return np.array(out).T


@pytest.mark.parametrize(("points", "step"), [(200, 1), (40, 5), (20, 10), (10, 20), (4, 60), (1, 300)])
@pytest.mark.parametrize("routers", ["0,5,7,31", "all", "group:1"])
def test_series_are_summed_to_the_points_asked_for(
    api: Served, database: SampleDatabase, points: int, step: int, routers: str
) -> None:
    got = api.get(
        "/fabrics/small/timeseries",
        routers=routers,
        counters="rt_flits,ratio,blue_ratio",
        points=points,
        **{"from": T0, "to": T0 + 200},
    )
    assert got["step_s"] == step and len(got["ts"]) <= points + 1
    chosen = {"0,5,7,31": [0, 5, 7, 31], "all": list(range(32)), "group:1": list(range(8, 16))}[routers]
    assert got["routers"] == chosen
    flits = by_steps(database.column("rt_flits"), got["ts"], step)[chosen]
    stalls = by_steps(database.column("rt_stall_cycles"), got["ts"], step)[chosen]
    np.testing.assert_array_equal(table(got["values"]["rt_flits"]), flits)
    np.testing.assert_allclose(table(got["values"]["ratio"]), stalls / flits, rtol=1e-4)
    blue = [by_steps(database.column(f"blue_{what}"), got["ts"], step)[chosen] for what in ("stall_cycles", "flits")]
    np.testing.assert_allclose(table(got["values"]["blue_ratio"]), blue[0] / blue[1], rtol=1e-4)


def test_a_sum_over_routers_is_one_row(api: Served, database: SampleDatabase) -> None:
    got = api.get(
        "/fabrics/small/timeseries",
        routers="all",
        counters="ratio,rt_flits,coverage",
        points=4,
        sum=True,
        **{"from": T0, "to": T0 + 200},
    )
    flits = np.nansum(by_steps(database.column("rt_flits"), got["ts"], 60), axis=0)
    stalls = np.nansum(by_steps(database.column("rt_stall_cycles"), got["ts"], 60), axis=0)
    assert [len(rows) for rows in got["values"].values()] == [1, 1, 1]
    np.testing.assert_allclose(got["values"]["ratio"][0], stalls / flits, rtol=1e-4)
    np.testing.assert_array_equal(got["values"]["rt_flits"][0], flits)


def test_without_a_span_it_ends_where_rows_are_complete(api: Served) -> None:
    got = api.get("/fabrics/small/timeseries", routers="1", counters="rt_flits")
    last = datetime.fromisoformat(got["ts"][-1]).timestamp()
    assert last < THROUGH <= last + got["step_s"]


def test_coverage_over_time_shows_the_gap(api: Served) -> None:
    got = api.get(
        "/fabrics/small/timeseries", routers="5,7,31", counters="coverage", points=20, **{"from": T0, "to": T0 + 200}
    )
    full, half, never = got["values"]["coverage"]
    assert full == [1.0] * 6 + [None] * 6 + [1.0] * 8 and half == [0.5] * 20 and never == [None] * 20


@pytest.mark.parametrize(
    ("parameters", "status", "word"),
    [
        ({"routers": "1", "counters": "rt_flits;drop table job"}, 400, "rt_flits"),
        ({"routers": "1", "counters": "rt_flits) FROM job--"}, 400, "Counters"),
        ({"routers": "1", "counters": "ts"}, 400, "Counters"),
        ({"routers": "1", "counters": "router"}, 400, "Counters"),
        ({"routers": "1", "counters": '"tile_seconds"'}, 400, "Counters"),
        ({"routers": "1 or 1=1"}, 422, "errors"),
        ({"routers": "1 2"}, 400, "routers=all"),
        ({"routers": "group:"}, 400, "routers=all"),
        ({"routers": "group:77"}, 404, "Groups"),
        ({"routers": "99999"}, 404, "0 to 31"),
        ({"routers": "1", "from": T0, "to": T0}, 400, "later"),
        ({"routers": "1", "from": "2026-01-01T00:00:00"}, 422, "errors"),
        ({"routers": "1", "points": 100000}, 422, "errors"),
    ],
)
def test_bad_parameters_are_refused_with_advice(api: Served, parameters: dict, status: int, word: str) -> None:
    assert word in api.refused("/fabrics/small/timeseries", status, **parameters)["advice"]


def test_route_changes_are_marks_of_their_fabric(api: Served, database: SampleDatabase) -> None:
    before = api.get("/fabrics/small/overview", points=20, **{"from": T0, "to": T0 + 200})["marks"]
    at = [datetime.fromtimestamp(T0 + s, UTC) for s in (30, 60, 90)]
    with connect(database.url) as conn:
        route_changes.record_change(conn, database.small_id, at[1], np.array([[0, 1], [2, -1]]))
        route_changes.record_change(conn, database.small_id, at[2], np.array([[0, 1], [1, -1]]), "after the repair")
        route_changes.record_change(conn, database.small_id, at[0], None, HOSTILE)
        route_changes.record_change(conn, database.tree_id, at[0], None, "another fabric")
    try:
        marks = _marks_when(api, lambda marks: len(marks) == len(before) + 3)
        assert [m["text"] for m in marks if m["kind"] == "routes"] == [
            f"Routes: {HOSTILE}",
            "Routes first recorded, 3 entries",
            "Routes changed, 1 of 3 entries: after the repair",
        ]
        assert [m for m in marks if m["kind"] == "job"] == before
        assert [m["ts"] for m in marks] == sorted(m["ts"] for m in marks)
        late = api.get("/fabrics/small/overview", points=20, **{"from": T0 + 61, "to": T0 + 90})["marks"]
        assert [m for m in late if m["kind"] == "routes"] == []
    finally:
        with connect(database.url) as conn:
            conn.execute("DELETE FROM route_change")
        # Nobody tells of this.
        _marks_when(api, lambda marks: marks == before)


def _marks_when(api: Served, holds: Callable[[list], bool]) -> list:
    """The marks of the overview, once they are as they should be: an answer may be as old as its last event, or two seconds."""
    shown: list[list] = []

    def shows() -> bool:
        shown.append(api.get("/fabrics/small/overview", points=20, **{"from": T0, "to": T0 + 200})["marks"])
        return holds(shown[-1])

    eventually(shows, what="the marks of the overview", detail=lambda: shown[-1])
    return shown[-1]


def test_the_overview_sums_the_machine(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/overview", points=20, **{"from": T0, "to": T0 + 200})
    assert got["step_s"] == 10 and len(got["ts"]) == 20
    flits, stalls = (by_steps(database.column(name), got["ts"], 10) for name in ("rt_flits", "rt_stall_cycles"))
    np.testing.assert_array_equal(got["flits"], np.nansum(flits, axis=0))
    np.testing.assert_allclose(got["ratio"], np.nansum(stalls, axis=0) / np.nansum(flits, axis=0), rtol=1e-4)
    want = np.nanpercentile(stalls / flits, (50, 95), axis=0)
    np.testing.assert_allclose([got["p50"], got["p95"]], want, rtol=1e-4)
    # 29 full routers and a half one make 29.5 of 30; without router 5 it is 28.5.
    np.testing.assert_allclose(got["coverage"], [29.5 / 30] * 6 + [28.5 / 30] * 6 + [29.5 / 30] * 8, rtol=1e-6)
    assert [gap["devices"] for gap in got["gaps"]] == [2]
    assert [datetime.fromisoformat(got["gaps"][0][end]).timestamp() for end in ("from", "to")] == [T0 + 60, T0 + 130]
    assert [mark["text"].split()[1] for mark in got["marks"]] == ["100", "104", "101", "103"]


@pytest.mark.parametrize("seed", range(3))
def test_gaps_that_overlap_are_one_with_all_its_devices(api: Served, database: SampleDatabase, seed: int) -> None:
    """Against joining them one after the other."""
    rng = np.random.default_rng(seed)
    starts = T0 - 90_000 + rng.integers(0, 3000, 250) * 10
    gaps = [(f"other {rng.integers(60)}", int(at), int(at + 10 * rng.integers(1, 9))) for at in starts.tolist()]
    want: list[tuple[int, int, set[str]]] = []
    for device, begin, end in sorted(gaps, key=lambda gap: gap[1:]):
        if want and begin <= want[-1][1]:
            first, last, devices = want[-1]
            want[-1] = first, max(last, end), devices | {device}
        else:
            want.append((begin, end, {device}))
    with connect(database.url) as conn:
        fabric = fabrics.get_fabric_row(conn, "small").fabric_id
        moments = [(device, *(datetime.fromtimestamp(at, UTC) for at in span)) for device, *span in gaps]
        ingest.add_gaps(conn, [ingest.Gap(device, "ports", *span, "silence", fabric) for device, *span in moments])
        conn.commit()
    try:
        got = api.get("/fabrics/small/overview", points=20, **{"from": T0 - 90_000 - 10 * seed, "to": T0 - 50_000})[
            "gaps"
        ]
    finally:
        with connect(database.url) as conn:
            conn.execute("DELETE FROM gap WHERE device LIKE 'other %'")
            conn.commit()
    assert [
        (*(datetime.fromisoformat(gap[end]).timestamp() for end in ("from", "to")), gap["devices"]) for gap in got
    ] == [(first, last, len(devices)) for first, last, devices in want]


def test_frames_travel_as_float32(api: Served, database: SampleDatabase) -> None:
    parameters = {"from": T0, "to": T0 + 200, "step": 10}
    answer = api.http.get(
        "/api/v1/fabrics/small/frames", params=parameters, headers={"Accept": "application/octet-stream"}
    )
    assert answer.headers["content-type"] == "application/octet-stream"
    frames, routers = int(answer.headers["x-frames"]), int(answer.headers["x-routers"])
    assert (frames, routers, answer.headers["x-step-seconds"]) == (20, 32, "10")
    assert datetime.fromisoformat(answer.headers["x-from"]).timestamp() == T0
    numbers = np.frombuffer(answer.content, dtype="<f4").reshape(2, frames, routers)
    text = [datetime.fromtimestamp(T0 + 10 * n).astimezone().isoformat() for n in range(20)]
    for got, name in zip(numbers, ("rt_flits", "rt_stall_cycles"), strict=True):
        np.testing.assert_allclose(got, by_steps(database.column(name), text, 10).T, rtol=1e-6)
    assert struct.unpack_from("<f", answer.content)[0] == numbers[0, 0, 0]
    rows = api.get("/fabrics/small/frames", **parameters)
    np.testing.assert_allclose(table(rows["flits"]), numbers[0], rtol=1e-6)
    blue = api.get("/fabrics/small/frames", **parameters, **{"class": "blue"})
    assert blue["flits"][0][2] is None and blue["flits"][0][3] is not None


def test_fabrics_without_time_or_data_have_empty_series(api: Served) -> None:
    assert api.get("/fabrics/still/timeseries", routers="1", counters="ratio")["ts"] == []
    assert api.get("/fabrics/still/overview")["ts"] == []
    answer = api.http.get("/api/v1/fabrics/still/frames", headers={"Accept": "application/octet-stream"})
    assert (answer.headers["x-frames"], answer.content) == ("0", b"")
