"""`flitwatch collect ufm` against a server with UFM's REST over TLS and telemetry in CSV, JSON and Prometheus' text: counters reach their
ports once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest.exporting import logged
from ingest.port_counters import endpoint_words, named, switch_ports
from ingest.writing import START_S, drain_log, kept
from support.ufm import PASSWORD, TOKEN, USER, UfmServer, documents_of, public_cables
from support.waiting import eventually

from flitwatch_db import connect

pytestmark = pytest.mark.integration

CABLES = [("n1", "mlx5_0", "leaf1", 1), ("n2", "mlx5_0", "leaf1", 2), ("n3", "mlx5_0", "leaf2", 1)]
LEAF1, N1 = "5c25730300000001", "0c42a10300000001"
HEADER = (
    "timestamp,source_id,tag,node_guid,port_guid,port_num,PortXmitDataExtended,PortXmitWaitExtended,raw_ber,new_counter"
)


def row(guid: str, port: int, seconds: int, words: int, waits: int) -> str:
    at_us = (START_S + seconds) * 1_000_000
    return f"{at_us},0x{guid},,0x{guid},0x{guid},{port},{words},{waits},1e-15,3"


def page(seconds: int) -> bytes:
    rows = [row(LEAF1, 1, seconds, 1000 * seconds, 7 * seconds), row(N1, 1, seconds, 500 * seconds, 0)]
    return ("\n".join([HEADER, *rows]) + "\n").encode()


def collect(*words: str, folder: Path, status: int = 0) -> dict[str, object]:
    argv = [
        sys.executable,
        "-m",
        "flitwatch.main",
        "collect",
        "ufm",
        "--once",
        "--json",
        "--state",
        str(folder / "state.json"),
        *words,
    ]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=120, env=os.environ | {"FLITWATCH_HOME": str(folder / "home")}
    )
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if status in (0, 3) else {"said": " ".join(done.stderr.split())}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "credentials"
    file.write_text(f"{USER}:{PASSWORD}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def clock() -> list[int]:
    return [0]


@pytest.fixture
def server(tmp_path: Path, clock: list[int]) -> Iterator[UfmServer]:
    pages = {"/csv/xcset/ib_basic_debug": lambda: page(clock[0])}
    running = UfmServer(documents_of(CABLES), pages, tmp_path)
    yield running
    running.close()


def asking(server: UfmServer, db: str, secret: Path) -> list[str]:
    """The words that name the server and the database."""
    return ["--db", db, "--url", server.url, "--credentials-file", str(secret), "--ca-file", str(server.ca)]


@pytest.mark.system("processes")
def test_topology_and_counters_arrive_once_over_restarts(
    server: UfmServer, embedded_db: str, tmp_path: Path, secret: Path, clock: list[int]
) -> None:
    words = ["--db", embedded_db, "--url", server.url, "--credentials-file", str(secret), "--ca-file", str(server.ca)]
    words += ["--fabric", "ufm", "--telemetry", f"{server.url}/csv/xcset/ib_basic_debug"]
    for seconds in (1, 2, 2, 3, 3):
        clock[0] = seconds
        found = collect(*words, folder=tmp_path, status=3)
        assert (found["switches"], found["endpoints"]) == (2, 3)
        assert found["samples"] == {"published": 4, "unused": 1, "unmapped": 1}
        # In the log once, in every report.
        assert [one["what"] for one in found["refused"]] == ["new_counter"] and found["refused_total"] == 1
    drain_log(embedded_db, embedded_db)
    assert switch_ports(embedded_db) == {("leaf1", 1): (2000, 2 * 14)}
    assert endpoint_words(embedded_db) == {f"ufm n1 {N1}": 4 * 1000}
    # The column that no row of the table has is named once, however many runs see it.
    assert [reason for metric, reason in named(embedded_db) if metric == "new_counter"] == [
        "the table has no row for this metric. Add one with --map"
    ]
    assert kept(embedded_db).duplicates == 2 * 4
    with connect(embedded_db) as conn:
        row = conn.execute("SELECT attributes -> 'switch_lids' FROM fabric WHERE name = 'ufm'").fetchone()
    assert row == ([1000, 1001],)


def test_a_token_goes_to_the_third_interface_and_to_no_other_host(
    server: UfmServer, embedded_db: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    other = UfmServer({}, {"/metrics": lambda: b""})
    try:
        words = ["--db", embedded_db, "--url", server.url, "--credentials-file", str(file), "--ca-file", str(server.ca)]
        found = collect(
            *words, "--telemetry", other.url.replace("localhost", "127.0.0.1") + "/metrics", folder=tmp_path
        )
    finally:
        other.close()
    assert found["switches"] == 2 and found["pages_read"] == 1
    assert {shown for path, shown in server.asked} == {f"Basic {TOKEN}"}
    assert other.asked == [("/metrics", "")]


@pytest.mark.system("processes")
def test_who_is_not_trusted_is_not_asked(server: UfmServer, embedded_db: str, tmp_path: Path, secret: Path) -> None:
    words = ["--db", embedded_db, "--url", server.url, "--credentials-file", str(secret)]
    said = collect(*words, folder=tmp_path, status=1)["said"]
    assert "CERTIFICATE_VERIFY_FAILED" in str(said) and server.asked == []
    plain = ["--db", embedded_db, "--url", "http://ufm.example.org", "--credentials-file", str(secret)]
    assert "without TLS" in str(collect(*plain, folder=tmp_path, status=1)["said"])
    secret.chmod(0o644)
    assert "users other than its owner can read or write it" in str(collect(*words, folder=tmp_path, status=1)["said"])
    secret.chmod(0o600)
    secret.write_text("reader:wrong")
    trusting = [*words, "--ca-file", str(server.ca)]
    said = str(collect(*trusting, folder=tmp_path, status=1)["said"])
    assert "401" in said and "wrong" not in said.replace("password", "")


@pytest.mark.system("processes")
@pytest.mark.parametrize(
    "body", [page(3)[:-4], b"\xff\xfe\x00", b"{{{", HEADER.encode() + b"\n1,2\n", b"<html>a proxy's page</html>\n"]
)
def test_a_bad_page_is_a_dead_letter_once_and_counts_nothing(embedded_db: str, tmp_path: Path, body: bytes) -> None:
    server = UfmServer({}, {"/csv/metrics": lambda: body})
    try:
        for _ in range(2):
            found = collect("--db", embedded_db, "--telemetry", f"{server.url}/csv/metrics", folder=tmp_path, status=3)
            assert (found["pages_failed"], found["published"]) == (1, 0)
            assert [one["what"] for one in found["refused"]] == [f"{server.url}/csv/metrics"]
    finally:
        server.close()
    ((topic, value, headers),) = logged(embedded_db)
    assert topic == "flitwatch.rejected.v1" and value == body and b"its page is" in headers["reason"]


@pytest.mark.system("processes")
def test_a_bad_topology_is_a_dead_letter_and_changes_nothing(
    server: UfmServer, embedded_db: str, tmp_path: Path, secret: Path
) -> None:
    words = [*asking(server, embedded_db, secret), "--fabric", "ufm"]
    collect(*words, folder=tmp_path)
    server.broken["links"] = json.dumps(documents_of(CABLES)["links"])[:300].encode()
    assert "is not JSON" in str(collect(*words, folder=tmp_path, status=1)["said"])
    with connect(embedded_db) as conn:
        row = conn.execute("SELECT count(*) FROM endpoint JOIN fabric USING (fabric_id) WHERE name = 'ufm'").fetchone()
    assert row == (3,)
    assert [topic for topic, *_ in logged(embedded_db)] == ["flitwatch.rejected.v1"]


@pytest.mark.system("processes")
@pytest.mark.shared
def test_the_public_telemetry_reaches_the_ports_of_its_guids(
    shared: Path, embedded_db: str, tmp_path: Path, secret: Path
) -> None:
    public = json.loads((shared / "samples/doors/ufm/small_telemetry.json").read_text())
    switch = next(port["node_guid"] for port in public["values"] if port["port_num"] > 2)
    documents = documents_of(public_cables(shared / "samples/doors/ufm/switch_to_host_topo1.ndt")[:8])
    text = json.dumps(documents).replace(LEAF1, switch.removeprefix("0x"))
    ports = [port["port_num"] for port in public["values"] if port["node_guid"] == switch]
    later = json.loads(json.dumps(public))
    for port in later["values"]:
        port["timestamp"] += 1_000_000
        port["Infiniband_MBOut_u_Gb"] += 288
        port["Infiniband_PckOut_u_Packets"] += 1
    bodies = iter([json.dumps(public).encode(), json.dumps(later).encode()])
    server = UfmServer(json.loads(text), {"/json/metrics": lambda: next(bodies)}, tmp_path)
    try:
        words = asking(server, embedded_db, secret)
        for _ in range(2):
            found = collect(*words, "--telemetry", f"{server.url}/json/metrics", folder=tmp_path)
    finally:
        server.close()
    assert "unmapped" not in found["samples"] and "invalid" not in found["samples"]
    drain_log(embedded_db, embedded_db)
    cabled = {(switch, port) for port in ports if 1 <= port <= 8}
    # A management packet has 288 bytes, 72 words: what InfiniBand's counters count.
    assert len(switch_ports(embedded_db)) == len(cabled) > 0
    assert {flits for flits, _ in switch_ports(embedded_db).values()} == {72}


@pytest.mark.system("processes")
def test_it_follows_until_it_is_stopped(
    server: UfmServer, embedded_db: str, tmp_path: Path, secret: Path, clock: list[int]
) -> None:
    clock[0] = 1
    argv = [
        sys.executable,
        "-m",
        "flitwatch.main",
        "collect",
        "ufm",
        "--db",
        embedded_db,
        "--url",
        server.url,
        "--interval",
        "0.1",
        "--discover-every",
        "1",
    ]
    argv += [
        "--credentials-file",
        str(secret),
        "--ca-file",
        str(server.ca),
        "--telemetry",
        f"{server.url}/csv/xcset/ib_basic_debug",
    ]
    environment = os.environ | {"FLITWATCH_HOME": str(tmp_path / "home")}
    with subprocess.Popen([*argv, "--state", str(tmp_path / "s.json")], env=environment) as collector:
        eventually(
            lambda: len([path for path, _ in server.asked if path.startswith("/csv")]) >= 3,
            what="three requests",
            process=collector,
        )
        # The cable of leaf1's first port loses three lanes.
        ports = documents_of(CABLES)["ports"]
        ports[0]["active_width"] = ports[1]["active_width"] = "1x"
        server.broken["ports"] = json.dumps(ports).encode()
        eventually(
            lambda: any(topic == "ldms.ib_link" for topic, *_ in logged(embedded_db)),
            what="a change of speed",
            process=collector,
        )
        collector.terminate()
        assert collector.wait(30) == 0
    changes = [json.loads(value) for topic, value, _ in logged(embedded_db) if topic == "ldms.ib_link"]
    assert [(one["instance"], one["value"]) for one in changes] == [
        (f"{LEAF1}/1/link_rate", 200_000_000_000_000),
        (f"{LEAF1}/1/link_rate", 50_000_000_000_000),
    ]
    paths = [path for path, _ in server.asked]
    assert paths.count("/ufmRest/resources/links") < paths.count("/csv/xcset/ib_basic_debug")
