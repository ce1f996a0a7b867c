"""The demo machine: its stored past, its small server, and access to it."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
import psycopg
import pytest
import yaml
from click.testing import CliRunner
from ingest.writing import read_all
from support.databases import server_folder
from support.waiting import eventually

from flitwatch import simulated_past
from flitwatch.commands import twin
from flitwatch.commands.up import _format_exposure, list_servers
from flitwatch.exposure import LOOPBACK, exposure_of
from flitwatch.main import main
from flitwatch_db import connect
from flitwatch_db.core.events import emit_event
from flitwatch_db.counters import rollups
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import recommendations
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.generators import build_xgft
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.backends import open_log
from flitwatch_stream.topics import RUNS
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.minutes import ROUTER_SUMS, MinuteSums
from flitwatch_twin.run import Past, TwinRun
from flitwatch_twin.spec import load_spec

UNTIL_S = 1_790_000_040 // 3600 * 3600 + 1800


def test_a_past_stands_in_minutes_hours_and_sums_of_the_fabric_and_in_no_second(embedded_db: str) -> None:
    spec = load_spec("small")
    cluster = Cluster(spec, 1, day=3)
    sums = MinuteSums(cluster.fabric, cluster.counters, UNTIL_S - 5400)
    TwinRun(cluster, [], UNTIL_S - 5400, past=Past(coarse=True, sums=sums)).run(5400, 0)
    sums.take(cluster.counters, UNTIL_S, last=True)
    with connect(embedded_db, role="writer") as conn:
        fabrics.save_fabric(conn, cluster.fabric)
    simulated_past.store_sums(embedded_db, spec.name, sums, spec.ldms)
    flits = sum(one.values[:, ROUTER_SUMS.index("rt_flits")].sum() for one in sums.routers)
    with connect(embedded_db, role="reader") as conn:
        for table in ("router_1m", "router_1h"):
            row = conn.execute(
                f"SELECT sum(rt_flits), sum(tile_seconds), sum(samples), count(rt_packets) FROM {table}"
            ).fetchone()
            assert row is not None
            assert row[0] == pytest.approx(flits) and row[1] == pytest.approx(48 * 5400 * len(cluster.fabric.routers))
            assert row[2:] == (4 * 5400 * len(cluster.fabric.routers), 0), "as the samplers send: four sets, no packets"
        assert conn.execute("SELECT count(*) FROM router_1s").fetchone() == (0,)
        cards = conn.execute("SELECT count(DISTINCT ts), sum(seconds) FROM endpoint_1h").fetchone()
        assert cards == (2, pytest.approx(5400 * len(cluster.fabric.endpoints)))
        sums_of = "SELECT count(DISTINCT ts), sum(seconds), sum(tx_bytes), sum(rx_bytes) FROM"
        hours, minutes = (conn.execute(f"{sums_of} {table}").fetchone() for table in ("endpoint_1h", "endpoint_1m"))
        assert minutes is not None and minutes[0] == 90 and minutes[1:] == pytest.approx(hours[1:])
        newest = conn.execute("SELECT array_agg(DISTINCT extract(epoch FROM ts)::bigint) FROM router_1m").fetchone()
        assert newest is not None and sorted(newest[0]) == list(range(UNTIL_S - 5400, UNTIL_S, 60))
        event = conn.execute("SELECT payload FROM event WHERE kind = 'counters'").fetchone()
        assert event is not None, "readers keep what they read before"
        assert datetime.fromisoformat(event[0]["late_from"]).timestamp() == UNTIL_S - 5400
    with connect(embedded_db, role="keeper", autocommit=True) as conn:
        assert rollups.roll_up_hours(conn, settled_s=0) > 0
        rolled = conn.execute("SELECT sum((SELECT sum(x) FROM unnest(rt_flits) x)) FROM fabric_5m").fetchone()
        assert rolled == (pytest.approx(flits),)


@pytest.mark.system("processes")
def test_earlier_days_have_jobs_and_runs_one_session_each(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twin, "SESSION_S", 600)
    asked = ["history", "small", "--seconds", "60", "--days", "3", "--until", str(UNTIL_S), "--log", embedded_db]
    done = CliRunner().invoke(twin.twin, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    with open_log(embedded_db) as log:
        records = read_all(log)
    runs = [orjson.loads(record.value) for record in records if record.topic == RUNS]
    starts = sorted({datetime.fromtimestamp(float(run["start"]), UTC).date() for run in runs if "start" in run})
    today = datetime.fromtimestamp(UNTIL_S - 60, UTC).date()
    assert [(today - start).days for start in starts] == [3, 2, 1, 0]


def test_the_tree_has_a_day_of_counters_and_a_loop_that_found_its_shared_cable(embedded_db: str) -> None:
    number = simulated_past.store_tree(embedded_db, UNTIL_S)
    with connect(embedded_db) as conn:
        fabric = fabrics.get_fabric_row(conn, simulated_past.TREE)
        assert fabric.simulated
        kept = recommendations.lock_staged_routes(conn, number)
        assert kept.state == "recommended" and kept.simulated and kept.lfts
        row = conn.execute(
            "SELECT count(DISTINCT ts), min(extract(epoch FROM ts)), max(extract(epoch FROM ts)) FROM router_1m WHERE fabric_id = %s",
            [fabric.fabric_id],
        ).fetchone()
        until_s = UNTIL_S - UNTIL_S % simulated_past.PORTS_S
        assert row == (1440, until_s - 86_400, until_s - 60)
        ratios = conn.execute(
            "SELECT sum(p.stall_cycles[i]) / sum(p.flits[i]) FROM port_10s p, generate_subscripts(p.flits, 1) i WHERE fabric_id = %s",
            [fabric.fabric_id],
        ).fetchone()
        minutes = conn.execute(
            "SELECT sum(rt_stall_cycles) / sum(rt_flits) FROM router_1m WHERE fabric_id = %s AND ts >= to_timestamp(%s)",
            [fabric.fabric_id, until_s - simulated_past.PORTS_S],
        ).fetchone()
        queued = conn.execute("SELECT name, args ->> 'pattern' FROM task WHERE created_by = 'the schedule'").fetchall()
        assert queued == [("routing.loop", "permutation")]
        busy = conn.execute("SELECT gain, detail FROM recommendation WHERE recommendation_id = %s", [number]).fetchone()
    assert busy is not None
    before, after = (busy[1][side]["max_load_bytes"] for side in ("before", "after"))
    assert busy[1]["reconstruction"]["converged"], "ports and adapters say the same"
    spared = np.array(simulated_past.TREE_RATES) * simulated_past.PORTS_S
    assert ratios is not None and minutes is not None
    # The minutes have the load of their hour, the ports that of a busy one: the same waiting within that.
    assert 1 < ratios[0] < 10 and 0.1 < ratios[0] / minutes[0] < 10
    assert before == pytest.approx(spared.sum(), rel=0.01) and after == pytest.approx(spared.max(), rel=0.01)


@pytest.mark.parametrize("device", ["router", "endpoint"])
def test_a_writer_that_makes_the_days_first_partitions_meets_the_tree_in_no_deadlock(
    embedded_db: str, device: str
) -> None:
    """The writer has made partitions of one device and has yet to write the other and to emit, when the tree comes to the same partitions."""
    with connect(embedded_db, role="writer") as writer, ThreadPoolExecutor(1) as pool:
        fabric_id = fabrics.save_fabric(writer, build_xgft(2, [2, 2], [1, 1]))
        writer.commit()
        routers, endpoints = (
            counters.Rows(
                np.array([fabric_id], np.int32), np.zeros(1, np.int32), np.array([UNTIL_S - 60]), np.ones(1, np.int32),
                np.ones(1), np.ones((1, len(columns))),
            )
            for columns in (ROUTER_COLUMNS, ENDPOINT_COLUMNS)
        )  # fmt: skip
        counters.write_batch(writer, counters.Batch(routers=routers))
        if device == "endpoint":
            counters.write_batch(writer, counters.Batch(endpoints=endpoints))
        made = pool.submit(simulated_past.store_tree, embedded_db, UNTIL_S)
        with connect(embedded_db, autocommit=True) as looking:
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            eventually(lambda: made.done() or looking.execute(waits).fetchone() != (0,), 600, what="the lock's queue")
        counters.write_batch(writer, counters.Batch(endpoints=endpoints))
        emit_event(writer, "counters", {"fabric_id": fabric_id, "through": "2026-11-25T00:00:00+00:00", "routers": 1})
        writer.commit()
        assert made.result(60) > 0


# The embedded server of the demo machine takes less memory and disk than a site's.


@pytest.mark.integration
@pytest.mark.parametrize(("twin", "small"), [("demo", True), ("none", False)])
def test_the_demos_server_is_small(twin: str, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    home = server_folder("demo-")
    monkeypatch.setenv("FLITWATCH_HOME", str(home))
    (server,) = list_servers("embedded", twin)
    try:
        with psycopg.connect(server.ensure()) as conn:
            rows = conn.execute(
                "SELECT name, setting::bigint * CASE unit WHEN '8kB' THEN 8 ELSE 1024 END FROM pg_settings"
                " WHERE name IN ('shared_buffers', 'max_wal_size')"
            ).fetchall()
        limits_kb = {"shared_buffers": 128 << 10, "max_wal_size": 192 << 10}
        assert all((kb <= limits_kb[name]) is small for name, kb in rows), rows
    finally:
        server.stop()
        Embedded(home / "pg").destroy()


# `flitwatch twin variants` and `campaign`.


def test_variants_are_listed_from_easy_to_hard(capfd: pytest.CaptureFixture[str]) -> None:
    main(["twin", "variants", "--json"])
    variants = json.loads(capfd.readouterr().out)
    grades = [variant["grade"] for variant in variants.values()]
    assert grades == sorted(grades) and next(iter(variants)) == "plain" and {"drift", "pairs", "law"} < variants.keys()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["amg-128", "--variant", "mars"], "there is no variant 'mars'"),
        (["hpl-1"], "there is no scenario 'hpl-1'"),
    ],
)
def test_an_unknown_variant_or_application_gets_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit):
        main(["twin", "campaign", *arguments, "--out", str(tmp_path / "out")])
    output = capfd.readouterr().err
    assert words in output and "Choose one of" in output and "Traceback" not in output
    assert not (tmp_path / "out").exists()


# To whom a start opens the API: beyond this machine only with hosts named, and without a login for reading only, unless somebody says otherwise.


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("host", LOOPBACK)
def test_on_this_machine_callers_read_and_hosts_are_this_machines(host: str) -> None:
    made = exposure_of(host, (), None, False, usual="viewer")
    assert (made.hosts, made.anonymous) == (LOOPBACK, "viewer")
    assert exposure_of(host, (), "operator", False, usual="viewer").anonymous == "operator"
    assert exposure_of(host, ("a,b", "c"), None, False, usual="user").hosts == ("a", "b", "c")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "login1"])
@pytest.mark.parametrize(
    ("hosts", "anonymous", "why"),
    [
        ((), None, "rebinding"),
        (("*",), None, "rebinding"),
        (("a", "*"), "viewer", "rebinding"),
        (("a",), "user", "would be user"),
        (("a",), "operator", "would be operator"),
    ],
)
def test_beyond_this_machine_what_is_open_is_refused_unless_it_is_meant(
    host: str, hosts: tuple[str, ...], anonymous: str | None, why: str
) -> None:
    with pytest.raises(BadRequest, match=why) as refused:
        exposure_of(host, hosts, anonymous, False, usual="user")  # type: ignore[arg-type]
    assert "--insecure-network" in refused.value.advice
    made = exposure_of(host, hosts, anonymous, True, usual="user")  # type: ignore[arg-type]
    assert made.anonymous == (anonymous or "none") and made.hosts == (() if "*" in hosts else hosts)


@pytest.mark.parametrize("anonymous", [None, "none", "viewer"])
def test_beyond_this_machine_named_hosts_and_readers_are_served(anonymous: str | None) -> None:
    made = exposure_of("0.0.0.0", ("flit.example",), anonymous, False, usual="user")  # type: ignore[arg-type]
    assert (made.hosts, made.anonymous) == (("flit.example",), anonymous or "none")


@pytest.mark.system("processes")
@pytest.mark.parametrize("command", ["api", "up"])
def test_the_commands_refuse_before_anything_starts(command: str, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "flitwatch.main", command, "--host", "0.0.0.0", "--port", "18799"]
    done = subprocess.run(
        [*argv, *(["--ephemeral"] if command == "api" else [])],
        capture_output=True,
        text=True,
        timeout=60,
        env={"FLITWATCH_HOME": str(tmp_path)},
    )
    assert done.returncode == 1 and "DNS rebinding" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_up_checked_its_api_takes() -> None:
    words = _format_exposure(exposure_of("127.0.0.1", (), None, False, usual="user"))
    assert words == [
        "--allow-host",
        "127.0.0.1",
        "--allow-host",
        "::1",
        "--allow-host",
        "localhost",
        "--anonymous",
        "user",
        "--insecure-network",
    ]


def test_the_containers_name_their_hosts_and_let_readers_in_only() -> None:
    command = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["api"]["command"]
    hosts = [value for option, value in pairwise(command) if option == "--allow-host"]
    anonymous = next(value for option, value in pairwise(command) if option == "--anonymous")
    assert "--insecure-network" not in command
    made = exposure_of(command[command.index("--host") + 1], hosts, anonymous, False, usual="user")
    assert (made.hosts, made.anonymous) == (("localhost", "127.0.0.1"), "viewer")
