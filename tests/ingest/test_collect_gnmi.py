"""`flitwatch collect gnmi` against openconfig/gnmi's fake target over TLS, and against a server that asks for a password."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from ingest.gnmi_rounds import collect
from ingest.port_counters import lanes
from ingest.sonic_counters import CABLED, by_port
from pygnmi.spec.v080 import gnmi_pb2, gnmi_pb2_grpc
from support.ethernet import LEAVES, PORTS, SWITCHES, openconfig
from support.gnmi_server import GnmiTarget, update
from support.ufm import certificate

from flitwatch_db import connect
from flitwatch_domain.importers.lldp import fabric_of
from flitwatch_ingest.sources.ethernet import Reading
from flitwatch_ingest.sources.openconfig import add_counters, switch_of
from flitwatch_ingest.writer.drain import drain_log


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
