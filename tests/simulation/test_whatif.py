"""`sim.whatif`, the replay of a past moment: neighbouring jobs, the moved job, and requests that do not fit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.jobs.traffic import held_endpoints, injected_flits_per_s
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput, BadRequest, Cancelled, NotFound
from flitwatch_domain.generators import build_dragonfly, build_torus
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_domain.task_models.machines import AS_IT_WAS
from flitwatch_domain.task_models.simulations import WhatIf
from flitwatch_simulation.tasks import HANDLERS
from flitwatch_simulation.whatif import Simulated, _lost_elsewhere, _summarise_result, simulate_whatif

AT = int(time.time()) // 60 * 60
FLITS_PER_S = 3e7


class Context:
    """What a worker gives to a handler, kept in memory."""

    def __init__(self, dsn: str, stop_after: int = 10**9) -> None:
        self.executor = "local:1"
        self.dsn, self.reports, self._stop_after = dsn, [], stop_after

    def report(self, done: int, total: int, message: str) -> None:
        self.reports.append((done, total, message))

    def cancelled(self) -> bool:
        return len(self.reports) > self._stop_after

    def check(self) -> None:
        if self.cancelled():
            raise Cancelled("stop")


FABRICS = {
    "dragonfly": build_dragonfly(3, 2, 4, endpoints_per_router=2, blue_routers=2, blue_cables=1, black_cables=1),
    "torus": build_torus([4, 3, 2], endpoints_per_router=2),
}


@pytest.fixture(params=["dragonfly"])
def conn(embedded_db: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    """A moment of a fabric with 24 routers and 48 nodes, and its jobs."""
    with connect(embedded_db, role="writer") as conn:
        fabric = replace(FABRICS[request.param], name="past", simulated=True)
        fabric_id = fabrics.save_fabric(conn, fabric)
        names = fabric.endpoints.node
        held = {"1": range(8), "2": range(8, 24), "3": range(24, 25)}
        made = [
            Job(
                "past",
                job_id,
                "RUNNING",
                start_s=AT - 600.0,
                end_s=None,
                nodes=len(nodes),
                node_list=",".join(names[i] for i in nodes),
                simulated=True,
            )
            for job_id, nodes in held.items()
        ]
        over = Job(
            "past",
            "9",
            "COMPLETED",
            start_s=AT - 900.0,
            end_s=AT - 300.0,
            nodes=2,
            node_list=",".join(names[30:32]),
            simulated=True,
        )
        jobs.upsert_jobs(conn, [*made, over], fabric_id)
        routers = np.arange(12, dtype=np.int32)  # of the 24 routers half are counted
        second = np.repeat(np.arange(AT - 60, AT), 12)
        values = np.full((60 * 12, len(ROUTER_COLUMNS)), 1.0)
        values[:, ROUTER_COLUMNS.index("pt_flits")] = FLITS_PER_S
        rows = counters.Rows(
            np.full(720, fabric_id, np.int32),
            np.tile(routers, 60),
            second,
            np.ones(720, np.int32),
            np.full(720, 48.0),
            values,
        )
        counters.write_batch(conn, counters.Batch(routers=rows))
        conn.commit()
        yield conn


ASKED = {
    "fabric": "past",
    "at_s": AT,
    "job": "1",
    "window_s": 60,
    "bytes": 4000,
    "seeds": 2,
    "placements": [AS_IT_WAS, "random-group"],
}


def test_the_moment_is_read_as_it_was(conn: psycopg.Connection[Any]) -> None:
    """Jobs that ran then with their endpoints, rates where they are counted, nothing where not."""
    fabric_id = fabrics.get_fabric_row(conn, "past").fabric_id
    assert {one.job_id: one.endpoints.tolist() for one in held_endpoints(conn, fabric_id, AT)} == {
        "1": list(range(8)),
        "2": list(range(8, 24)),
        "3": [24],
    }
    rates = injected_flits_per_s(conn, fabric_id, 24, AT - 60, AT)
    assert np.allclose(rates[:12], FLITS_PER_S) and np.isnan(rates[12:]).all()
    assert np.isnan(injected_flits_per_s(conn, fabric_id, 24, AT - 9000, AT - 8000)).all()


def test_every_variant_is_run_alongside_the_measured_load(conn: psycopg.Connection[Any], embedded_db: str) -> None:
    """Two placements by two routings, a figure a seed; the neighbours' load is what the counters say; the same seed gives the same answer."""
    context = Context(embedded_db)
    result = simulate_whatif(ASKED, context)
    assert [one["label"] for one in result["variants"]] == [
        f"{placement}, {routing}" for placement in (AS_IT_WAS, "random-group") for routing in ("adaptive0", "adaptive3")
    ]
    assert all(len(one["time_s"]) == 2 and min(one["time_s"]) > 0 for one in result["variants"])
    # Job 2 stands on routers 4 to 11, all counted, two nodes per router: eight routers' flits at 20/3 bytes.
    assert result["beside"]["jobs"] == 2 and result["beside"]["counted"] == 1
    assert result["beside"]["gib_per_s"] == pytest.approx(8 * FLITS_PER_S * 20 / 3 / 2**30)
    assert len(result["routers"]["stalls_best"]) == 24
    assert context.reports[-1][:2] == (8, 8)
    assert simulate_whatif(ASKED, Context(embedded_db))["variants"] == result["variants"]


@pytest.mark.parametrize("conn", ["torus"], indirect=True)
def test_a_job_on_a_torus_is_placed_and_routed_otherwise(conn: psycopg.Connection[Any], embedded_db: str) -> None:
    asked = {**ASKED, "placements": [AS_IT_WAS, "random-node"], "routings": ["dor", "valiant"]}
    result = simulate_whatif(asked, Context(embedded_db))
    times = {one["label"]: one["time_s"] for one in result["variants"]}
    assert set(times) == {f"{where}, {how}" for where in (AS_IT_WAS, "random-node") for how in ("dor", "valiant")}
    # Eight nodes on four neighbouring routers: nothing is nearer.
    assert max(times[f"{AS_IT_WAS}, dor"]) < min(min(seconds) for label, seconds in times.items() if "random" in label)
    with pytest.raises(BadRequest, match="Use dor, valiant"):
        simulate_whatif({**asked, "routings": ["adaptive0"]}, Context(embedded_db))


def test_a_load_alongside_slows_the_job(conn: psycopg.Connection[Any], embedded_db: str) -> None:
    """The same moment before the counters began has no load; with it packets wait longer."""
    one = {**ASKED, "placements": [AS_IT_WAS], "routings": ["minimal"], "seeds": 1, "bytes": 200_000}
    loaded = simulate_whatif(one, Context(embedded_db))["variants"][0]["mean_latency_ns"][0]
    alone = simulate_whatif({**one, "at_s": AT - 200}, Context(embedded_db))
    assert alone["beside"]["gib_per_s"] == 0
    assert alone["variants"][0]["mean_latency_ns"][0] < loaded


def test_what_the_job_lost_then_is_read_and_said_in_one_sentence(
    conn: psycopg.Connection[Any], embedded_db: str
) -> None:
    for number in range(4):
        run = Run(
            run_key=f"earlier-{number}", exe="app", start_s=AT - 90_000.0 + 1000 * number, ranks=(0,), simulated=True
        )
        steps = [RunStep(n, np.array([10_000_000_000 + number], np.int64)) for n in range(40)]
        runs.upsert_steps(conn, runs.upsert_run(conn, run), steps)
    taken = [10.0] * 30 + [15.0] * 10
    own = runs.upsert_run(
        conn, Run(run_key="own", exe="app", job_id="1", start_s=AT - sum(taken), ranks=(0,), simulated=True)
    )
    runs.upsert_steps(conn, own, [RunStep(n, np.array([round(one * 1e9)], np.int64)) for n, one in enumerate(taken)])
    conn.commit()
    result = simulate_whatif(ASKED, Context(embedded_db))
    assert result["lost_s"] == pytest.approx(50, abs=1) and len(result["alone_s"]) == 2
    # Long before it was slow nothing was lost.
    early = simulate_whatif({**ASKED, "at_s": AT - 400}, Context(embedded_db))
    assert early["lost_s"] is None and early["answer"] == "The job was not slow at that moment, so nothing was lost."
    assert all(one["lost"] is None for one in early["variants"])


def simulated(*times_s: float) -> list[Simulated]:
    return [Simulated(one, None, np.zeros(0)) for one in times_s]


def test_what_is_lost_elsewhere_is_scaled_by_how_much_longer_than_alone_it_takes() -> None:
    asked = WhatIf.of({**ASKED, "routings": ["adaptive0"], "seeds": 3})
    chosen = [(AS_IT_WAS, "adaptive0"), ("random-group", "adaptive0")]
    there, here = _lost_elsewhere(asked, chosen, [simulated(3, 3, 3), simulated(1.2, 1.2, 1.4)], [1, 1, 1], 100.0)
    assert there is not None and here is not None
    assert (there["median_s"], here["median_s"]) == pytest.approx((100, 10))
    assert here["low_s"] == pytest.approx(10) and 15 < here["high_s"] <= 20
    variants: list[Any] = [{"placement": placement, "routing": routing, "lost": lost} for (placement, routing), lost in zip(chosen, (there, here), strict=True)]  # fmt: skip
    assert _summarise_result(variants, 100.0) == (
        "Placed by random-group, with routing adaptive0, it would have lost 10 s instead of 1 min 40 s (90 %: 10 s to 19 s)."
    )
    assert (
        _summarise_result(variants[:1], 100.0)
        == "None of the simulated placements and routings would have lost less than the 1 min 40 s that it lost."
    )
    # Where the others hardly slow it, or its own place was not asked about, nobody can tell.
    assert _lost_elsewhere(asked, chosen, [simulated(1.01, 1.02, 1), simulated(1, 1, 1)], [1, 1, 1], 100.0) == [
        None,
        None,
    ]
    assert _lost_elsewhere(asked, chosen[1:], [simulated(1, 1, 1)], [1, 1, 1], 100.0) == [None]
    assert _summarise_result([{**variants[0], "lost": None}], 100.0).startswith(
        "The other jobs hardly slow it in the simulation"
    )


def test_it_stops_when_asked_to(conn: psycopg.Connection[Any], embedded_db: str) -> None:
    with pytest.raises(Cancelled):
        simulate_whatif(ASKED, Context(embedded_db, stop_after=2))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"job": "77"}, NotFound),
        ({"job": "9"}, NotFound),
        ({"fabric": "nowhere"}, NotFound),
        ({"job": "3"}, BadRequest),
        ({"routings": ["ftree"]}, BadRequest),
    ],
)
def test_what_was_not_there_is_said(conn: psycopg.Connection[Any], embedded_db: str, change: dict, error: type) -> None:
    with pytest.raises(error):
        simulate_whatif({**ASKED, **change}, Context(embedded_db))


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": 0},
        {"bytes": True},
        {"seeds": 21},
        {"placements": ["best"]},
        {"placements": "random-node"},
        {"pattern": "/etc/passwd"},
        {"at_s": "now"},
        {"window_s": 1e9},
        {"placements": [], "seeds": 1},
        {"seeds": 20, "placements": ["random-node"] * 9},
        {"path": "x"},
        {"routings": [1]},
    ],
)
def test_arguments_that_do_not_fit_are_refused(change: dict) -> None:
    with pytest.raises(BadInput):
        WhatIf.of({**ASKED, **change})


def _advised(conn: psycopg.Connection[Any], dsn: str, check: dict | None) -> tuple[Any, ...]:
    def seen(latency_us: float) -> list[dict[str, Any]]:
        counts = {"request_flits": 30_000, "request_packets": 10_000, "stalled_cycles": 10_000}
        return [{"allocation": ["n1"], "interval_s": 1.0, "cumulative_latency_us": latency_us, **counts}] * 4

    args = {"application": "milc", "fabric": "past", "job": "1", "check": check}
    args["observations"] = {"ADAPTIVE_0": seen(3e4), "ADAPTIVE_3": seen(2e4)}
    context = Context(dsn)
    context.task_id = 5  # type: ignore[attr-defined]
    HANDLERS["routing.advice"](args, context)
    conn.rollback()  # a new snapshot
    row = conn.execute(
        "SELECT state, reason, gain FROM recommendation WHERE kind = 'placement' ORDER BY recommendation_id DESC"
    ).fetchone()
    assert row is not None
    return row


def test_a_placement_is_recommended_after_a_simulation_alone(conn: psycopg.Connection[Any], embedded_db: str) -> None:
    state, reason, gain = _advised(conn, embedded_db, None)
    assert state == "refused" and gain is None and "no simulation" in reason
    state, reason, gain = _advised(conn, embedded_db, {"at_s": AT, "window_s": 60, "bytes": 4000, "seeds": 3})
    assert gain["runs"] == 3 and gain["low"] <= gain["factor"] <= gain["high"]
    assert (state == "recommended") == (gain["low"] > 1)
    for wrong in ({"at_s": AT, "placements": ["contiguous"]}, {"at_s": AT, "seeds": 1}, {}, "yes"):
        with pytest.raises(BadInput):
            _advised(conn, embedded_db, wrong)  # type: ignore[arg-type]
