"""A job's evidence in one file, and what is kept about a user deleted: over a database with known content."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import psycopg
import pytest
from api.world import HOSTILE, T0, World, seed
from click.testing import CliRunner

from flitwatch.main import cli
from flitwatch_db import connect
from flitwatch_db.erasure import erase
from flitwatch_db.evidence import export
from flitwatch_domain.errors import BadRequest, NotFound


@pytest.fixture
def world(embedded_db: str) -> World:
    return seed(embedded_db)


def read(path: Path) -> dict[str, list[dict[str, str]]]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {
            name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(archive.read(name).decode())))
            for name in archive.namelist()
            if name.endswith(".csv")
        }


def test_a_jobs_evidence_is_what_the_database_holds_about_it(world: World, tmp_path: Path) -> None:
    out, steps = tmp_path / "100.zip", []
    with connect(world.url, role="reader", autocommit=True) as conn:
        made = export(conn, "100", out, "c1", lambda done, total, what: steps.append((done, total, what)))
    tables = read(out)
    assert made["rows"] == {table: len(rows) for table, rows in tables.items()} and made["simulated"] is True
    with zipfile.ZipFile(out) as archive:
        assert json.loads(archive.read("manifest.json")) == made
    assert [row["name"] for row in tables["job"]] == [HOSTILE] and tables["job_step"][0]["name"] == "amg"
    assert len(tables["job_node"]) == 8 and {row["router"] for row in tables["job_node"]} == {"0", "1", "2", "3"}
    # Every second of its routers while it ran, with the counted values; router 5 is not its own.
    flits = world.column("rt_flits")[:100, :4]
    assert len(tables["router_1s"]) == int((~np.isnan(flits)).sum()) == 400
    assert sum(float(row["rt_flits"]) for row in tables["router_1s"]) == pytest.approx(float(flits.sum()), rel=1e-12)
    assert {row["router"] for row in tables["port_10s"]} == {"0", "1", "2", "3"} and tables["router_1m"]
    # 101 shares router 3 while it runs; 103 begins when it ends, 104 runs elsewhere.
    assert {row["job_id"] for row in tables["neighbours"]} == {"101"}
    assert [done for done, _, _ in steps] == list(range(len(made["rows"]))) and not list(tmp_path.glob(".*"))


def test_runs_come_with_their_steps_and_a_waiting_job_has_no_counters(world: World, tmp_path: Path) -> None:
    with connect(world.url, role="reader", autocommit=True) as conn:
        made = export(conn, "104", tmp_path / "104.zip")
        assert made["rows"]["run"] == 1 and made["rows"]["run_step"] == 6 and made["rows"]["run_rank"] == 3
        waiting = export(conn, "105_7", tmp_path / "105.zip")["rows"]
        assert waiting["job"] == 1 and waiting["router_1s"] == waiting["neighbours"] == 0
        with pytest.raises(NotFound, match="no job '999'"):
            export(conn, "999", tmp_path / "none.zip")
    assert not (tmp_path / "none.zip").exists()


def count(url: str, query: str) -> int:
    with connect(url, role="owner") as conn:
        row = conn.execute(query.encode()).fetchone()
        return int(row[0])


def plant(url: str) -> None:
    """Results, an alert, a task and a refused record that name eve, and ones that name others."""
    with connect(url, role="owner") as conn:
        for who in ("eve", "ann"):
            value = psycopg.types.json.Jsonb({"items": [{"user": who, "weight": 1}]})
            conn.execute(
                "INSERT INTO estimate (kind, exe, nodes, code_version, parameters, data, score, result, simulated)"
                " VALUES ('blame', 'amg', 3, 'x', '{}', '{}', '{}', %s, true)",
                [value],
            )
            by_name = psycopg.types.json.Jsonb({"weights": [{who: 0.5}, 3]})
            conn.execute("INSERT INTO task (name, args, result) VALUES ('ml.blame', '{}', %s)", [by_name])
            conn.execute(
                "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence)"
                " VALUES ('blamed', jsonb_build_object('user', %s::text), 'firing', 'info', now(), now(), 1, 1, 'returns', '{}')",
                [who],
            )
            conn.execute(
                "INSERT INTO dead_letter (topic, partition, offset_, reason, raw, raw_bytes) VALUES ('slurm', 0, 1, 'bad', %s, 9)",
                [f"104|{who}|x".encode()],
            )


def test_a_users_data_go_and_others_stay(world: World) -> None:
    plant(world.url)
    letters = count(world.url, "SELECT count(*) FROM dead_letter")
    with connect(world.url, role="owner", autocommit=True) as conn:
        tried = erase(conn, "eve", dry_run=True)
        assert count(world.url, "SELECT count(*) FROM job WHERE user_name = 'eve'") == 2
        done = erase(conn, "eve")
        assert done == tried
        assert done == {"estimate": 1, "event": 0, "task": 1, "alert": 1, "recommendation": 0, "dead_letter": 1, "run": 1, "job": 2}  # fmt: skip
        assert set(erase(conn, "eve").values()) == {0}
        with pytest.raises(BadRequest):
            erase(conn, " ")
    assert count(world.url, "SELECT count(*) FROM job WHERE user_name = 'ann'") == 2
    for table in ("estimate", "task", "alert"):
        assert count(world.url, f"SELECT count(*) FROM {table}") == 1
    assert count(world.url, "SELECT count(*) FROM dead_letter") == letters - 1
    assert (
        count(world.url, "SELECT count(*) FROM job_node n LEFT JOIN job j USING (job_pk) WHERE j.job_pk IS NULL") == 0
    )
    assert count(world.url, f"SELECT count(*) FROM router_1s WHERE ts >= to_timestamp({T0})") > 0


def test_the_commands(world: World, tmp_path: Path) -> None:
    def run(*argv: str) -> dict:
        result = CliRunner().invoke(cli, ["db", *argv, "--db", world.url, "--json"], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    made = run("evidence", "100", "--cluster", "c1", "--out", str(tmp_path / "x.zip"))
    assert made["rows"]["router_1s"] == 400 and made["bytes"] == (tmp_path / "x.zip").stat().st_size
    assert run("erase", "bob") == {"deleted": False, "rows": made_of(job=1)}
    assert run("erase", "bob", "--yes")["deleted"] and run("erase", "bob")["rows"]["job"] == 0


def made_of(**rows: int) -> dict[str, int]:
    tables = ("estimate", "event", "task", "alert", "recommendation", "dead_letter", "run", "job")
    return {table: rows.get(table, 0) for table in tables}
