"""`flitwatch collect gnmi` against openconfig/gnmi's fake target over TLS, and against a server that asks for a password."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from ingest.port_counters import CABLED, by_port, counted, lanes, queued
from ingest.writing import drain_log
from pygnmi.spec.v080 import gnmi_pb2, gnmi_pb2_grpc
from support.ethernet import BYTES_A_US, LEAVES, PORTS, SWITCHES, Tables, alias, application, counters, mac, openconfig
from support.gnmi_server import GnmiTarget, update
from support.gnmi_streams import GnmiServer, Notification, OpenConfigSwitch, SonicTelemetry
from support.ufm import certificate
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_domain.errors import Unavailable
from flitwatch_domain.importers.lldp import fabric_of
from flitwatch_ingest.collectors import gnmi_stream
from flitwatch_ingest.collectors.gnmi import GnmiSwitch, Sonic
from flitwatch_ingest.collectors.gnmi_stream import GnmiStream
from flitwatch_ingest.sources.ethernet import Reading
from flitwatch_ingest.sources.openconfig import add_counters, switch_of
from flitwatch_stream.backends import open_log


def collect(*words: str, folder: Path, status: int = 0) -> dict[str, Any]:
    """Summary of `flitwatch collect gnmi --once`, and what it said."""
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "gnmi", "--once", "--json"]
    argv += ["--state", str(folder / "state.json"), *words]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=120, env=os.environ | {"FLITWATCH_HOME": str(folder / "home")}
    )
    assert done.returncode == status, done.stderr + done.stdout
    found = json.loads(done.stdout) if done.stdout else {}
    return found | {"said": " ".join(done.stderr.split())}


def notification(switch: str, second: int) -> str:
    """Counters leaf by leaf, queues and neighbours as JSON, as targets mix them."""
    parts = [f"timestamp: {time.time_ns()}"]
    for port in PORTS:
        at = f"/interfaces/interface[name=Ethernet{port}]"
        parts += [
            update(f"{at}/state/counters/out-octets", 10**15 + (1000 + port) * second),
            update(f"{at}/state/counters/out-pkts", 10**15 + 6 * second),
            update(f"{at}/state/counters/in-octets", 7 * second),
            update(f"{at}/state/counters/out-pkts-of-tomorrow", second),
            update(f"{at}/state/counters/last-clear", "2026-11-25T00:00:00Z"),
            update(f"{at}/openconfig-if-ethernet:ethernet/state/counters", {"in-mac-pause-frames": str(9 * second)}),
        ]
        for queue in (3, 4):
            state = {
                "name": f"UC{queue}",
                "openconfig-qos:transmit-octets": str((100 * queue + port) * second),
                "transmit-pkts": str(queue * second),
                "ecn-marked-pkts": str(second),
            }
            path = f"/qos/interfaces/interface[interface-id=Ethernet{port}]/output/queues/queue[name=UC{queue}]/state"
            parts.append(update(path, state))
    tree = openconfig(switch)
    parts.append(update("/lldp", tree["openconfig-lldp:lldp"]))
    parts.append(update("/interfaces", tree["openconfig-interfaces:interfaces"]))
    return " ".join(parts)


@pytest.mark.system("processes")
@pytest.mark.integration
def test_a_leaf_spine_by_gnmi_over_tls(embedded_db: str, tmp_path: Path) -> None:
    tls = tmp_path / "gnmi.crt", tmp_path / "gnmi.key"
    certificate(*tls)
    targets = {switch: GnmiTarget(tmp_path, tls) for switch in SWITCHES}
    words = ["--db", embedded_db, "--fabric", "roce", "--ca-file", str(tls[0])]
    words += [target.target for target in targets.values()]
    try:
        for second in (1, 3):
            for switch, target in targets.items():
                target.answer(notification(switch, second))
            found = collect(*words, folder=tmp_path, status=3)
            assert (found["switches"], found["endpoints"], found["read"], found["ports"]) == (4, 4, 4, 16)
            assert found["failed"] == {} and found["unknown"] == {"out-pkts-of-tomorrow": 16} and found["bad"] == 0
            assert "1 counters that the catalogue does not know: out-pkts-of-tomorrow" in found["said"]
        # Who is not trusted is not asked.
        said = collect(*words[:4], words[-1], folder=tmp_path, status=1)["said"]
        assert "Check the address of the switch's gNMI server, and its certificate in --ca-file." in said
    finally:
        for target in targets.values():
            target.close()
    drain_log(embedded_db, embedded_db)
    # Pause frames are no time: the stalls are unknown.
    assert by_port(embedded_db) == {
        (switch, port): (2 * (1000 + int(port[8:])), 0, 2 * 6) for switch, ports in CABLED.items() for port in ports
    }
    words_sent = lanes(embedded_db, "router_lane_10s", "sl_flits")
    assert (words_sent[0, 3, 3], words_sent[0, 3, 4]) == (2 * 308, 2 * 408)
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT kind, technology FROM fabric").fetchone() == ("fat_tree", "ethernet")
        speeds = conn.execute("SELECT DISTINCT bandwidth_bps FROM link").fetchall()
        stalls = conn.execute("SELECT count(*) FROM port_10s, unnest(stall_cycles) v WHERE v IS NOT NULL").fetchone()
    assert speeds == [(400e9,)] and stalls == (0,)
    assert len(LEAVES) == 2


class _Guarded(gnmi_pb2_grpc.gNMIServicer):
    """Asks for user and password; then sends what is no JSON."""

    def Subscribe(self, requests: Any, context: Any) -> Iterator[gnmi_pb2.SubscribeResponse]:
        shown = dict(context.invocation_metadata())
        if (shown.get("username"), shown.get("password")) != ("reader", "right-password"):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "unknown user")
        broken = gnmi_pb2.SubscribeResponse()
        one = broken.update.update.add()
        one.path.elem.add(name="lldp")
        one.val.json_ietf_val = b"{"
        yield broken


@pytest.mark.system("processes")
@pytest.mark.integration
def test_what_does_not_answer_is_one_line(embedded_db: str, tmp_path: Path) -> None:
    server = grpc.server(ThreadPoolExecutor(4))
    gnmi_pb2_grpc.add_gNMIServicer_to_server(_Guarded(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    secret = tmp_path / "secret"
    secret.write_text("wrong-password\n")
    secret.chmod(0o600)
    words = ["--db", embedded_db, "--insecure-network"]
    shown = ["--user", "reader", "--password-file", str(secret)]
    try:
        said = collect(*words, f"127.0.0.1:{port}", *shown, folder=tmp_path, status=1)["said"]
        assert "unknown user. Check --user and --password-file." in said and "wrong-password" not in said
        secret.write_text("right-password\n")
        said = collect(*words, f"127.0.0.1:{port}", *shown, folder=tmp_path, status=1)["said"]
        assert "returns invalid JSON" in said
        assert "without TLS" in collect(*words, "leaf1.example.org:6030", *shown, folder=tmp_path, status=1)["said"]
        assert "Write HOST:PORT" in collect(*words, "leaf1", folder=tmp_path, status=1)["said"]
        assert "127.0.0.1:1:" in collect(*words, "127.0.0.1:1", folder=tmp_path, status=1)["said"]
    finally:
        server.stop(None)


def test_json_of_whole_trees_and_leaves_are_the_same() -> None:
    port = {"name": "Ethernet0", "state": {"counters": {"out-octets": "12", "in-octets": "bad"}}}
    whole = [((("interfaces", {}),), {"openconfig-interfaces:interface": [port]})]
    at = (("interfaces", {}), ("interface", {"name": "Ethernet0"}), ("state", {}), ("counters", {}))
    single = [((*at, ("out-octets", {})), 12), ((*at, ("in-octets", {})), "bad")]
    for updates in (whole, single):
        reading = Reading(1.0)
        add_counters(reading, updates)
        assert reading.ports == {"Ethernet0": {"out-octets": 12}} and reading.bad == {"in-octets": "bad"}


def test_neighbours_leaf_by_leaf_make_the_same_switch() -> None:
    def leaf_by_leaf(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
        for name, inner in value.items():
            plain = name.rpartition(":")[2]
            if isinstance(inner, dict):
                yield from leaf_by_leaf(inner, (*path, (plain, {})))
            elif isinstance(inner, list):
                for one in inner:
                    key = "id" if "id" in one else "name"
                    yield from leaf_by_leaf(one, (*path, (plain, {key: one[key]})))
            else:
                yield (*path, (plain, {})), inner

    switches = [switch_of(leaf_by_leaf(openconfig(switch)), "?") for switch in SWITCHES]
    fabric = fabric_of(switches, "gnmi", "roce")
    assert fabric.routers.name.tolist() == list(SWITCHES) and len(fabric.endpoints) == 4
    assert (fabric.links.bandwidth_bps == 400e9).all()


# Switches that send by gNMI: SONiC's databases by POLL and STREAM, OpenConfig by STREAM; breaks, silence, and messages that nobody can read.


EVERY_S = 0.2

ALIASES = {f"Ethernet{port}": alias(f"Ethernet{port}") for port in PORTS}


def databases(switch: str, second: int) -> dict[str, Tables]:
    return {
        "COUNTERS_DB": counters(counted(second), queued(second)),
        "APPL_DB": application(switch),
        "CONFIG_DB": {"DEVICE_METADATA|localhost": {"hostname": switch, "mac": mac(switch)}},
    }


@pytest.fixture
def opened() -> Iterator[Callable[..., GnmiStream]]:
    running: list[GnmiServer | GnmiStream] = []

    def stream(server: GnmiServer, **more: object) -> GnmiStream:
        found = GnmiStream(GnmiSwitch(server.start(), plain=True, **more), EVERY_S)  # type: ignore[arg-type]
        running.extend([found, server])
        return found

    yield stream
    for one in running:
        one.close() if isinstance(one, GnmiStream) else one.stop()


def samples(stream: GnmiStream, port: str, name: str, enough: int) -> list[tuple[float, int]]:
    """(time, value) of a port's counter in so many samples."""
    found: list[tuple[float, int]] = []

    def more() -> bool:
        try:
            readings = stream.count()
        except Unavailable:
            return False
        found.extend((one.at_s, one.ports[port][name]) for one in readings if name in one.ports.get(port, {}))
        return len(found) >= enough

    eventually(more)
    return found


@pytest.mark.parametrize("aliases", [{}, ALIASES])
def test_sonics_databases_say_what_its_redis_says(aliases: dict[str, str]) -> None:
    server = SonicTelemetry(databases("leaf1", 3), aliases)
    switch = GnmiSwitch(server.start(), plain=True, trees=Sonic())
    try:
        described = switch.describe()
        assert described.name == "leaf1" and set(described.ports) == set(ALIASES)
        assert {one.name for one in described.neighbours} >= {"spine1", "spine2"}
        (reading,) = switch.count()
        del server.databases["APPL_DB"]["PORT_TABLE:Ethernet0"]
    finally:
        server.stop()
    assert set(server.asked) == {"POLL"} and set(reading.ports) == set(ALIASES) and reading.bad == {}
    port = reading.ports["Ethernet4"]
    assert port["SAI_PORT_STAT_IF_OUT_OCTETS"] == 10**15 + 3 * 1004
    assert port["SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US"] == 10**15 + 3 * 24
    # Queue 9 is for multicast, and settings are no counters.
    assert port["SAI_QUEUE_STAT_BYTES_4"] == 3 * 404
    assert not any(name.endswith("_9") or name.startswith("PFC_WD") for name in port)


def test_a_switch_without_neighbours_is_a_switch_and_one_without_sonics_trees_is_reported() -> None:
    tables = databases("leaf1", 1)
    tables["APPL_DB"] = {key: row for key, row in tables["APPL_DB"].items() if not key.startswith("LLDP")}
    server, other = SonicTelemetry(tables), SonicTelemetry({})
    try:
        assert GnmiSwitch(server.start(), plain=True, trees=Sonic()).describe().neighbours == []
        with pytest.raises(Unavailable, match="Try another --trees"):
            GnmiSwitch(other.start(), plain=True, trees=Sonic()).count()
        # OpenConfig's way of asking is refused by this server, and says what to try.
        with pytest.raises(Unavailable, match="Try another --trees"):
            GnmiSwitch(f"127.0.0.1:{server.port}", plain=True).count()
    finally:
        server.stop()
        other.stop()


def test_samples_come_whole_and_at_the_switchs_times(opened: Callable[..., GnmiStream]) -> None:
    server = SonicTelemetry(databases("leaf1", 1), ALIASES)
    stream = opened(server, trees=Sonic())
    whole: list[Reading] = []

    def more() -> bool:
        whole.extend(stream.count())
        with server.lock:
            server.databases["COUNTERS_DB"] = counters(counted(len(whole) + 2), queued(len(whole) + 2))
        return len(whole) >= 6

    eventually(more)
    times = [one.at_s for one in whole]
    assert times == sorted(times) and len(set(times)) == len(times)
    for reading in whole:
        # Ports and queues come in two messages, and stand in one sample.
        assert set(reading.ports) == set(ALIASES)
        assert all(
            "SAI_QUEUE_STAT_BYTES_3" in one and "SAI_PORT_STAT_IF_OUT_OCTETS" in one for one in reading.ports.values()
        )
    values = [one.ports["Ethernet0"]["SAI_PORT_STAT_IF_OUT_OCTETS"] for one in whole]
    assert values == sorted(values) and values[-1] > values[0]


def test_a_break_loses_nothing_that_was_counted_and_is_reported(
    opened: Callable[..., GnmiStream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gnmi_stream, "_LEAST_PAUSE_S", 0.1)
    server = OpenConfigSwitch(openconfig("leaf1")["openconfig-lldp:lldp"])
    server.counters = {"out-octets": 100, "out-pkts": 1}
    stream = opened(server)
    assert samples(stream, "Ethernet0", "out-octets", 2)[-1][1] == 100
    server.breaks.set()
    with server.lock:
        server.counters = {"out-octets": 250, "out-pkts": 2}
    breaks = 0

    def again() -> bool:
        nonlocal breaks
        try:
            readings = stream.count()
        except Unavailable as problem:
            assert "the server restarts" in problem.message
            return False
        breaks += sum(one.breaks for one in readings)
        return any(one.ports.get("Ethernet0", {}).get("out-octets") == 250 for one in readings) and breaks > 0

    eventually(again)
    assert breaks == 1
    # A server that is away says so, each time it is looked at, and comes back.
    server.stop()
    with pytest.raises(Unavailable):
        eventually(lambda: stream.count() is None)
    with server.lock:
        server.counters = {"out-octets": 300, "out-pkts": 3}
    server.start()
    assert samples(stream, "Ethernet0", "out-octets", 1)[-1][1] == 300


def test_a_stream_that_falls_silent_is_opened_again(
    opened: Callable[..., GnmiStream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gnmi_stream, "_LEAST_PAUSE_S", 0.1)
    monkeypatch.setattr(gnmi_stream, "_SILENT_S", 1.0)
    server = OpenConfigSwitch({})
    server.counters = {"out-octets": 100}
    stream = opened(server)
    samples(stream, "Ethernet0", "out-octets", 1)
    server.silent.set()
    asked = server.asked.count("STREAM")

    def reopened() -> bool:
        with suppress(Unavailable):
            stream.count()
        return server.asked.count("STREAM") > asked

    eventually(reopened)
    server.silent.clear()


def test_what_cannot_be_read_is_kept_apart_and_the_stream_goes_on(opened: Callable[..., GnmiStream]) -> None:
    server = SonicTelemetry(databases("leaf1", 1))
    for body in (
        b"{",
        b'{"Ethernet0": [1]}',
        b'["x"]',
        b'{"Ethernet0": {"SAI_PORT_STAT_IF_OUT_OCTETS": "1_0"}}',
        b"[" * 10**5,
    ):
        one = Notification(timestamp=-1)
        update = one.update.add()
        update.path.elem.add(name="COUNTERS")
        update.path.elem.add(name="Ethernet*")
        update.val.json_ietf_val = body
        server.odd.append(one)
    stream = opened(server, trees=Sonic())
    broken, bad, good = [], {}, 0

    def more() -> bool:
        nonlocal good
        for one in stream.count():
            broken.extend(one.broken)
            bad.update(one.bad)
            good += "Ethernet0" in one.ports
        return good >= 4 and len(broken) >= 2 and len(bad) >= 2

    eventually(more)
    assert [body[:1] for _, body in broken] == [b"{", b"["] and len(broken[1][1]) <= 64 << 10
    assert bad == {"COUNTERS/Ethernet*": "['x']", "SAI_PORT_STAT_IF_OUT_OCTETS": "1_0"}
    assert server.asked.count("STREAM") == 2, "the stream was opened again"


def test_a_change_of_neighbours_is_heard_and_ages_are_none(opened: Callable[..., GnmiStream]) -> None:
    server = OpenConfigSwitch(openconfig("leaf1")["openconfig-lldp:lldp"])
    server.counters = {"out-octets": 1}
    stream = opened(server)
    stream.describe()
    samples(stream, "Ethernet0", "out-octets", 1)
    eventually(lambda: server.asked.count("STREAM") == 2)
    assert not stream.moved
    eventually(lambda: server.changed.set() or stream.moved)
    stream.describe()
    path = (("lldp", {}), ("interfaces", {}), ("interface", {}), ("neighbors", {}), ("neighbor", {}), ("state", {}))
    trees = GnmiSwitch("127.0.0.1:1", plain=True).trees
    assert trees.matters((*path, ("port-id", {}))) and not trees.matters((*path, ("age", {})))
    assert not trees.matters((("lldp", {}), ("state", {}), ("counters", {}), ("frame-in", {})))


@pytest.mark.system("processes")
@pytest.mark.integration
def test_pauses_by_gnmi_reach_their_ports_asked_and_streamed(embedded_db: str, tmp_path: Path) -> None:
    servers = {switch: SonicTelemetry(databases(switch, 1), ALIASES) for switch in SWITCHES}
    targets = [server.start() for server in servers.values()]
    words = ["--db", embedded_db, "--fabric", "roce", "--insecure-network", "--trees", "sonic", *targets]
    try:
        found = collect(*words, folder=tmp_path, status=3)
        assert (found["switches"], found["endpoints"], found["read"], found["failed"], found["bad"]) == (4, 4, 4, {}, 0)
        assert "a stream has no end" in collect(*words, "--stream", folder=tmp_path, status=1)["said"]
        # From second 1 to second 5: every microsecond of a pause, every byte, once.
        wanted = {
            (switch, port): (4 * (1000 + number), 4 * (22 + number) * BYTES_A_US, 4 * 6)
            for switch, ports in CABLED.items()
            for port in ports
            for number in [int(port.removeprefix("Ethernet"))]
        }

        def arrived() -> bool:
            drain_log(embedded_db, embedded_db)
            return by_port(embedded_db) == wanted

        follow(servers, words, tmp_path, lambda: published(embedded_db), arrived)
    finally:
        for server in servers.values():
            server.stop()
    assert arrived()
    sent = lanes(embedded_db, "router_lane_10s", "sl_flits")
    assert (sent[0, 3, 3], sent[0, 3, 4]) == (4 * 308, 4 * 408)


def published(url: str) -> int:
    """Records in the log."""
    with open_log(url) as log:
        return sum(sum(log.end_offsets(topic)) for topic in log.topics())


def follow(
    servers: dict[str, SonicTelemetry],
    words: list[str],
    folder: Path,
    records: Callable[[], int],
    arrived: Callable[[], bool],
) -> None:
    """Stream seconds 1 and 5 of all switches, with a break of one between."""
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "gnmi", "--stream", "--interval", "1", *words]
    argv += ["--state", str(folder / "state.json"), "--json"]
    environment = os.environ | {"FLITWATCH_HOME": str(folder / "home")}
    before = records()
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        eventually(lambda: records() > before, 120)
        servers["leaf1"].breaks.set()
        for switch, server in servers.items():
            with server.lock:
                server.databases = databases(switch, 5)
        eventually(lambda: servers["leaf1"].asked.count("STREAM") >= 3, 120)
        eventually(arrived, 120)
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "stopped sending 1 times" in " ".join(err.split())
