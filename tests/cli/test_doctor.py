"""`flitwatch doctor` against a real database and a real log."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from ingest.writing import drain_log

from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_db.core import log_keep
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_domain.jobs import Job
from flitwatch_ops.site import check_database
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Log


def doctor(*argv: str) -> tuple[int, dict]:
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", "doctor", "--json", *argv], capture_output=True, text=True, timeout=120
    )
    assert done.stdout, done.stderr[-1500:]
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def any_log_url(any_log: Log, request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("kafka" if "kafka" in request.node.callspec.id else "embedded_db")


def test_topics_rates_and_clocks_of_a_log(any_log: Log, any_log_url: str, embedded_db: str) -> None:
    any_log.create_topic("ldms.demo", 1)
    stop = threading.Event()

    def produce() -> None:
        with any_log.producer() as producer:
            while not stop.is_set():
                stamp = time.time() - 100.0
                producer.append("ldms.demo", json.dumps({"timestamp": stamp, "component_id": 7, "x": 1}).encode())
                producer.append("ldms.demo", b"{broken")
                producer.flush()
                time.sleep(0.1)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        code, report = doctor("--db", embedded_db, "--log", any_log_url, "--listen", "4")
    finally:
        stop.set()
        thread.join()
    checks = {check["name"]: check for check in report["checks"]}
    assert code == 0 and report["healthy"]
    assert checks["log"]["state"] == "ok" and "ldms.demo" in checks["log"]["detail"]
    assert checks["ldms.demo"]["state"] == "warning" and "unreadable" in checks["ldms.demo"]["detail"]
    assert checks["ldms.demo clock"]["state"] == "warning"
    assert report["disk"]["log_bytes_a_day_uncompressed"] > 0
    # What is set where nobody set anything: Kafka's topic with the one partition, and the segment that is being filled.
    kept = report["disk"]["log_keeps"]
    if any_log_url.startswith("kafka"):
        topics = any_log.topics()
        count = sum(number for name, number in topics.items() if name.startswith(("ldms.", "flitwatch.")))
        assert kept == {"hours": 24, "bytes": count * ((1 << 30) + (1 << 28))}
    else:
        assert kept == {"hours": 24, "bytes": 6 << 30}


@pytest.mark.system("processes")
def test_what_the_log_will_hold_is_reported_alongside_what_comes(embedded_db: str) -> None:
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        log_keep.set_kept(conn, days=0.25, size_bytes=3_000_000_000)
    argv = [
        sys.executable,
        "-m",
        "flitwatch.main",
        "doctor",
        "--db",
        embedded_db,
        "--log",
        embedded_db,
        "--listen",
        "3",
    ]
    asked = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with open_log(embedded_db) as log, log.producer() as producer:
        log.create_topic("ldms.demo", 1)
        while asked.poll() is None:
            producer.append("ldms.demo", b'{"component_id":7}')
            producer.flush()
            time.sleep(0.1)
    said = asked.communicate()[1]
    assert "arrive in the log before compression, and it keeps 6 h, at most 3.0 GB" in " ".join(said.split())


@pytest.mark.system("processes")
@pytest.mark.parametrize(
    "log", [pytest.param("kafka://127.0.0.1:9", marks=pytest.mark.system("faults")), "postgresql://127.0.0.1:9/none"]
)
def test_what_cannot_be_reached_fails_with_advice(log: str) -> None:
    code, report = doctor("--db", "postgresql://127.0.0.1:9/none", "--log", log, "--listen", "1")
    failed = {check["name"] for check in report["checks"] if check["state"] == "failed"}
    assert code == 1 and not report["healthy"] and {"database", "log"} <= failed
    assert all(check["advice"] for check in report["checks"] if check["state"] == "failed")


def test_without_a_log_nothing_is_said_of_its_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path / "not" / "there"))
    done = CliRunner().invoke(cli, ["doctor", "--json"])
    report = json.loads(done.stdout)
    assert report["disk"] is None and any(check["name"] == "disk" for check in report["checks"])
    assert CliRunner().invoke(cli, ["doctor", "--listen", "nan"]).exit_code == 2


def test_an_estimator_that_cannot_run_is_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path))

    def checked() -> tuple[int, dict[str, str]]:
        said = CliRunner().invoke(cli, ["doctor", "--json"])
        (check,) = (check for check in json.loads(said.stdout)["checks"] if check["name"] == "estimators")
        return said.exit_code, check

    code, check = checked()
    assert code == 0 and check["state"] == "ok"
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    code, check = checked()
    assert code == 1 and check["state"] == "failed" and "lightgbm" in check["detail"]


def test_a_query_that_fails_is_not_reported_as_a_database_that_does(embedded_db: str) -> None:
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        conn.execute("ALTER TABLE job_node RENAME TO away")
    states = {check.name: check.state for check in check_database(embedded_db)}
    assert (states["database"], states["coverage"]) == ("ok", "failed")


def test_jobs_nodes_and_counters_without_a_fabric_are_reported(embedded_db: str) -> None:
    names = ("jobs with a place", "nodes with counters", "counters with a fabric")

    def look() -> list[tuple[str, str]]:
        checks = {check.name: check for check in check_database(embedded_db)}
        return [(checks[name].state, checks[name].detail) for name in names]

    assert look() == [("skipped", "there are none yet")] * 3
    now_s = time.time()
    section = """Switch 4 "S-00000000000000a1" # "leaf" enhanced port 0 lid 31 lmc 0
[1] "H-00000000000000b0"[1](b0) # "c01 mlx5_0" lid 1 4xHDR

Switch 4 "S-00000000000000a2" # "other" enhanced port 0 lid 32 lmc 0
[1] "H-00000000000000b2"[1](b2) # "c02 mlx5_0" lid 2 4xHDR
"""
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, ibnetdiscover.parse_fabric(section, "f", "f"))
        jobs.upsert_jobs(
            conn,
            [
                Job("c", str(at), "RUNNING", start_s=now_s - 60, node_list=name)
                for at, name in enumerate(("C01", "c09"))
            ],
        )
    with open_log(embedded_db) as log, log.producer() as producer:
        for second in range(3):
            for guid in ("a1", "a9"):
                record = {
                    "timestamp": now_s - 30 + 10 * second,
                    "guid": guid,
                    "port": 1,
                    "port_xmit_data": 100 * second,
                }
                producer.append("ldms.ib_port", json.dumps(record).encode())
        producer.flush()
    drain_log(embedded_db, embedded_db)
    found = look()
    assert found[0] == ("warning", "1 of 2 jobs of the last 7 days; without: c09")
    assert found[1] == ("warning", "1 of 2 nodes, in the last hour; without: c02")
    assert found[2][0] == "warning" and found[2][1].startswith(
        "3 of 6 records of the last day; without: GUID a9 port 1"
    )
