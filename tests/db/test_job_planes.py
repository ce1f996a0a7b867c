"""Jobs on nodes of many endpoints: on several leaves of one fabric and on several planes, and never on another machine."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import numpy as np
import psycopg
import pytest
from psycopg import AsyncConnection

from flitwatch_db import connect
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.fabrics import planes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import reads
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_domain.jobs import Job

pytestmark = pytest.mark.integration


def rails(name: str, nodes: range, adapters: list[int], first: int, host: str = "n") -> Fabric:
    """A leaf per adapter number; every node has each of the adapters. GUIDs begin at `first`."""
    sections, hosts = [], []
    spine = f"{first:016x}"
    cables = "".join(
        f'[{rail + 1}]\t"S-{first + 1 + rail:016x}"[40]\t# "{name}-leaf-{rail}" lid 0 4xHDR\n'
        for rail in range(len(adapters))
    )
    sections.append(f'Switch 40 "S-{spine}"\t# "{name}-spine" base port 0 lid 0 lmc 0\n{cables}')
    for rail, number in enumerate(adapters):
        leaf = f"{first + 1 + rail:016x}"
        lines = [
            f'Switch 40 "S-{leaf}"\t# "{name}-leaf-{rail}" base port 0 lid 0 lmc 0\n[40]\t"S-{spine}"[{rail + 1}]\t# "{name}-spine" lid 0 4xHDR\n'
        ]
        for port, node in enumerate(nodes, start=1):
            guid = f"{first + 1000 + 100 * node + number:016x}"
            lines.append(f'[{port}]\t"H-{guid}"[1]({guid})\t# "{host}{node} mlx5_{number}" lid 0 4xHDR\n')
            hosts.append(
                f'Ca 1 "H-{guid}"\t# "{host}{node} mlx5_{number}"\n[1]({guid})\t"S-{leaf}"[{port}]\t# lid 0 lmc 0 "x" lid 0 4xHDR\n'
            )
        sections.append("".join(lines))
    return ibnetdiscover.parse_fabric("\n".join(sections + hosts), name, name)


def job(job_id: str, nodes: str, **more) -> Job:
    return Job(
        "c", job_id, "RUNNING", user=more.pop("user", "ann"), start_s=1_795_000_000.0, nodes=1, node_list=nodes, **more
    )


def places(conn: psycopg.Connection, job_pk: int) -> set[tuple[str, str, str]]:
    rows = conn.execute(
        "SELECT n.node, f.name, r.name FROM job_node n JOIN fabric f USING (fabric_id) JOIN router r USING (fabric_id, router) WHERE job_pk = %s",
        [job_pk],
    ).fetchall()
    return set(rows)


COMPUTE = rails("compute", range(1, 5), [0, 1, 6, 7], 0x10000)
STORAGE = rails("storage", range(1, 5), [4], 0x20000)


@pytest.mark.parametrize("order", [(COMPUTE, STORAGE), (STORAGE, COMPUTE)], ids=["compute first", "storage first"])
@pytest.mark.parametrize("late", [False, True], ids=["fabrics first", "job between"])
def test_a_job_is_on_every_endpoint_of_its_nodes_on_every_plane(
    embedded_db: str, order: tuple[Fabric, Fabric], late: bool
) -> None:
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, order[0])
        if not late:
            fabrics.save_fabric(conn, order[1])
        (job_pk,) = jobs.upsert_jobs(conn, [job("1", "n[1-2],unknown")])
        if late:
            fabrics.save_fabric(conn, order[1])
        wanted = {(node, "compute", f"compute-leaf-{rail}") for node in ("n1", "n2") for rail in range(4)}
        assert places(conn, job_pk) == wanted | {(node, "storage", "storage-leaf-0") for node in ("n1", "n2")}
        assert conn.execute(
            "SELECT count(*) FROM job_node WHERE node = 'unknown' AND fabric_id IS NULL"
        ).fetchone() == (1,)
        assert conn.execute("SELECT count(*) FROM job_node").fetchone() == (11,)


@pytest.mark.parametrize(
    "other",
    [rails("other", range(1, 5), [0, 1, 6, 7], 0x90000), rails("again", range(1, 5), [0, 1, 6, 7], 0x10000)],
    ids=["another machine whose nodes have the same names", "the same fabric under another name"],
)
def test_equal_names_of_nodes_alone_make_no_plane(embedded_db: str, other: Fabric) -> None:
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, other)
        fabrics.save_fabric(conn, COMPUTE)
        (job_pk,) = jobs.upsert_jobs(conn, [job("1", "n1")])
        assert len({fabric for _, fabric, _ in places(conn, job_pk)}) == 1
        assert conn.execute("SELECT count(*) FROM fabric_plane").fetchone() == (0,)


def test_a_plane_that_is_imported_anew_is_found_anew(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        compute = fabrics.save_fabric(conn, COMPUTE)
        storage = fabrics.save_fabric(conn, STORAGE)
        (job_pk,) = jobs.upsert_jobs(conn, [job("1", "n1")])
        assert planes.update_planes(conn, compute) == [storage]
        fabrics.save_fabric(conn, rails("storage", range(11, 15), [4], 0x20000), replace=True)
        assert planes.update_planes(conn, compute) == []
        jobs.place_jobs(conn, [job_pk])
        assert {fabric for _, fabric, _ in places(conn, job_pk)} == {"compute"}


def asked(url: str, question) -> list:
    async def run() -> list:
        async with await AsyncConnection.connect(
            url.replace("postgresql+psycopg", "postgresql"), options="-c search_path=flitwatch"
        ) as conn:
            return await question(conn)

    return asyncio.run(run())


def test_who_shares_only_the_storage_plane_is_a_neighbour_and_a_stranger_is_none(embedded_db: str) -> None:
    storage = rails("storage", range(1, 9), [4], 0x20000)
    compute = rails("compute", range(1, 5), [0, 1], 0x10000)
    far = rails("far", range(5, 9), [0, 1], 0x30000)
    elsewhere = rails("elsewhere", range(50, 52), [0], 0x40000)
    with connect(embedded_db, role="writer") as conn:
        for fabric in (storage, compute, far, elsewhere):
            fabrics.save_fabric(conn, fabric)
        pks = jobs.upsert_jobs(
            conn, [job("1", "n1"), job("2", "n2", user="bob"), job("3", "n5", user="eve"), job("4", "n50", user="zoe")]
        )
    now = datetime(2026, 11, 30, tzinfo=UTC)
    near = asked(embedded_db, lambda conn: reads.list_neighbours(conn, pks[0], now, 10))
    assert [(row["job_id"], row["shared_routers"]) for row in near] == [("2", 3), ("3", 1)]
    found = asked(embedded_db, lambda conn: reads.list_planes(conn, pks[0]))
    assert [(row["fabric"], row["nodes"], len(row["endpoints"]), len(row["routers"])) for row in found] == [
        ("compute", 1, 2, 2),
        ("storage", 1, 1, 1),
    ]


def test_exposure_counts_nodes_however_many_endpoints_they_have(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, COMPUTE)
        pks = jobs.upsert_jobs(conn, [job("1", "n[1-3]")])
        placed = estimates._count_nodes_by_group(conn, {pks[0]: 0})
    assert placed.sum() == pytest.approx(3) and np.all(placed >= 0)


def test_a_run_on_nodes_of_many_endpoints_is_stored(embedded_db: str) -> None:
    from flitwatch_db.runs import store as runs
    from flitwatch_domain.runs import Run

    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, COMPUTE)
        jobs.upsert_jobs(conn, [job("1", "n[1-3]")])
        run_id = runs.upsert_run(conn, Run("r", "amg", "1", 1_795_000_001.0, (0, 1), ("n1", "n3"), (), False))
        ranks = conn.execute(
            "SELECT node, endpoint IS NOT NULL FROM run_rank WHERE run_id = %s ORDER BY rank", [run_id]
        ).fetchall()
    assert ranks == [("n1", True), ("n3", True)]


def test_placing_a_day_of_jobs_looks_at_no_other_host(embedded_db: str) -> None:
    """Accounting of a day names some 50,000 nodes at once, of which the planner of a prepared statement knows nothing."""
    rail = rails("rail", range(1, 40), [0], 0x30000)
    names = [f"n{node}" for node in range(1, 40)]
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, rail)
        assert thrown_away(generic_plan(conn, jobs._ENDPOINTS, names)) < 100 * len(names)
        assert len(conn.execute(jobs._ENDPOINTS, [names]).fetchall()) == len(names)


def generic_plan(conn: psycopg.Connection, statement: str, names: list[str]) -> dict:
    """How a prepared statement runs once its plan no longer depends on its parameters."""
    conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    conn.execute("PREPARE finds_places (text[]) AS " + statement.replace("%s", "$1"))
    with psycopg.ClientCursor(conn) as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE finds_places (%s)", [names])
        plan = cursor.fetchone()[0][0]["Plan"]
    return plan


def thrown_away(plan: dict) -> float:
    """Rows that a plan's joins and filters looked at in vain."""
    own = sum(value * plan["Actual Loops"] for name, value in plan.items() if name.startswith("Rows Removed by"))
    return own + sum(thrown_away(part) for part in plan.get("Plans", []))
