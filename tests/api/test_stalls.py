"""Windows against sums computed from the same arrays by numpy."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from api.conftest import Served, summed
from api.database import T0, THROUGH, SampleDatabase
from flitwatch_api.app import create_app
from flitwatch_api.counters.series import COUNTERS
from flitwatch_api.counters.stalls import WindowQuery, sampled_buckets
from flitwatch_api.counters.windows import SAMPLED_PORT_ROWS, Window
from flitwatch_api.settings import Settings
from flitwatch_db.fabrics.reads import Reach


def figures(values: list, routers: list[int], size: int) -> np.ndarray:
    """A column of an answer by router, NaN if absent or null."""
    out = np.full(size, np.nan)
    out[routers] = [np.nan if v is None else v for v in values]
    return out


def epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("at", "window"),
    [(T0 + 150, 60), (T0 + 101, 1), (T0 + 183, 7), (T0 + 200, 180), (T0 + 160, 33), (T0 + 100, 40), (T0 + 190, 600)],
)
def test_routers_of_a_window_have_the_sums_of_their_seconds(
    api: Served, database: SampleDatabase, at: int, window: int
) -> None:
    got = api.get("/fabrics/small/stalls", at=at, window=f"{window}s")
    assert (epoch(got["at"]), got["window_s"]) == (at, window)
    seconds = slice(max(0, at - window - T0), at - T0)
    flits, stalls = summed(database.column("rt_flits")[seconds]), summed(database.column("rt_stall_cycles")[seconds])
    routers = got["routers"]
    assert routers["router"] == np.flatnonzero(~np.isnan(flits)).tolist()
    np.testing.assert_array_equal(figures(routers["flits"], routers["router"], 32), flits)
    np.testing.assert_array_equal(figures(routers["stall_cycles"], routers["router"], 32), stalls)
    np.testing.assert_allclose(figures(routers["ratio"], routers["router"], 32), stalls / flits, rtol=1e-4)


def test_a_window_is_the_same_again_and_in_parts(api: Served, database: SampleDatabase) -> None:
    """What is held in memory and what is read anew add up alike."""
    whole = api.get("/fabrics/small/stalls", at=T0 + 180, window="140s")
    assert api.get("/fabrics/small/stalls", at=T0 + 180, window="140s") == whole
    parts = [api.get("/fabrics/small/stalls", at=T0 + 180 - 20 * n, window="20s") for n in range(7)]
    total = summed(np.array([figures(p["routers"]["flits"], p["routers"]["router"], 32) for p in parts]))
    np.testing.assert_array_equal(figures(whole["routers"]["flits"], whole["routers"]["router"], 32), total)


def test_the_newest_window_ends_where_rows_are_complete(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/stalls")
    assert epoch(got["at"]) == epoch(got["complete_through"]) == THROUGH and got["window_s"] == 60
    seconds = slice(THROUGH - 60 - T0, THROUGH - T0)
    assert got["classes"]["green"]["flits"] == np.nansum(database.column("green_flits")[seconds])


def test_coverage_tells_silent_and_half_counted_routers(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/stalls", at=T0 + 150, window="60s")["routers"]
    coverage = figures(got["coverage"], got["router"], 32)
    assert coverage[0] == 1 and coverage[5] == 0.5 and coverage[7] == 0.5
    silent = api.get("/fabrics/small/stalls", at=T0 + 110, window="40s")["routers"]
    assert 5 not in silent["router"] and 30 not in silent["router"]


@pytest.mark.parametrize("name", ["green", "black", "blue"])
def test_a_class_restricts_routers_to_its_tiles(api: Served, database: SampleDatabase, name: str) -> None:
    got = api.get("/fabrics/small/stalls", at=T0 + 180, window="60s", **{"class": name})
    seconds = slice(120, 180)
    flits, stalls = (
        summed(database.column(f"{name}_flits")[seconds]),
        summed(database.column(f"{name}_stall_cycles")[seconds]),
    )
    np.testing.assert_array_equal(figures(got["routers"]["flits"], got["routers"]["router"], 32), flits)
    known = ~np.isnan(flits)
    assert (2 in got["routers"]["router"]) == (name != "blue") or got["routers"]["flits"][
        got["routers"]["router"].index(2)
    ] is None
    ratios = stalls[known] / flits[known]
    figure = got["classes"][name]
    assert figure["per"] == "router" and figure["counted"] == known.sum()
    np.testing.assert_allclose(
        [figure["ratio"], figure["p50"], figure["p95"], figure["max"]],
        [np.nansum(stalls) / np.nansum(flits), *np.percentile(ratios, (50, 95)), ratios.max()],
    )


def pairs_by_hand(fabric, flits: np.ndarray) -> np.ndarray:
    """Sums between groups [sender][receiver] by a loop over links."""
    table, group, size = fabric.counted_links(), fabric.routers.group, len(fabric.routers)
    out = np.full((4, 4), np.nan)
    for router, port in np.argwhere(table >= 0):
        src, dst = fabric.links.src[table[router, port]], fabric.links.dst[table[router, port]]
        if src < size and dst < size and group[src] != group[dst] and not np.isnan(flits[router, port]):
            held = out[group[src], group[dst]]
            out[group[src], group[dst]] = flits[router, port] + (0 if np.isnan(held) else held)
    return out


def test_pairs_of_groups_sum_the_links_between_them(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/stalls", at=T0 + 120, window="60s")["groups"]
    start = (T0 + 60 - T0 // 10 * 10) // 10
    want = pairs_by_hand(database.small, database.port_flits[start : start + 6].sum(axis=0))
    table = np.full((4, 4), np.nan)
    table[got["src"], got["dst"]] = got["flits"]
    np.testing.assert_array_equal(table, want)
    matrix = api.get("/fabrics/small/matrix", **{"from": T0 + 60, "to": T0 + 120})
    np.testing.assert_array_equal(np.array(matrix["flits"], dtype=float), want.T)
    assert matrix["groups"] == [0, 1, 2, 3]


def test_links_of_a_window(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/stalls/links", at=T0 + 120, window="60s")
    table = database.small.counted_links()
    start = (T0 + 60 - T0 // 10 * 10) // 10
    flits = database.port_flits[start : start + 6].sum(axis=0)
    mask = database.small.router_links()
    want = {
        int(table[r, p]): flits[r, p]
        for r, p in np.argwhere(table >= 0)
        if mask[table[r, p]] and not np.isnan(flits[r, p])
    }
    assert dict(zip(got["link"], got["flits"], strict=True)) == want
    assert all(d != 31 for d in got["dst"])  # router 31 has no port counters: its incoming links are unknown
    one = api.get("/fabrics/small/stalls/links", at=T0 + 120, window="60s", router=4)
    links = database.small.links
    assert one["link"] == [n for n in got["link"] if 4 in (links.src[n], links.dst[n])]
    blue = api.get("/fabrics/small/stalls/links", at=T0 + 120, window="60s", group=1, **{"class": "blue"})
    assert set(blue["class"]) == {"blue"} and set(blue["link"]) < set(got["link"])


def test_a_fabric_without_time_answers_from_its_one_sample(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/still/stalls")
    assert got["snapshot"] and got["at"] is None and got["window_s"] is None
    table, size = database.still.counted_links(), 32
    network = (table >= 0) & database.still.router_links()[table]
    flits = np.where(network, database.still_flits, np.nan)
    want = np.where(np.isnan(flits).all(axis=1), np.nan, np.nansum(flits, axis=1))
    np.testing.assert_array_equal(figures(got["routers"]["flits"], got["routers"]["router"], size), want)
    assert set(got["routers"]["coverage"]) == {None}
    blue = network & database.still.of_class("blue")[table] & ~np.isnan(database.still_flits)
    ratios = database.still_stalls[blue] / database.still_flits[blue]
    figure = got["classes"]["blue"]
    assert figure["per"] == "link" and figure["counted"] == blue.sum()
    np.testing.assert_allclose(
        [figure["p50"], figure["p95"], figure["max"]], [*np.percentile(ratios, (50, 95)), ratios.max()]
    )
    table4 = np.full((4, 4), np.nan)
    table4[got["groups"]["src"], got["groups"]["dst"]] = got["groups"]["flits"]
    np.testing.assert_array_equal(table4, pairs_by_hand(database.still, database.still_flits))
    assert len(api.get("/fabrics/still/stalls/links")["link"]) == (network & ~np.isnan(database.still_flits)).sum()


def test_classes_of_a_tree_come_from_its_ports(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/tree/stalls", at=T0 + 120, window="60s")
    table = database.tree.counted_links()
    start = (T0 + 60 - T0 // 10 * 10) // 10
    flits = database.tree_flits[start : start + 6].sum(axis=0)
    up = (table >= 0) & database.tree.of_class("up")[table]
    assert set(got["classes"]) == {"up", "down"} and got["classes"]["up"]["flits"] == np.nansum(flits[up])
    only = api.get("/fabrics/tree/stalls", at=T0 + 120, window="60s", **{"class": "up"})["routers"]
    assert np.nansum([v or 0 for v in only["flits"]]) == np.nansum(flits[up])


def test_a_window_alongside_the_data_is_unknown_not_zero(api: Served) -> None:
    got = api.get("/fabrics/small/stalls", at=T0 - 7200, window="60s")
    assert got["routers"]["router"] == [] and got["classes"]["green"]["flits"] is None and got["groups"]["src"] == []


@pytest.mark.parametrize("window", ["6h", "24h", "7d", "31d", "366d"])
def test_a_window_longer_than_the_data_has_the_sums_of_all_of_them(
    api: Served, database: SampleDatabase, window: str
) -> None:
    for path in ("/fabrics/small/stalls", "/fabrics/tree/stalls"):
        assert api.get(path, at=T0 + 190, window=window)["window_s"] > 0
    got = api.get("/fabrics/small/stalls/links", at=T0 + 190, window=window)
    if window == "6h":
        assert np.sum(got["flits"]) == np.sum(
            api.get("/fabrics/small/stalls/links", at=T0 + 190, window="10m")["flits"]
        )
    assert got["note"] is None


def note(window: Window, first_s: int, ports_s: int, one_in: int) -> str | None:
    """What an answer says of a window of a fabric whose routers and ports are kept from these times."""
    reach = Reach(first_s, T0, {60: first_s}, oldest_of_ports_s=ports_s)
    return WindowQuery(None, window, T0, T0, reach).note(one_in)  # type: ignore[arg-type]


def test_sums_over_ports_that_are_gone_or_estimated_are_said() -> None:
    week, month = Window(T0 - 7 * 86_400, T0, 60), Window(T0 - 30 * 86_400, T0, 3600)
    year_ago, last_week = T0 - 365 * 86_400, T0 - 8 * 86_400
    assert note(week, year_ago, last_week, 1) is None
    assert note(week, year_ago, last_week, 5) == "Estimated from one in 5 ten-second samples of this window."
    kept = datetime.fromtimestamp(last_week, UTC).strftime("%-d %b %Y %H:%M UTC")
    assert f"are stored since {kept};" in (note(month, year_ago, last_week, 1) or "")
    assert note(month, last_week - 20, last_week, 1) is None, "a young site has lost nothing"
    assert WindowQuery(None, month, T0, T0, Reach(year_ago, T0, {}, oldest_of_ports_s=last_week)).ports_window() == (last_week, T0 // 10 * 10)  # type: ignore[arg-type]  # fmt: skip


@pytest.mark.parametrize(("length_s", "routers"), [(14_400, 384), (86_400, 3264), (31 * 86_400, 3264), (3600, 3264)])
def test_sampled_buckets_stand_for_the_whole_window(length_s: int, routers: int) -> None:
    window = Window(T0 // 10 * 10, T0 // 10 * 10 + length_s, 10)
    chosen, one_in = sampled_buckets(window, routers)
    assert chosen is not None and one_in > 1
    place = (chosen - window.from_s) // 10
    assert (place // one_in == np.arange(len(place))).all() and chosen[-1] < window.to_s
    assert len(chosen) * routers <= SAMPLED_PORT_ROWS + routers
    # Stalls that come and go, with a period that a fixed stride would meet again and again, and that grow over the window.
    at = np.arange(length_s // 10)
    flits = 1e6 * (2 + np.sin(2 * np.pi * at / one_in))
    stalls = flits * (1 + at / len(at)) * np.where(at % one_in < one_in / 2, 3.0, 1.0)
    estimate = stalls[place].sum() / flits[place].sum()
    assert estimate == pytest.approx(stalls.sum() / flits.sum(), rel=0.25 if len(place) < 20 else 0.1)


def test_a_short_window_is_read_whole() -> None:
    assert sampled_buckets(Window(0, 3600, 10), 100) == (None, 1)


def test_costs_are_bounded_and_named(api: Served) -> None:
    assert "window" in api.refused("/fabrics/small/stalls", 422, window="367d")["detail"]
    many = ",".join(COUNTERS[:21])
    assert "MAX_COUNTERS" in api.refused("/fabrics/small/timeseries", 413, routers="1", counters=many)["detail"]


@pytest.mark.system("processes")
def test_the_path_before_1_0_answers_the_same_and_is_deprecated(api: Served) -> None:
    at = {"at": T0 + 180, "window": "60s"}
    paths = create_app(Settings(web=None)).openapi()["paths"]
    for path in ("", "/links"):
        assert api.get(f"/fabrics/small/congestion{path}", **at) == api.get(f"/fabrics/small/stalls{path}", **at)
        assert paths[f"/api/v1/fabrics/{{fabric}}/congestion{path}"]["get"]["deprecated"]
        assert "deprecated" not in paths[f"/api/v1/fabrics/{{fabric}}/stalls{path}"]["get"]
