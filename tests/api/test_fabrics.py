"""Fabrics as they were stored; entity tags; addresses by name and number."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from api.conftest import Served
from api.world import SECONDS, T0, THROUGH, World


def test_the_list_says_how_far_data_reach(api: Served, world: World) -> None:
    items = {item["name"]: item for item in api.get("/fabrics")["items"]}
    assert set(items) == {"small", "still", "tree"}
    small = items["small"]
    assert (small["routers"], small["endpoints"], small["links"], small["groups"]) == (32, 64, 280, [0, 1, 2, 3])
    assert datetime.fromisoformat(small["first_ts"]).timestamp() == T0
    assert datetime.fromisoformat(small["last_ts"]).timestamp() == T0 + SECONDS
    assert datetime.fromisoformat(small["complete_through"]).timestamp() == THROUGH
    assert items["still"]["snapshot"] and items["still"]["last_ts"] is None


def test_a_fabric_is_found_by_number_and_by_name(api: Served, world: World) -> None:
    assert api.get(f"/fabrics/{world.small_id}") == api.get("/fabrics/small")
    problem = api.refused("/fabrics/nowhere", 404)
    assert "small" in problem["advice"]


def test_routers_are_those_of_the_model(api: Served, world: World) -> None:
    got = api.get("/fabrics/small/routers")
    assert got["name"] == list(world.small.routers.name)
    assert got["group"] == world.small.routers.group.tolist()
    assert got["nodes"] == [2] * 32
    assert got["sampled"] == [True] * 30 + [False] * 2
    assert api.get("/fabrics/still/routers")["sampled"] == [True] * 16 + [False] * 16


def test_links_lead_between_routers_unless_terminals_are_asked_for(api: Served, world: World) -> None:
    links, size = world.small.links, 32
    mask = world.small.router_links()
    got = api.get("/fabrics/small/links")
    assert got["link"] == np.flatnonzero(mask).tolist()
    assert got["src"] == links.src[mask].tolist() and got["dst_port"] == links.dst_port[mask].tolist()
    blue = api.get("/fabrics/small/links", **{"class": "blue", "group": 2})
    group = world.small.routers.group
    want = mask & world.small.of_class("blue") & ((group[links.src % size] == 2) | (group[links.dst % size] == 2))
    assert blue["link"] == np.flatnonzero(want).tolist() and set(blue["class"]) == {"blue"}
    all_links = api.get("/fabrics/small/links", terminals="true")
    assert len(all_links["link"]) == len(links)
    terminal = all_links["class"].index("terminal")
    ends = {all_links["src_endpoint"][terminal], all_links["dst_endpoint"][terminal]}
    assert None in ends and len(ends) == 2


def test_an_unknown_class_or_group_says_what_there_is(api: Served) -> None:
    assert "blue" in api.refused("/fabrics/small/links", 400, **{"class": "red"})["advice"]
    assert "0, 1, 2, 3" in api.refused("/fabrics/small/links", 404, group=9)["advice"]


def test_endpoints(api: Served, world: World) -> None:
    got = api.get("/fabrics/small/endpoints")
    assert got["node"] == list(world.small.endpoints.node)
    assert got["router"] == world.small.endpoints.router.tolist()


def test_a_copy_that_is_current_is_not_sent_again(api: Served) -> None:
    for what in ("routers", "links", "endpoints"):
        first = api.http.get(f"/api/v1/fabrics/small/{what}")
        tag = first.headers["etag"]
        again = api.http.get(f"/api/v1/fabrics/small/{what}", headers={"If-None-Match": f'"other", {tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        other = api.http.get(f"/api/v1/fabrics/small/{what}", headers={"If-None-Match": '"other"'})
        assert other.status_code == 200 and other.content == first.content


def test_big_answers_are_compressed_on_request(api: Served) -> None:
    plain = api.http.get("/api/v1/fabrics/small/links", headers={"Accept-Encoding": "identity"})
    packed = api.http.get("/api/v1/fabrics/small/links", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
    assert packed.json() == plain.json()


def test_a_router_has_its_tiles_with_their_sums(api: Served, world: World) -> None:
    at = T0 + 110
    got = api.get("/fabrics/small/routers/6", at=at, window="60s")
    assert got["name"] == world.small.routers.name[6] and len(got["nodes"]) == 2
    start = (T0 + 50 - T0 // 10 * 10) // 10
    flits, stalls = (
        world.port_flits[start : start + 6, 6].sum(axis=0),
        world.port_stalls[start : start + 6, 6].sum(axis=0),
    )
    assert len(got["tiles"]) == 48
    table = world.small.counted_links()[6]
    for tile in got["tiles"]:
        port = tile["port"]
        assert tile["name"] == f"{port // 8}_{port % 8}"
        if table[port] < 0:
            assert (tile["link"], tile["class"], tile["peer"], tile["flits"]) == (None, None, None, None)
        else:
            assert tile["link"] == table[port]
            assert (tile["flits"], tile["stall_cycles"]) == (flits[port], stalls[port])
            assert np.isclose(tile["ratio"], stalls[port] / flits[port], rtol=1e-4)
            src = world.small.links.src[table[port]]
            assert (
                (tile["peer"]["router"] == src)
                if src < 32
                else (tile["peer"]["node"] == world.small.endpoints.node[src - 32])
            )


def test_a_router_names_the_jobs_on_it(api: Served, world: World) -> None:
    at_100 = api.get("/fabrics/small/routers/3", at=T0 + 99)["jobs"]
    assert {job["job_id"] for job in at_100} == {"100", "101"}
    assert {job["job_id"] for job in api.get("/fabrics/small/routers/3", at=T0 + 20)["jobs"]} == {"100"}
    assert "0 to 31" in api.refused("/fabrics/small/routers/32", 404)["advice"]


def test_a_switch_shows_its_cabled_ports(api: Served, world: World) -> None:
    got = api.get("/fabrics/tree/routers/0", at=T0 + 110)
    assert [tile["port"] for tile in got["tiles"]] == np.flatnonzero(world.tree.counted_links()[0] >= 0).tolist()
