"""A job whose end nobody knows is not taken for one that still runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection

from flitwatch_db import connect
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import moments, reads
from flitwatch_db.jobs import store as jobs
from flitwatch_domain import generators
from flitwatch_domain.jobs import Job

START_S = 1_772_366_400.0
NOW = datetime.fromtimestamp(START_S + 7200, UTC)
AFTER_START = datetime.fromtimestamp(START_S + 60, UTC)


def test_a_job_whose_end_is_lost_is_beside_nobody_and_has_no_time(embedded_db: str) -> None:
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
        assert {one.job_id for one in moments.held_endpoints(conn, fabric_id, NOW.timestamp())} == {"2", "3"}

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
                listed[name] = await reads.list_jobs(conn, sort="start", descending=True, now=NOW, limit=10, **span)
            return {
                "listed": {name: {row["job_id"]: row["elapsed_s"] for row in rows} for name, rows in listed.items()},
                "holding": {row["job_id"] for row in await reads.list_holding_jobs(conn, fabric_id, NOW, 10)},
                "beside": {
                    name: {row["job_id"] for row in await reads.list_neighbours(conn, pk, NOW, 10)}
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
    assert got["beside"] == {"1": set(), "2": {"3"}, "3": {"2"}, "4": set()}


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
