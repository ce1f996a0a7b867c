"""Measured and simulated noise, over a separate database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from api.conftest import Served, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.runs import noise_bench
from flitwatch_db.tasks import start_task
from flitwatch_domain.task_models.simulations import CollectiveOptions
from flitwatch_research import routings, topologies
from flitwatch_research.collectives import run_collective
from flitwatch_research.studies import registry

MEASURED = {
    "network": "lab",
    "collective": "allreduce",
    "collective_bytes": 8,
    "perturbation_bytes": 65536,
    "world": 16,
    "ranks": 8,
    "perturbing": 8,
    "ratio": 0.5,
    "split": 0,
    "seed": 1,
    "late": 1,
    "perturbed_s": [4e-5, 2e-5],
    "quiet_s": [1e-5],
}


def succeeded(conn: psycopg.Connection[Any], name: str, result: dict[str, Any]) -> None:
    """A task that a worker has ended with this result."""
    conn.execute(
        "UPDATE task SET state = 'succeeded', result = %s, finished_at = now() WHERE task_id = %s",
        [Jsonb(result), start_task(conn, name, {})],
    )


def _collective() -> dict[str, Any]:
    torus = topologies.parse_topology("torus:4,4")
    return run_collective(CollectiveOptions(runs=20, ratio=0.5), torus, routings.routes_of(torus))


@pytest.fixture
def served(embedded_db: str) -> Iterator[tuple[Served, psycopg.Connection[Any]]]:
    with connect(embedded_db, autocommit=True) as conn, serving(Settings(db=embedded_db, web=None)) as api:
        yield api, conn


def test_measurements_come_out_by_ratio(served: tuple[Served, psycopg.Connection[Any]]) -> None:
    api, conn = served
    assert api.get("/noise/measured") == {"items": [], "fits": []}
    never = MEASURED | {"split": 2, "ratio": 0.9, "perturbed_s": []}
    noise_bench.insert_measurements(conn, "a.jsonl", [MEASURED, MEASURED | {"split": 1, "quiet_s": [3e-5]}, never])
    half, most = api.get("/noise/measured")["items"]
    assert (half["network"], half["ratio"], half["splits"], half["late"]) == ("lab", 0.5, 2, 2)
    assert half["slowdown"] == pytest.approx(2.0) and half["slowdown_quartiles"] == pytest.approx([1.5, 2.0, 2.5])
    assert (half["slowdown_min"], half["slowdown_max"]) == pytest.approx((1.0, 3.0))
    assert (most["slowdown"] is None and most["slowdown_quartiles"] == [None] * 3) or most["slowdown_quartiles"] is None
    assert api.get("/noise/measured", network="elsewhere") == {"items": [], "fits": []}
    assert half["perturbed_box"]["measurements"] == 4 and half["quiet_box"]["measurements"] == 2
    assert [half["perturbed_box"][k] for k in ("least", "median", "most")] == pytest.approx([2e-5, 3e-5, 4e-5])
    assert most["perturbed_box"] is None and most["quiet_box"]["median"] == pytest.approx(1e-5)
    assert len(api.get("/noise/measured", collective="allreduce", limit=1)["items"]) == 1


def test_a_planted_line_is_fitted_and_noise_has_an_interval(served: tuple[Served, psycopg.Connection[Any]]) -> None:
    api, conn = served
    planted = [
        MEASURED
        | {"ratio": ratio, "split": split, "perturbing": k, "perturbed_s": [(1 + 2 * ratio) * 1e-5], "quiet_s": [1e-5]}
        for k, ratio in enumerate((0.25, 0.5, 0.75))
        for split in range(2)
    ]
    noisy = [
        one | {"network": "noisy", "perturbed_s": [s * one["perturbed_s"][0]]}
        for one, s in zip(planted, (1.1, 0.9, 1.2, 0.8, 0.95, 1.05), strict=True)
    ]
    noise_bench.insert_measurements(conn, "a.jsonl", [*planted, *noisy, MEASURED | {"network": "one ratio"}])
    exact, wide = api.get("/noise/measured")["fits"]
    assert (exact["network"], exact["splits"], wide["network"]) == ("lab", 6, "noisy")
    assert exact["slope"] == pytest.approx(2) and exact["intercept"] == pytest.approx(1)
    assert exact["slope_ci95"] == pytest.approx([2, 2]) and len(exact["band"]) == 3
    assert wide["slope_ci95"][0] < 2 < wide["slope_ci95"][1]
    for at in wide["band"]:
        assert at["low"] < 1 + 2 * at["ratio"] < at["high"]


def test_simulated_points_of_studies_and_collectives(served: tuple[Served, psycopg.Connection[Any]]) -> None:
    api, conn = served
    assert api.get("/noise/simulated") == {"items": []}
    succeeded(conn, "sim.collective", _collective())
    parameters = {"runs": 5, "k_2d": [4], "k_3d": [3]}
    succeeded(conn, "sim.study", registry.find_study("fig16").run(parameters, lambda *_: None, lambda: False))
    succeeded(conn, "sim.study", registry.find_study("table1").run({}, lambda *_: None, lambda: False))
    items = api.get("/noise/simulated")["items"]
    assert [(p["study"], p["topology"], p["semantics"]) for p in items] == [
        ("hoefler-fig16", "torus:4,4", "orcs"),
        ("hoefler-fig16", "torus:4,4", "longest-path"),
        ("hoefler-fig16", "torus:3,3,3", "orcs"),
        ("hoefler-fig16", "torus:3,3,3", "longest-path"),
        (None, "torus:4,4", "longest-path"),
    ]
    for point in items:
        assert point["ci95"][0] <= point["slowdown"] <= point["ci95"][1] and point["ratio"] == 0.5
    assert {p["task_id"] for p in api.get("/noise/simulated", tasks=1)["items"]} == {items[0]["task_id"]}
    api.refused("/noise/simulated", 422, tasks=0)
