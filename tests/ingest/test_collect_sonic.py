"""`flitwatch collect sonic` against real Redis servers with SONiC's databases, and against dumps: a leaf-spine with its stalls, queues and marks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis
from api.conftest import serving
from ingest.port_counters import CABLED, by_port, counted, lanes, named, observed, queued
from ingest.writing import START_S, drain_log, kept
from support.ethernet import BYTES_A_US, PORTS, SWITCHES, Tables, application, cables, counters, dump
from support.waiting import eventually, free_port

from flitwatch_api.settings import Settings
from flitwatch_db import connect

PROGRAM = "/usr/bin/redis-server"
APPLICATION, COUNTERS, CONFIGURATION = 0, 2, 4

pytestmark = [
    pytest.mark.system("processes"),
    pytest.mark.integration,
    pytest.mark.skipif(not os.path.exists(PROGRAM), reason="needs redis-server: apt-get install redis-server"),
]


class RedisServer:
    """Redis server; `password` is required from every client."""

    def __init__(self, folder: Path, password: str = "") -> None:
        self.port, self.password = free_port(), password
        self.socket = folder / "redis.sock"
        argv = [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", "--databases", "16", "--save", "", "--appendonly", "no"]  # fmt: skip
        argv += ["--dir", str(folder), "--unixsocket", str(self.socket)]
        argv += ["--requirepass", password] if password else []
        with open(folder / "redis.log", "ab") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, env=os.environ | {"LANG": "C"})
        eventually(
            lambda: self.client(0).ping(),
            every_s=0.02,
            what="Redis to answer",
            retry=(redis.exceptions.ConnectionError,),
            process=self._process,
            detail=(folder / "redis.log").read_text,
        )

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def client(self, database: int) -> redis.Redis:
        return redis.Redis(port=self.port, db=database, password=self.password or None, decode_responses=True)

    def fill(self, database: int, tables: Tables) -> None:
        """Set these hashes and keep the others."""
        pipeline = self.client(database).pipeline()
        for key, fields in tables.items():
            pipeline.hset(key, mapping=fields)
        pipeline.execute()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


def collect(*words: str, folder: Path, status: int = 3) -> dict[str, object]:
    """One look. These switches count something that no catalogue knows, so it ends with 3."""
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "sonic", "--once", "--json"]
    argv += ["--state", str(folder / "state.json"), *words]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=120, env=os.environ | {"FLITWATCH_HOME": str(folder / "home")}
    )
    assert done.returncode == status, done.stderr + done.stdout
    found = json.loads(done.stdout) if done.stdout else {}
    return found | {"said": " ".join(done.stderr.split()), "lines": len(done.stderr.strip().splitlines())}


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, RedisServer]]:
    running = {}
    for switch in SWITCHES:
        (tmp_path / switch).mkdir()
        running[switch] = RedisServer(tmp_path / switch)
        running[switch].fill(APPLICATION, application(switch))
        running[switch].fill(CONFIGURATION, {"DEVICE_METADATA|localhost": {"hostname": switch}})
    yield running
    for server in running.values():
        server.close()


def tick(servers: dict[str, RedisServer], second: int, start: int = 10**15) -> None:
    for server in servers.values():
        server.fill(COUNTERS, counters(counted(second, start), queued(second)))


def places(servers: dict[str, RedisServer]) -> list[str]:
    return [server.url for server in servers.values()]


def test_a_leaf_spine_arrives_with_its_stalls_queues_and_marks(
    servers: dict[str, RedisServer], embedded_db: str, tmp_path: Path
) -> None:
    for second in (1, 2, 4):
        tick(servers, second)
        found = collect("--db", embedded_db, "--fabric", "roce", *places(servers), folder=tmp_path)
        assert (found["fabric"], found["switches"], found["endpoints"], found["read"]) == ("roce", 4, 4, 4)
        assert found["failed"] == {} and found["bad"] == 0
        assert found["unknown"] == {"SAI_PORT_STAT_OF_TOMORROW": 16}
    drain_log(embedded_db, embedded_db)
    assert by_port(embedded_db) == {
        (switch, port): (3 * (1000 + number), 3 * (22 + number) * BYTES_A_US, 3 * 6)
        for switch, ports in CABLED.items()
        for port in ports
        for number in [int(port.removeprefix("Ethernet"))]
    }
    words = lanes(embedded_db, "router_lane_10s", "sl_flits")
    assert {lane for _, _, lane in words} == {3, 4}
    # Of leaf1's Ethernet8, which is its third port.
    assert (words[0, 3, 3], words[0, 3, 4]) == (3 * 308, 3 * 408)
    pauses = lanes(embedded_db, "router_lane_10s", "stall_cycles")
    assert (pauses[0, 3, 3], pauses[0, 3, 4]) == (3 * 28 * BYTES_A_US, 3 * 2 * BYTES_A_US)
    with connect(embedded_db) as conn:
        kinds = conn.execute("SELECT kind, technology FROM fabric").fetchone()
        marks = conn.execute("SELECT columns FROM ldms_schema WHERE name = 'ethernet_other'").fetchall()
    assert kinds == ("fat_tree", "ethernet")
    assert {column["name"] for column in marks[0][0]} >= {"SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS_3"}  # fmt: skip
    # 16 ports in three readings; and of the ports without a cable, which have no place, a port's and a queues' record.
    assert observed(embedded_db) == 3 * (16 + 2 * 4)
    # A counter that nobody knows is named once, however many ports and runs see it.
    assert [reason for metric, reason in named(embedded_db) if metric.endswith("TOMORROW")] == [
        "the catalogue does not know this counter"
    ]


def test_the_page_s_answers_have_the_tree_with_its_stalls(embedded_db: str, tmp_path: Path) -> None:
    """What the page of a fabric draws: levels, ports by their own names, and each port's pauses over its bytes."""
    for second in (0, 1, 2):
        for switch in SWITCHES:
            file = tmp_path / f"{switch}.json"
            file.write_text(json.dumps([dump(application(switch)), dump(counters(counted(second), queued(second)))]))
            os.utime(file, (START_S + 10 * second, START_S + 10 * second))
        collect(
            "--db", embedded_db, "--fabric", "roce", *map(str, sorted(tmp_path.glob("*[0-9].json"))), folder=tmp_path
        )
    drain_log(embedded_db, embedded_db)
    with serving(Settings(db=embedded_db, api_anonymous="user")) as api:
        client = httpx.Client(base_url=f"{api.url}/api/v1/fabrics/roce", timeout=60)
        window = {"at": START_S + 30, "window": "60s"}
        figures = client.get("/stalls", params=window).json()
        leaf = client.get("/routers/0", params=window).json()
    assert {name for name, one in figures["classes"].items() if one["ratio"]} == {"up", "down"}
    assert (leaf["name"], leaf["level"], leaf["nodes"]) == ("leaf1", 0, ["gpu1", "gpu2"])
    assert [(tile["name"], tile["class"], tile["peer"]["name"]) for tile in leaf["tiles"]] == [
        ("Ethernet0", "host", "gpu1"),
        ("Ethernet4", "host", "gpu2"),
        ("Ethernet8", "up", "spine1"),
        ("Ethernet12", "up", "spine2"),
    ]
    assert [tile["stall_cycles"] for tile in leaf["tiles"]] == [2.0 * (22 + port) * BYTES_A_US for port in PORTS]
    assert [tile["flits"] for tile in leaf["tiles"]] == [2.0 * (1000 + port) for port in PORTS]


def test_a_switch_that_starts_anew_is_a_gap(servers: dict[str, RedisServer], embedded_db: str, tmp_path: Path) -> None:
    for second, start in ((1, 10**15), (2, 10**15), (3, 0), (4, 0)):
        tick(servers, second, start)
        collect("--db", embedded_db, "--fabric", "roce", *places(servers), folder=tmp_path)
    drain_log(embedded_db, embedded_db)
    assert by_port(embedded_db)["leaf1", "Ethernet0"] == (2 * 1000, 2 * 22 * BYTES_A_US, 2 * 6)
    with connect(embedded_db) as conn:
        assert {row[0] for row in conn.execute("SELECT reason FROM gap").fetchall()} == {"reset"}


def test_a_switch_that_is_away_stops_no_other(
    servers: dict[str, RedisServer], embedded_db: str, tmp_path: Path
) -> None:
    tick(servers, 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = f"redis://127.0.0.1:{taken.getsockname()[1]}"
        found = collect("--db", embedded_db, *places(servers)[:3], away, folder=tmp_path)
    assert (found["read"], found["switches"]) == (3, 4)  # the fourth by what its neighbours say
    assert sum(found["failed"].values()) == 1 and away in str(found["said"])  # type: ignore[attr-defined]


def test_estimates_count_where_the_device_does_not(embedded_db: str, tmp_path: Path) -> None:
    """From dumps, whose time is that of the file; SAI's own pause comes before SONiC's estimate of it."""
    for second in (0, 10):
        for switch in SWITCHES:
            ports = {
                port: {
                    "EST_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US": 9 * second,
                    "EST_PORT_STAT_PFC_4_RX_PAUSE_DURATION_US": 1000 * second,
                    "SAI_PORT_STAT_PFC_4_RX_PAUSE_DURATION_US": 2 * second,
                    "EST_PORT_STAT_PFC_4_RECENT_PAUSE_TIME_US": 5,
                    "SAI_PORT_STAT_IF_OUT_OCTETS": 100 * second,
                }
                for port in CABLED[switch]
            }
            file = tmp_path / f"{switch}.json"
            file.write_text(json.dumps([dump(application(switch)), dump(counters(ports, {}))]))
            os.utime(file, (START_S + second, START_S + second))
        files = [str(tmp_path / f"{switch}.json") for switch in SWITCHES]
        # What is read twice counts once.
        for _ in range(2):
            found = collect("--db", embedded_db, "--fabric", "roce", *files, folder=tmp_path, status=0)
            assert (found["switches"], found["read"], found["unused"]) == (4, 4, 12)
    drain_log(embedded_db, embedded_db)
    assert set(by_port(embedded_db).values()) == {(1000.0, (9 * 10 + 2 * 10) * BYTES_A_US, 0.0)}
    assert kept(embedded_db).duplicates == 2 * 12


def test_topology_alone_from_leaves_that_nobody_counts(embedded_db: str, tmp_path: Path) -> None:
    folder = tmp_path / "leaf1"
    folder.mkdir()
    (folder / "APPL_DB.json").write_text(json.dumps(dump(application("leaf1"))))
    said = collect("--db", embedded_db, str(folder), folder=tmp_path, status=1)
    assert "has no COUNTERS_PORT_NAME_MAP" in str(said["said"]) and "Traceback" not in str(said["said"])
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT count(*) FROM router").fetchone() == (3,)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere/leaf1.json"], "leaf1.json"),
        (["redis://10.0.0.1:6379", "--password-file", "{secret}"], "without TLS"),
        (["redis://:secret@127.0.0.1"], "other users can see a password"),
        (["http://127.0.0.1"], "is not the address of a switch's Redis"),
        (["{broken}"], "is not JSON"),
        (["{empty}"], "has no COUNTERS_PORT_NAME_MAP"),
        (["redis://127.0.0.1:1"], "Check the address of SONiC's Redis."),
    ],
)
def test_what_cannot_be_read_is_one_line(embedded_db: str, tmp_path: Path, words: list[str], said: str) -> None:
    secret, broken, empty = tmp_path / "secret", tmp_path / "broken.json", tmp_path / "empty.json"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    broken.write_text('{"COUNTERS_PORT_NAME_MAP": ')
    empty.write_text("{}")
    words = [word.format(secret=secret, broken=broken, empty=empty) for word in words]
    found = collect("--db", embedded_db, *words, folder=tmp_path, status=1)
    assert said in str(found["said"]) and "Traceback" not in str(found["said"])


def test_passwords_are_asked_and_shown_to_nobody(embedded_db: str, tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "right-password")
    try:
        server.fill(APPLICATION, application("leaf1"))
        server.fill(COUNTERS, counters(counted(1), queued(1)))
        secret = tmp_path / "secret"
        secret.write_text("right-password\n")
        secret.chmod(0o600)
        words = ["--db", embedded_db, "--password-file", str(secret)]
        assert collect(*words, server.url, folder=tmp_path)["read"] == 1
        assert collect(*words, f"unix:{server.socket}", folder=tmp_path)["read"] == 1
        assert "asks for a password" in str(collect("--db", embedded_db, server.url, folder=tmp_path, status=1)["said"])
        secret.write_text("wrong-password\n")
        said = str(collect(*words, server.url, folder=tmp_path, status=1)["said"])
        assert "refuses the password" in said and "wrong-password" not in said
        secret.chmod(0o644)
        assert "users other than its owner" in str(collect(*words, server.url, folder=tmp_path, status=1)["said"])
    finally:
        server.close()


def test_a_switch_without_neighbours_is_one_line(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "leaf9.json"
    file.write_text(json.dumps(counters(counted(1), queued(1))))
    found = collect("--db", embedded_db, str(file), folder=tmp_path, status=1)
    assert "no switch has a neighbour" in str(found["said"])
    # Its counters are in the log, for when the topology is there.
    assert found["read"] == 1 and found["published"] == 3 * 4
    assert len(cables()) == 8
