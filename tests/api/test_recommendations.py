"""Recommendations through the API: heads, evidence, parts, refusals, names of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.conftest import Served, operating, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.recommendations import Recommendation, as_json, save

DETAIL = {
    "why": [{"text": "busiest link", "value": 2.5, "unit": "MB"}],
    "before": {"time_s": 0.006, "max_load_bytes": 4e6, "congested_links": 12, "label": "ftree"},
    "after": {"time_s": 0.002, "max_load_bytes": 1e6, "congested_links": 0, "label": "optimised"},
    "alternatives": [{"label": "adaptive", "time_s": None}],
    "reconstruction": None,
    "routes": None,
    "parameters": {"pattern": "shift"},
}
GAIN = {"factor": 3.0, "low": None, "high": None, "level": 0.9, "runs": 1, "basis": "one simulated pair"}
MATRIX = {"by": "group", "labels": ["0", "1"], "true": [[0, 1], [2, 0]], "reconstructed": [[0, 1.5], [2, 0]], "difference": [[0, 0.5], [0, 0]]}  # fmt: skip
ROUTES = Recommendation(
    "routes", "recommended", "Routes for tree", "3 times as fast", DETAIL, True, GAIN, fabric="tree", task_id=7,
    parts={"lfts": b"Unicast lids\n", "matrix_router": as_json({**MATRIX, "by": "router"}), "matrix_group": as_json(MATRIX)},
)  # fmt: skip
MODE = Recommendation(
    "routing_mode", "refused", "Mode of job 42", "too few samples", {**DETAIL, "before": None, "after": None}, False, job_id="42",
    user="ann", application="milc",
)  # fmt: skip


@pytest.fixture
def served(embedded_db: str) -> Iterator[tuple[Served, list[int]]]:
    with connect(embedded_db, role="writer") as conn:
        numbers = [save(conn, ROUTES), save(conn, MODE)]
    with serving(Settings(db=embedded_db, web=None)) as made:
        made.http.headers.update(operating(embedded_db))
        yield made, numbers


def test_heads_are_listed_filtered_and_paged(served: tuple[Served, list[int]]) -> None:
    api, (routes, mode) = served
    listed = api.get("/recommendations")["items"]
    assert [row["recommendation_id"] for row in listed] == [mode, routes]
    assert listed[0]["gain"] is None and listed[0]["user"].startswith("user-") and listed[0]["has_lfts"] is False
    assert listed[1]["gain"]["factor"] == 3 and listed[1]["has_matrix"] and not listed[1]["has_links"]
    for filters, expected in (
        ({"kind": "routes"}, [routes]), ({"state": "refused"}, [mode]), ({"job": "42"}, [mode]), ({"fabric": "tree"}, [routes]), ({"fabric": "x"}, []),
    ):  # fmt: skip
        found = api.get("/recommendations", **filters)["items"]
        assert [row["recommendation_id"] for row in found] == expected
    page = api.get("/recommendations", limit=1)
    following = api.get("/recommendations", limit=1, cursor=page["next_cursor"])
    assert following["items"][0]["recommendation_id"] == routes and following["next_cursor"] is None
    api.refused("/recommendations", 422, kind="coffee")


def test_evidence_and_parts(served: tuple[Served, list[int]]) -> None:
    api, (routes, mode) = served
    shown = api.get(f"/recommendations/{routes}")
    assert shown["after"]["time_s"] == 0.002 and shown["why"][0]["unit"] == "MB" and shown["task_id"] == 7
    dump = api.http.get(f"/api/v1/recommendations/{routes}/lfts")
    assert dump.text == "Unicast lids\n" and "attachment" in dump.headers["content-disposition"]
    assert api.get(f"/recommendations/{routes}/matrix", by="group")["difference"] == [[0, 0.5], [0, 0]]
    only = api.get(f"/recommendations/{routes}/matrix", of="reconstructed")
    assert only["true"] is None and only["reconstructed"][0][1] == 1.5 and only["by"] == "router"
    api.refused(f"/recommendations/{routes}/links", 404)
    api.refused(f"/recommendations/{mode}/lfts", 404)
    api.refused(f"/recommendations/{mode + 1}", 404)


def test_a_repeated_task_replaces_its_row(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        first, second = save(conn, ROUTES), save(conn, replace(ROUTES, title="again"))
        rows = conn.execute("SELECT recommendation_id, title FROM recommendation").fetchall()
        parts = conn.execute("SELECT DISTINCT recommendation_id FROM recommendation_part").fetchall()
    assert rows == [(second, "again")] and parts == [(second,)] and second != first
