"""Jobs, runs and their places on a fabric."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from psycopg import AsyncConnection

from flitwatch_db import async_pool, connect
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import as_of, traffic
from flitwatch_db.jobs import reads as reads_lost_ends
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import reads
from flitwatch_db.runs import store as runs
from flitwatch_domain import generators
from flitwatch_domain.errors import BadInput, Conflict, NotFound
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.jobs import Job, JobStep
from flitwatch_domain.runs import Run, RunStep

JOB = Job(
    cluster="theta",
    job_id="42",
    state="RUNNING",
    user="alice",
    name="amg",
    start_s=1_772_366_400.5,
    nodes=2,
    node_list="nid[00000-00001]",
    steps=(JobStep("batch", state="RUNNING"), JobStep("0", name="amg", start_s=1_772_366_401.0)),
    simulated=True,
)


@pytest.fixture(scope="module")
def theta() -> Fabric:
    return generators.build_theta()


def equal(a: object, b: object) -> bool:
    return all(
        list(a_values) == list(b_values)
        if a_values.dtype == object
        else np.array_equal(a_values, b_values, equal_nan=a_values.dtype.kind == "f")
        for a_values, b_values in (
            (getattr(a, name), getattr(b, name)) for name in vars(a) if name not in ("classes", "link_class")
        )
    )


@pytest.mark.parametrize(
    "make", [generators.build_theta, generators.build_quartz1, lambda: generators.build_torus((3, 4, 2))]
)
def test_a_fabric_comes_back_as_it_went(embedded_db: str, make) -> None:
    fabric = replace(make(), attributes={"cluster": "c1", "shape": [1, 2]}, warnings=("line 3: odd",), source="a file")
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        found = fabrics.load_fabric(conn, fabric.name)
        assert fabrics.get_fabric_row(conn, fabric_id).links == len(fabric.links)
    for part in ("routers", "endpoints", "links"):
        assert equal(getattr(fabric, part), getattr(found, part)), part
    assert found.links.class_names == fabric.links.class_names
    for name in ("name", "kind", "technology", "simulated", "counted_at", "source", "attributes", "warnings"):
        assert getattr(found, name) == getattr(fabric, name)


def test_a_fabric_is_replaced_only_on_request(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        first = fabrics.save_fabric(conn, generators.build_torus((2, 2, 2)))
        name = fabrics.get_fabric_row(conn, first).name
        with pytest.raises(Conflict, match="already exists"):
            fabrics.save_fabric(conn, generators.build_torus((2, 2, 2)))
        larger = replace(generators.build_torus((3, 3, 3)), name=name)
        assert fabrics.save_fabric(conn, larger, replace=True, snapshot=True) == first
        row = fabrics.get_fabric_row(conn, name)
        assert (row.routers, row.snapshot) == (27, True)
        with pytest.raises(NotFound, match="Known: "):
            fabrics.load_fabric(conn, "absent")
        assert [row.name for row in fabrics.list_all(conn)] == [name]


def test_a_job_finds_its_routers(embedded_db: str, theta: Fabric) -> None:
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, theta)
        job = replace(JOB, node_list=f"{theta.endpoints.node[0]},{theta.endpoints.node[5]},elsewhere")
        (job_pk,) = jobs.upsert_jobs(conn, [job])
        found = dict(conn.execute("SELECT node, router FROM job_node WHERE job_pk = %s", [job_pk]).fetchall())
        steps = conn.execute("SELECT step, state FROM job_step ORDER BY step").fetchall()
        assert conn.execute("SELECT DISTINCT fabric_id FROM job_node WHERE fabric_id IS NOT NULL").fetchall() == [
            (fabric_id,)
        ]
    assert found == {
        theta.endpoints.node[0]: theta.endpoints.router[0],
        theta.endpoints.node[5]: theta.endpoints.router[5],
        "elsewhere": None,
    }
    assert steps == [("0", None), ("batch", "RUNNING")]


def test_a_job_that_came_before_its_fabric_is_placed(embedded_db: str, theta: Fabric) -> None:
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(conn, [replace(JOB, node_list=str(theta.endpoints.node[9]))])
        assert conn.execute("SELECT router FROM job_node").fetchall() == [(None,)]
        fabrics.save_fabric(conn, theta)
        assert conn.execute("SELECT router FROM job_node").fetchall() == [(theta.endpoints.router[9],)]


def test_simulated_jobs_stay_on_simulated_fabrics(embedded_db: str, theta: Fabric) -> None:
    with connect(embedded_db, role="writer") as conn:
        measured = fabrics.save_fabric(conn, replace(theta, name="measured", simulated=False))
        planned = fabrics.save_fabric(conn, replace(theta, name="planned", simulated=True))
        node = str(theta.endpoints.node[3])
        pks = jobs.upsert_jobs(
            conn, [replace(JOB, node_list=node), replace(JOB, job_id="43", node_list=node, simulated=False)]
        )
        found = dict(conn.execute("SELECT job_pk, fabric_id FROM job_node").fetchall())
    assert found == {pks[0]: planned, pks[1]: measured}


def test_a_later_record_of_a_job_replaces_the_earlier(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        first = jobs.upsert_jobs(conn, [JOB, replace(JOB, restart=1, state="PENDING", node_list=None)])
        done = replace(
            JOB,
            state="COMPLETED",
            exit_code="0:0",
            end_s=1_772_370_000.0,
            name="nul\0 \ud800"[:4],
            node_list="nid00001",
        )
        again = jobs.upsert_jobs(conn, [replace(JOB, state="COMPLETING"), done])
        assert again == first[:1]
        found = conn.execute(
            "SELECT state, exit_code, name, extract(epoch FROM end_ts)::float8 FROM job WHERE restart = 0"
        ).fetchone()
        assert found == ("COMPLETED", "0:0", "nul\N{SYMBOL FOR NULL}", 1_772_370_000.0)
        assert conn.execute("SELECT node FROM job_node WHERE job_pk = %s", [first[0]]).fetchall() == [("nid00001",)]
        assert conn.execute("SELECT count(*) FROM job_step").fetchone() == (4,)


def test_a_run_that_came_before_its_job_is_of_it(embedded_db: str, theta: Fabric) -> None:
    """Instrumentation and accounting come by ways of their own; a job of an earlier round of numbers, or of another kind, gets nothing."""
    node = str(theta.endpoints.node[3])
    run = Run("early", "amg", "42", 1_772_366_410.0, (0,), (node,), simulated=True)
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, theta)
        early = runs.upsert_run(conn, run)
        other = jobs.upsert_jobs(
            conn,
            [
                replace(JOB, cluster="before", start_s=1_700_000_000.0, end_s=1_700_000_100.0, node_list=node),
                replace(JOB, cluster="after", start_s=1_790_000_000.0, node_list=node),
                replace(JOB, cluster="measured", simulated=False, node_list=node),
                replace(JOB, cluster="waits", start_s=None, state="PENDING", node_list=None),
            ],
        )
        assert len(other) == 4 and conn.execute("SELECT job_pk FROM run").fetchall() == [(None,)]
        # Of a requeued job, the incarnation that had begun, though the next one begins within what clocks differ.
        ended = replace(JOB, start_s=run.start_s - 9, end_s=run.start_s + 20, node_list=node)
        own = jobs.upsert_jobs(conn, [replace(JOB, restart=1, start_s=run.start_s + 30, node_list=node), ended])[1:]
        assert conn.execute("SELECT run_id, job_pk FROM run").fetchall() == [(early, own[0])]
        assert conn.execute("SELECT endpoint FROM run_rank").fetchall() == [(3,)]


def test_a_run_belongs_to_the_job_on_its_nodes_if_two_clusters_share_an_id(embedded_db: str) -> None:
    """Whichever arrives first; a run whose nodes are unknown belongs to neither."""
    here, there = (replace(JOB, cluster=name, node_list=name + "1") for name in ("here", "there"))
    run = Run("first", "amg", "42", 1_772_366_410.0, (0,), ("there1.site",), simulated=True)

    def owners(conn: Any) -> dict[str, int | None]:
        return dict(conn.execute("SELECT run_key, job_pk FROM run").fetchall())

    with connect(embedded_db, role="writer") as conn:
        runs.upsert_run(conn, run)
        (wrong,) = jobs.upsert_jobs(conn, [here])
        # No other job of this number is known yet.
        assert owners(conn) == {"first": wrong}
        (own,) = jobs.upsert_jobs(conn, [there])
        assert owners(conn) == {"first": own}
        jobs.upsert_jobs(conn, [here])
        runs.upsert_run(conn, replace(run, run_key="second"))
        runs.upsert_run(conn, replace(run, run_key="third", nodes=("here1",)))
        runs.upsert_run(conn, replace(run, run_key="nowhere", nodes=()))
        jobs.upsert_jobs(conn, [here, there])
        assert owners(conn) == {"first": own, "second": own, "third": wrong, "nowhere": None}


def test_a_run_stays_with_its_job_if_a_job_of_another_cluster_has_equal_nodes(embedded_db: str) -> None:
    here, there = (replace(JOB, cluster=name, node_list="n1") for name in ("here", "there"))
    run = Run("first", "amg", "42", 1_772_366_410.0, (0,), ("n1",), simulated=True)
    with connect(embedded_db, role="writer") as conn:
        runs.upsert_run(conn, run)
        (own,) = jobs.upsert_jobs(conn, [here])
        for job in (there, here, there, here):
            jobs.upsert_jobs(conn, [job])
            assert conn.execute("SELECT job_pk FROM run").fetchall() == [(own,)]


def test_a_run_whose_clock_is_early_belongs_to_the_job_on_its_nodes(embedded_db: str) -> None:
    run = Run("first", "amg", "42", 1_772_366_410.0, (0,), ("here1",), simulated=True)
    here = replace(JOB, cluster="here", node_list="here1", start_s=run.start_s + 5)
    there = replace(JOB, cluster="there", node_list="there1", start_s=run.start_s - 9e4)
    with connect(embedded_db, role="writer") as conn:
        own, _ = jobs.upsert_jobs(conn, [here, there])
        runs.upsert_run(conn, run)
        for job in (there, here, there):
            assert conn.execute("SELECT job_pk FROM run").fetchall() == [(own,)]
            jobs.upsert_jobs(conn, [job])


def test_an_incarnation_under_another_number_is_moved_and_nothing_is_lost(embedded_db: str) -> None:
    one, two, three = (
        replace(JOB, restart=n, submit_s=9e8 + n, start_s=9e8 + 10 + n, name=f"run {n}") for n in range(3)
    )
    with connect(embedded_db, role="writer") as conn:
        before = jobs.upsert_jobs(conn, [one, two, three])
        for order in ((1, 0, 2), (2, 0, 1), (0, 1, 2), (5, 1, 0)):
            again = [replace(job, restart=n) for job, n in zip((one, two, three), order, strict=True)]
            assert jobs.upsert_jobs(conn, again) == before
        # Only one of them is seen again, under a number that another one holds.
        assert jobs.upsert_jobs(conn, [replace(two, restart=5)]) == [before[1]]
        found = conn.execute(
            "SELECT job_pk, restart, name FROM job WHERE job_pk = ANY(%s) ORDER BY job_pk", [before]
        ).fetchall()
    assert found == [(before[0], 1, "run 0"), (before[1], 5, "run 1"), (before[2], 0, "run 2")]


def test_array_and_heterogeneous_jobs(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(
            conn, [replace(JOB, job_id="3_4"), replace(JOB, job_id="10+1"), replace(JOB, job_id="5_[1-9]")]
        )
        found = conn.execute("SELECT job_id, array_task, het_offset FROM job ORDER BY job_id").fetchall()
    assert found == [("10+1", None, 1), ("3_4", 4, None), ("5_[1-9]", None, None)]


def test_a_job_of_pbs_is_found_by_the_id_that_pbs_prints(embedded_db: str) -> None:
    now_s = JOB.start_s + 60
    with connect(embedded_db, role="writer") as conn:
        older = replace(JOB, cluster="srv", start_s=JOB.start_s - 100)
        jobs.upsert_jobs(conn, [replace(older, job_id="13"), replace(older, job_id="7_3"), replace(JOB, job_id="13")])
        found = {
            text: as_of.job_at(conn, text, None, now_s)
            for text in ("13.srv", "13.srv.example.org", "7[3].srv", "13", "13.other")
        }
        assert {text: (row["cluster"], row["job_id"]) for text, row in found.items()} == {
            "13.srv": ("srv", "13"),
            "13.srv.example.org": ("srv", "13"),
            "7[3].srv": ("srv", "7_3"),
            # Of several jobs the newest; who imported under a name of their own asks by number as well.
            "13": ("theta", "13"),
            "13.other": ("theta", "13"),
        }
        assert as_of.job_at(conn, "13.srv", "theta", now_s)["cluster"] == "theta"
        for unknown in ("14.srv", "7[4].srv", "7[].srv"):
            with pytest.raises(NotFound, match=re.escape(unknown)):
                as_of.job_at(conn, unknown, None, now_s)


def test_a_bad_host_list_names_the_job(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn, pytest.raises(BadInput, match="job 42 of theta"):
        jobs.upsert_jobs(conn, [replace(JOB, node_list="nid[0001-")])


def test_runs_and_steps(embedded_db: str, theta: Fabric) -> None:
    run = Run(
        "amg-1",
        "amg",
        job_id="42",
        start_s=1_772_366_402.0,
        ranks=(0, 1),
        nodes=(str(theta.endpoints.node[7]), None),
        counters=("AR_A", "AR_B"),
        simulated=True,
    )
    values = np.array([[1, 2**62], [3, 4]], dtype=np.int64)
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, theta)
        (job_pk,) = jobs.upsert_jobs(conn, [replace(JOB, node_list=str(theta.endpoints.node[7]))])
        assert runs.run_id_of(conn, "amg-1") is None
        run_id = runs.upsert_run(conn, run)
        assert runs.upsert_run(conn, run) == run_id == runs.run_id_of(conn, "amg-1")
        assert conn.execute("SELECT job_pk FROM run").fetchone() == (job_pk,)
        assert conn.execute("SELECT rank, endpoint FROM run_rank ORDER BY rank").fetchall() == [(0, 7), (1, None)]
        steps = [RunStep(0, np.array([5, 9])), RunStep(1, np.array([2_000_000_000, 1]), values)]
        assert runs.upsert_steps(conn, run_id, steps) == 2
        assert runs.upsert_steps(conn, run_id, steps[1:]) == 0
        found = conn.execute("SELECT step, time_s, rank_time_ns, counters FROM run_step ORDER BY step").fetchall()
    assert found == [(0, 9e-9, [5, 9], None), (1, 2.0, [2_000_000_000, 1], [1, 2**62, 3, 4])]


@pytest.mark.parametrize("new", [0, 5, 9])
async def test_a_step_that_comes_while_steps_are_read_moves_no_sum(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch, new: int
) -> None:
    def step(number: int) -> RunStep:
        return RunStep(number, np.array([5, 9]), np.full((2, 2), number, dtype=np.int64))

    with connect(embedded_db, role="writer", autocommit=True) as conn:
        run_id = runs.upsert_run(conn, Run("amg-2", "amg", ranks=(0, 1), nodes=(None, None), counters=("AR_A", "AR_B")))
        runs.upsert_steps(conn, run_id, [step(3), step(7)])
        columns = reads.fetch_columns

        async def then_another(*given: Any) -> Any:
            found = await columns(*given)
            runs.upsert_steps(conn, run_id, [step(new)])
            return found

        monkeypatch.setattr(reads, "fetch_columns", then_another)
        async with async_pool(embedded_db, role="reader") as pool, pool.connection() as reading:
            found = await reads.load_steps(reading, run_id, 2)
    assert found.step.tolist() == [3, 7]
    assert found.counters is not None and found.counters.tolist() == [[6, 6], [14, 14]]


def test_hosts_of_any_text_come_back_as_they_went(embedded_db: str) -> None:
    nodes = ['a"b', "c\\d", "null", "e{}f", "g;h", "\N{GREEK SMALL LETTER PI}"]
    with connect(embedded_db, role="writer") as conn:
        (job_pk,) = jobs.upsert_jobs(conn, [Job("c", "1", "RUNNING", node_list=",".join(nodes))])
        stored = conn.execute("SELECT node FROM job_node WHERE job_pk = %s", [job_pk]).fetchall()
    assert {node for (node,) in stored} == set(nodes)


# A job whose end nobody knows is not taken for one that still runs.


START_S = 1_772_366_400.0

NOW = datetime.fromtimestamp(START_S + 7200, UTC)

AFTER_START = datetime.fromtimestamp(START_S + 60, UTC)


def test_a_job_whose_end_is_lost_has_no_neighbours_and_has_no_time(embedded_db: str) -> None:
    torus = generators.build_torus((2, 2, 2))
    runs = Job(
        "c",
        "2",
        "RUNNING",
        user="bea",
        start_s=START_S,
        nodes=1,
        node_list=str(torus.endpoints.node[0]),
        simulated=True,
    )
    lost = replace(runs, job_id="1", state="UNKNOWN", user="ann")
    held = replace(runs, job_id="3", state="SUSPENDED", user="cid")
    # Accounting calls it running, months past its limit of an hour.
    gone = replace(runs, job_id="4", user="dan", limit_s=3600.0)
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, torus)
        pks = dict(zip("1234", jobs.upsert_jobs(conn, [lost, runs, held, gone]), strict=True))
        assert {one.job_id for one in traffic.held_endpoints(conn, fabric_id, NOW.timestamp())} == {"2", "3"}

    async def ask() -> dict[str, Any]:
        async with await AsyncConnection.connect(
            embedded_db.replace("postgresql+psycopg", "postgresql"), options="-c search_path=flitwatch"
        ) as conn:
            listed = {}
            for name, span in {
                "all": {},
                "later": {"from_": AFTER_START},
                "its start": {"from_": None, "to": NOW},
            }.items():
                listed[name] = await reads_lost_ends.list_jobs(
                    conn, sort="start", descending=True, now=NOW, limit=10, **span
                )
            return {
                "listed": {name: {row["job_id"]: row["elapsed_s"] for row in rows} for name, rows in listed.items()},
                "holding": {row["job_id"] for row in await reads_lost_ends.list_holding_jobs(conn, fabric_id, NOW, 10)},
                "neighbours": {
                    name: {row["job_id"] for row in await reads_lost_ends.list_neighbours(conn, pk, NOW, 10)}
                    for name, pk in pks.items()
                },
            }

    got = asyncio.run(ask())
    assert got["listed"] == {
        "all": {"1": None, "2": 7200.0, "3": 7200.0, "4": None},
        "later": {"2": 7200.0, "3": 7200.0},
        "its start": {"1": None, "2": 7200.0, "3": 7200.0, "4": None},
    }
    assert got["holding"] == {"2", "3"}
    assert got["neighbours"] == {"1": set(), "2": {"3"}, "3": {"2"}, "4": set()}


def test_a_running_job_becomes_a_runaway_when_its_limit_is_long_over(embedded_db: str) -> None:
    runs = Job("c", "1", "RUNNING", start_s=time.time() - 60, limit_s=60.0)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        jobs.upsert_jobs(conn, [runs, replace(runs, job_id="2"), replace(runs, job_id="3", limit_s=None)])
        conn.execute("UPDATE job SET start_ts = start_ts - interval '1 day' WHERE job_id <> '2'")
        assert maintain_database(embedded_db)["runaways"] == 1
        assert conn.execute("SELECT job_id FROM job WHERE state = 'RUNAWAY'").fetchall() == [("1",)]
        # What accounting says later counts.
        jobs.upsert_jobs(conn, [replace(runs, state="COMPLETED", end_s=runs.start_s)])
        assert conn.execute("SELECT FROM job WHERE state = 'RUNAWAY'").fetchall() == []
