"""The served task on the jobs of a simulated campaign gives the numbers that the scorecard scores."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from flitwatch_db import connect
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import cori_like
from flitwatch_ml import tasks
from flitwatch_ml.work import blame as work
from flitwatch_twin.campaign import generate
from flitwatch_twin.campaign.history import make_history
from flitwatch_twin.campaign.simulate import EPOCH_S
from ml.conftest import Context

SCENARIO, SEED, USERS, RUNS = "minivite-128", 1, 40, 60


@pytest.fixture(scope="module")
def campaign():
    return generate(SCENARIO, SEED, USERS)


@pytest.fixture
def stored(embedded_db: str, campaign) -> str:
    """The first runs of the campaign and every job of its machine in these weeks, as Slurm and the runs themselves report them."""
    history = make_history(SEED, USERS)
    jobs, own = history.jobs, history.runs_of(SCENARIO)[:RUNS]
    early = np.flatnonzero(jobs.start_s < jobs.start_s[own].max() + 86_400)
    with connect(embedded_db) as conn:
        fabric = fabrics.save(conn, cori_like(io_routers_per_group=4))
        pk = {}
        with conn.cursor().copy(
            "COPY job (cluster, job_id, user_name, name, state, start_ts, end_ts, nodes, simulated) FROM STDIN"
        ) as rows:
            for job in early.tolist():
                begin, end = (_moment(values[job]) for values in (jobs.start_s, jobs.end_s))
                user, name = history.user_names[jobs.user[job]], jobs.application[job] or None
                rows.write_row(["c", str(job), user, name, "COMPLETED", begin, end, int(jobs.size[job]), True])
        pk = dict(conn.execute("SELECT job_id::int, job_pk FROM job").fetchall())
        with conn.cursor().copy("COPY job_node (job_pk, node, fabric_id, endpoint, router) FROM STDIN") as rows:
            for job in _near(jobs, own, campaign.run_time_s[:RUNS]).tolist():
                for node in jobs.nodes_of(job).tolist():
                    rows.write_row([pk[job], f"n{node}", fabric, node, int(history.machine.node_router[node])])
        for at, job in enumerate(own.tolist()):
            _run(conn, campaign, at, pk[job], _moment(jobs.start_s[job]))
    return embedded_db


def _near(jobs, own, time_s):
    """Only the places of jobs that met a run are asked for."""
    met = np.zeros(len(jobs.start_s), bool)
    for job, time in zip(own.tolist(), time_s, strict=True):
        met |= (jobs.start_s < jobs.start_s[job] + time) & (jobs.end_s > jobs.start_s[job])
    return np.union1d(np.flatnonzero(met), own)


def _moment(second: float) -> datetime:
    return datetime.fromtimestamp(EPOCH_S + second, UTC)


def _run(conn, campaign, at: int, job: int, start: datetime) -> None:
    (run,) = conn.execute(
        "INSERT INTO run (run_key, job_pk, exe, start_ts, ranks, simulated) VALUES (%s, %s, %s, %s, 1, true) RETURNING run_id",
        [campaign.run_key[at], job, campaign.executable, start],
    ).fetchone()
    steps = [(run, step, float(time), [1]) for step, time in enumerate(campaign.times_s[at])]
    conn.cursor().executemany(
        "INSERT INTO run_step (run_id, step, time_s, rank_time_ns) VALUES (%s, %s, %s, %s)", steps
    )


@pytest.mark.integration
@pytest.mark.slow
def test_the_service_sees_the_neighbourhood_that_is_scored(stored: str, campaign) -> None:
    with connect(stored) as conn:
        runs = estimates.runs_of(conn, campaign.executable, campaign.nodes)
        least = tasks.large_job_nodes(estimates.machine_nodes(conn, runs.run_id))
        users = work.co_running(estimates.co_running(conn, runs.run_id), least)["user"]
    column = [campaign.user_names.index(name) for name in users.names]
    absent = np.setdiff1d(np.arange(len(campaign.user_names)), column)
    assert np.allclose(users.met.overlap, campaign.overlap[:RUNS, column], atol=1e-6)
    assert np.allclose(users.met.exposure, campaign.exposure[:RUNS, column], rtol=1e-5, atol=1e-6)
    assert not campaign.exposure[:RUNS, absent].any() and campaign.overlap[:RUNS].any()
    assert np.allclose(runs.step_time_s, campaign.times_s[:RUNS])


@pytest.mark.integration
@pytest.mark.slow
def test_the_task_gives_the_verdicts_that_are_scored(stored: str, campaign) -> None:
    answer = tasks.blame({"exe": campaign.executable, "nodes": campaign.nodes}, Context(stored))
    scored = work.fitted(
        campaign.exposure[:RUNS], campaign.run_time_s[:RUNS], campaign.run_start_s[:RUNS], campaign.circumstances[:RUNS]
    )
    with connect(stored) as conn:
        served = dict(
            conn.execute(
                "SELECT name, entry FROM estimate_entry WHERE estimate_id = %s AND by_what = 'user'",
                [answer["estimate_id"]],
            ).fetchall()
        )
    at = {name: index for index, name in enumerate(campaign.user_names)}
    assert len(served) > 20 and sum(entry["testable"] for entry in served.values()) > 10
    for name, entry in served.items():
        user = at[name]
        assert entry["verdict"] == scored.verdict_[user], name
        assert entry["exposed_runs"] == scored.exposed_runs_[user]
        for key, value in (("score", scored.score_), ("q", scored.q_value_), ("effect_s", scored.effect_s_)):
            if entry["testable"]:
                assert entry[key] == pytest.approx(value[user], rel=1e-3, abs=1e-3), (name, key)
