"""Fabrics in the database: removal, odd ones from the fuzz corpus, and jobs on several planes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from fuzz.inputs import read_inputs, unpack_inputs
from psycopg import AsyncConnection, sql

from flitwatch.main import main
from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.core.additive import ensure_chunks
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates import recommendations
from flitwatch_db.estimates.recommendations import Recommendation
from flitwatch_db.fabrics import removal, route_changes, store
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import store as ingest
from flitwatch_db.ingest.store import Reader
from flitwatch_db.jobs import reads
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.counters import ENDPOINT_COLUMNS
from flitwatch_domain.errors import Conflict, FlitwatchError
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.importers import ibnetdiscover, read_fabric
from flitwatch_domain.jobs import Job
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.pending_rows import PendingRows

pytestmark = pytest.mark.integration

TREE = replace(build_xgft(2, [2, 2], [1, 2]), simulated=False)

NODES = TREE.endpoints.node

#: A value of each type, for the columns that must have one.
VALUES = {"integer": 1, "double precision": 1.0, "text": "x", "ARRAY": [1.0]}


@pytest.fixture
def conn(embedded_db: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(embedded_db, role="owner", autocommit=True) as opened:
        yield opened


def held(conn: psycopg.Connection[Any], fabric_id: int) -> dict[str, int]:
    """Rows of a fabric in every table that has a column for one."""
    columns = conn.execute(
        "SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)"
        " WHERE table_schema = 'flitwatch' AND column_name IN ('fabric_id', 'other_id') AND t.table_type = 'BASE TABLE'"
    ).fetchall()
    found: dict[str, int] = {}
    for table, column in columns:
        query = sql.SQL("SELECT count(*) FROM {} WHERE {} = %s").format(sql.Identifier(table), sql.Identifier(column))
        found[table] = found.get(table, 0) + (conn.execute(query, [fabric_id]).fetchone() or (0,))[0]
    return found


def fill(conn: psycopg.Connection[Any], name: str) -> int:
    """A fabric with a row or more in every table that may have one, counters forty days apart."""
    number = fabrics.save_fabric(conn, replace(TREE, name=name))
    now = datetime.now(UTC).replace(microsecond=0)
    context = conn.execute(
        "INSERT INTO sample_context (fabric_id, job_id, longest_path, variants, simulated, first_ts, last_ts)"
        " VALUES (%s, %s, 1, '{x}', false, now(), now()) RETURNING context_id",
        [number, name],
    ).fetchone()
    assert context is not None
    for (table,) in conn.execute("SELECT name FROM time_table").fetchall():
        columns = conn.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'flitwatch' AND table_name = %s AND is_nullable = 'NO'",
            [table],
        ).fetchall()
        if not {"fabric_id", "context_id"} & {column for column, _ in columns}:
            continue
        for at in (now, now - timedelta(days=40)):
            ensure_chunks(conn, table, np.array([int(at.timestamp())]))
            known = {"fabric_id": number, "context_id": context[0], "ts": at}
            row = {column: known.get(column, VALUES.get(kind)) for column, kind in columns}
            insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, row)),
                sql.SQL(", ").join(map(sql.Placeholder, row)),
            )
            conn.execute(insert, row)
    conn.execute("INSERT INTO port_total (fabric_id, router, port, source) VALUES (%s, 0, 0, 'x')", [number])
    conn.execute("INSERT INTO rollup_due (fabric_id, hour) VALUES (%s, now())", [number])
    ingest.add_gaps(conn, [ingest.Gap("d", "s", now, now, "silence", number)])
    route_changes.record_change(conn, number, now, np.zeros((len(TREE.routers), len(NODES)), np.int64))
    conn.execute(
        "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence)"
        " VALUES ('r', jsonb_build_object('fabric', %s::text), 'firing', 'warning', now(), now(), 1, 1, 's', '{}')",
        [name],
    )
    recommendations.save_recommendation(conn, recommendation(number, name))
    conn.execute("INSERT INTO incident (fabric_id, simulated, began_at) VALUES (%s, false, now())", [number])
    return number


def recommendation(number: int, name: str) -> Recommendation:
    return Recommendation("routes", "recommended", "t", "r", {}, False, fabric_id=number, fabric=name)


def total(conn: psycopg.Connection[Any], table: str) -> int:
    row = conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    assert row is not None
    return int(row[0])


def test_nothing_of_it_stays_and_nothing_of_another_goes(
    conn: psycopg.Connection[Any], embedded_db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = fill(conn, "right"), fill(conn, "wrong")
    (job,) = jobs.upsert_jobs(
        conn, [Job("c", "7", "RUNNING", node_list=",".join(map(str, NODES)), start_s=1.7e9)], wrong
    )
    conn.execute("INSERT INTO fabric_plane VALUES (%s, %s), (%s, %s)", [right, wrong, wrong, right])
    conn.execute("""INSERT INTO alert_rule (name, rule, source) VALUES ('mine', '{"where": {"fabric": "wrong"}}', 'api')""")  # fmt: skip
    before, other = held(conn, wrong), held(conn, right)
    assert [table for table, rows in before.items() if not rows] == ["job_network_noise"]
    samples = {table: total(conn, table) for table in ("sample_1s", "sample_1m", "sample_1h", "alert")}

    main(["db", "remove-fabric", "wrong", "--db", embedded_db, "--json"])
    counted = json.loads(capsys.readouterr().out)
    assert held(conn, wrong) == before and counted["removed"] is False
    assert counted["rows"]["router_1s"] == 2 and counted["rows"]["endpoint"] == len(NODES) and counted["jobs"] == 1
    assert counted["left"] == ["alert rule mine is kept: it is for wrong"]

    main(["db", "remove-fabric", "wrong", "--yes", "--db", embedded_db, "--json"])
    done = json.loads(capsys.readouterr().out)
    # Marks of hours go first, by themselves.
    assert done | {"removed": False, "rows": done["rows"] | {"rollup_due": 1}} == counted
    assert set(held(conn, wrong).values()) == {0}
    assert {table: total(conn, table) for table in samples} == {table: rows // 2 for table, rows in samples.items()}
    after = held(conn, right)
    # The job lies on the fabric that knows its nodes too.
    assert after.pop("job_node") == len(NODES) and after.pop("fabric_plane") == 0
    assert after == {table: rows for table, rows in other.items() if table in after}
    assert conn.execute("SELECT DISTINCT fabric_id FROM job_node WHERE job_pk = %s", [job]).fetchall() == [(right,)]
    (entry,) = conn.execute("SELECT target, details -> 'jobs' FROM audit WHERE action = 'db remove-fabric'").fetchall()
    assert entry == ("wrong", 1)

    again = fabrics.save_fabric(conn, replace(TREE, name="wrong"))
    assert {table for table, rows in held(conn, again).items() if rows} == {"fabric", "router", "endpoint", "link"}


def test_what_is_in_use_is_refused_with_who_uses_it(conn: psycopg.Connection[Any]) -> None:
    number = fill(conn, "wrong")
    before = held(conn, number)

    def refused() -> str:
        with pytest.raises(Conflict) as error:
            removal.remove_fabric(conn, "wrong")
        assert held(conn, number) == before
        return str(error.value)

    events.emit_event(conn, "counters", {"fabric_id": number, "through": "2026-01-01T00:00:00Z", "routers": 1})
    assert "wrong received counters 0 s ago. Stop its collector" in refused()
    conn.execute("UPDATE event SET at = at - interval '2 minutes'")
    (one,) = conn.execute("SELECT recommendation_id FROM recommendation WHERE fabric_id = %s", [number]).fetchone() or (
        0,
    )
    recommendations.note_staged(conn, one, "/etc/opensm")
    assert f"staged in /etc/opensm, by recommendation {one}" in refused() and "flitwatch loop rollback" in refused()
    recommendations.note_rolled_back(conn, one)
    conn.execute("""INSERT INTO task (name, args) VALUES ('sim.whatif', '{"fabric": "wrong"}')""")
    assert "(sim.whatif) works on wrong" in refused()
    conn.execute("UPDATE task SET state = 'cancelled'")
    assert removal.remove_fabric(conn, "wrong").rows["endpoint"] == len(NODES) and set(held(conn, number).values()) == {
        0
    }


def test_a_writer_that_still_knows_it_counts_nothing_for_it(conn: psycopg.Connection[Any], embedded_db: str) -> None:
    """Pending counts are written when the writer sees that its fabrics changed."""
    stays, goes = (fabrics.save_fabric(conn, replace(TREE, name=name)) for name in ("stays", "goes"))
    removal.remove_fabric(conn, "goes")
    second, ids = int(datetime.now(UTC).timestamp()), np.array([stays, goes], np.int32)
    one = np.ones(2, np.int32)
    rows = counters.Rows(ids, one, np.full(2, second), one, np.ones(2), np.ones((2, len(ENDPOINT_COLUMNS))))
    lanes = [counters.LaneRows(ids[1:], one[1:], np.array([second // 10 * 10]), np.ones(1), np.ones((1, 3, 1, 16)))]
    gap = ingest.Gap("d", "s", datetime.now(UTC), datetime.now(UTC), "silence", goes)
    batch = Batch(counters.Batch(endpoints=rows, endpoint_lanes=lanes), PendingRows(), [gap], [], {}, {})
    batch.happened = [("counters", {"fabric_id": one, "through": "x", "routers": 1}) for one in (stays, goes)]
    with connect(embedded_db, role="writer") as writer:
        batch.write(writer, Reader("g", "l"))
    assert set(held(conn, goes).values()) == {0} and held(conn, stays)["endpoint_1s"] == 1
    payloads = conn.execute("SELECT payload -> 'fabric_id' FROM event WHERE kind = 'counters'").fetchall()
    assert payloads == [(stays,)]


@pytest.mark.system("stores")
def test_compressed_chunks_may_have_more_rows_than_a_transaction_may_change_by_default(timescale_db: str) -> None:
    """The full edition alone compresses, and none is at hand: that its limit is lifted is all that can be asked."""
    with connect(timescale_db, role="owner", autocommit=True) as conn:
        fill(conn, "wrong")
        removal.remove_fabric(conn, "wrong")
        setting = "timescaledb.max_tuples_decompressed_per_dml_transaction"
        assert conn.execute("SELECT setting FROM pg_settings WHERE name = %s", [setting]).fetchall() == [("0",)]


# Whatever an importer makes a fabric of, the database can hold: the fuzz corpus has the oddest.


@pytest.mark.parametrize(("target", "kind"), [("ibnetdiscover", "ibnetdiscover"), ("cray_interconnect", "cray")])
def test_fabrics_of_odd_files_can_be_stored(embedded_db: str, target: str, kind: str, tmp_path: Path) -> None:
    stored, refused = 0, {}
    for file in sorted(unpack_inputs(read_inputs(target), tmp_path).iterdir()):
        try:
            fabric = read_fabric(file, kind)
        except FlitwatchError:
            continue
        try:
            with connect(embedded_db) as conn:
                fabrics.save_fabric(conn, fabric)
                conn.rollback()
            stored += 1
        except FlitwatchError:
            continue
        except psycopg.Error as problem:
            refused[file.name] = str(problem)
    assert refused == {} and stored > 10


# Jobs on nodes of many endpoints: on several leaves of one fabric and on several planes, and never on another machine.


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
        assert store.update_planes(conn, compute) == [storage]
        fabrics.save_fabric(conn, rails("storage", range(11, 15), [4], 0x20000), replace=True)
        assert store.update_planes(conn, compute) == []
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
