"""Counters of InfiniBand and Slingshot ports are assigned by GUID, LID, host and adapter, in the form of their real samplers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from ingest.port_counters import carry, endpoint_words, lanes, observed, reasons, slingshot, stored_fabric
from ingest.writing import START_S

from flitwatch_core.codec import Feed, Ledger
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import LANES, identify_counter
from flitwatch_domain.importers import ibnetdiscover, neighbours
from flitwatch_domain.importers.slingshot import parse_fabric as parse_links
from flitwatch_ingest.schemas import Claims, chart_arrays, json_schema
from flitwatch_ingest.writer.ports import FabricPorts, Owner

pytestmark = pytest.mark.integration

STORAGE = """
Switch	4 "S-00000000000000e1"		# "store-1" enhanced port 0 lid 31 lmc 0
[1]	"H-00000000000000d4"[1](d4) 		# "n1 mlx5_4" lid 1 4xHDR
Ca	1 "H-00000000000000d4"		# "n1 mlx5_4"
[1](d4) 	"S-00000000000000e1"[1]		# lid 1 lmc 0 "store-1" lid 31 4xHDR
"""


def series(who: dict, counter: str, step: int, samples: int = 4) -> list[dict]:
    """A counter that grows by `step` each second."""
    return [{"timestamp": START_S + t + 0.001, **who, counter: 10**15 + step * t} for t in range(samples)]


@pytest.mark.parametrize("component", [0, None], ids=["component_id 0 on every node", "no component_id"])
@pytest.mark.parametrize("prefix", ["", "ib_nics."], ids=["ibmad_sampler", "ibmad_records_sampler"])
def test_ibmads_records_find_the_adapter_of_that_name(embedded_db: str, component: int | None, prefix: str) -> None:
    stored_fabric(embedded_db)
    records = []
    for number, adapter in ((0, "mlx5_0"), (1, "mlx5_1"), (6, "mlx5_6")):
        who = {
            "producer": "n1.cluster.example",
            f"{prefix}ca_name": adapter,
            f"{prefix}port": 1,
            f"{prefix}VL15_dropped": 0,
        }
        if component is not None:
            who["component_id"] = component
        records += series(who, f"{prefix}port_xmit_data", 100 + number)
    carry(embedded_db, "ldms.ibmad", sorted(records, key=lambda record: record["timestamp"]))
    assert endpoint_words(embedded_db) == {"ib n1 b0": 3 * 400, "ib n1 b1": 3 * 404, "ib n1 b6": 3 * 424}
    assert observed(embedded_db) == 0


def test_an_adapter_that_the_node_has_not_is_kept_as_it_came_and_named(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    carry(embedded_db, "ldms.ibmad", series({"producer": "n1", "ca_name": "mlx5_2", "port": 1}, "port_xmit_data", 5))
    carry(embedded_db, "ldms.ibmad", series({"producer": "n9", "ca_name": "mlx5_0", "port": 1}, "port_xmit_data", 5))
    assert endpoint_words(embedded_db) == {} and observed(embedded_db) == 8
    assert reasons(embedded_db) == {
        "n1 has mlx5_0, mlx5_1, mlx5_6 in ib: cannot tell which of them is mlx5_2",
        "n9 mlx5_0 port 1 is in none of ib",
    }
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT sum(records), sum(unplaced), sum(dead) FROM ingest_minute").fetchone() == (8, 8, 0)


def test_of_a_node_with_one_endpoint_no_name_is_needed(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    carry(embedded_db, "ldms.ibmad", series({"producer": "N2", "ca_name": "mlx5_3", "port": 1}, "port_rcv_data", 7))
    assert endpoint_words(embedded_db, "rx_bytes") == {"ib n2 c0": 3 * 28}


def test_planes_share_a_node_and_each_adapter_stands_on_its_own(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    stored_fabric(embedded_db, STORAGE, "store")
    records = series({"producer": "n1", "ca_name": "mlx5_4", "port": 1}, "port_xmit_data", 10)
    records += series({"producer": "n1", "ca_name": "mlx5_1", "port": 1}, "port_xmit_data", 20)
    carry(embedded_db, "ldms.ibmad", records)
    assert endpoint_words(embedded_db) == {"ib n1 b1": 240, "store n1 d4": 120}


@pytest.mark.parametrize(
    "who",
    [
        {"guid": "0x00000000000000a1", "port": 2},
        {"node_guid": 0xA1, "port_num": 2},
        {"lid": 31, "port": 2, "node_name": "leaf-1", "remote": "n1 mlx5_1"},
        {"lid": 31, "port": 2, "producer": "admin"},
    ],
    ids=["GUID", "GUID as a number", "ibnet with a node map", "ibnet"],
)
def test_ports_of_switches_stand_at_their_switch_and_port(embedded_db: str, who: dict) -> None:
    fabric_id = stored_fabric(embedded_db)
    records = []
    for port in (1, 2, 4):
        key = "port_num" if "port_num" in who else "port"
        for record in series({**who, key: port, "PortXmitWait": 0}, "PortXmitData", 100 * port):
            t = int(record["timestamp"] - START_S)
            records.append({**record, "PortXmitWait": port * t, "PortXmitPkts": 2 * port * t})
    carry(embedded_db, "ldms.ibnet_7fffe", records)
    with connect(embedded_db) as conn:
        routers = conn.execute(
            "SELECT name, sum(samples), sum(tile_seconds), sum(rt_flits), sum(rt_stall_cycles), sum(rt_packets) FROM router_1s JOIN router"
            " USING (fabric_id, router) WHERE fabric_id = %s GROUP BY 1",
            [fabric_id],
        ).fetchall()
        ports = conn.execute(
            "SELECT flits, stall_cycles, packets FROM port_10s JOIN router USING (fabric_id, router) WHERE name = 'leaf-1'"
        ).fetchall()
    assert routers == [("leaf-1", 9, pytest.approx(9), 3 * 700, 2 * 3 * 7, 3 * 14)]
    flits, stalls, packets = (np_sum(column) for column in zip(*ports, strict=True))
    assert (
        flits == [None, 300, 600, None, 1200]
        and stalls == [None, 6, 12, None, 24]
        and packets == [None, 6, 12, None, 24]
    )
    assert observed(embedded_db) == 0


def np_sum(rows: Iterable[list[float | None]]) -> list[float | None]:
    """Arrays of ports added up; a port that no bucket counts is unknown."""
    columns = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    return [sum(column) if column else None for column in columns]


def test_two_samplers_of_one_switch_port_count_it_once(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    records = series({"guid": "a1", "port": 1, "producer": "admin1"}, "PortXmitData", 50)
    records += series({"guid": "a1", "port": 1, "producer": "admin2"}, "PortXmitData", 50)
    carry(embedded_db, "ldms.ibnet", records)
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT sum(rt_flits) FROM router_1m").fetchone() == (150,)


def test_one_feed_holds_ports_of_switches_and_of_adapters(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    stored_fabric(embedded_db, STORAGE, "store")
    records = series({"lid": 2, "port": 1, "node_name": "n1 mlx5_1"}, "PortXmitData", 30)
    # The LID is another device's in the other subnet: the name tells which is meant.
    records += series({"lid": 31, "port": 1, "node_name": "store-1"}, "PortXmitData", 40)
    carry(embedded_db, "ldms.ibnet", records)
    assert endpoint_words(embedded_db) == {"ib n1 b1": 360}
    with connect(embedded_db) as conn:
        found = conn.execute(
            "SELECT f.name, rt_flits FROM router_1m JOIN fabric f USING (fabric_id) ORDER BY 1"
        ).fetchall()
    assert found == [("store", 120)]


def test_a_lid_of_several_subnets_alone_is_no_place(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    stored_fabric(embedded_db, STORAGE, "store")
    carry(embedded_db, "ldms.ibnet", series({"lid": 31, "port": 1}, "PortXmitData", 30))
    assert observed(embedded_db) == 4
    assert reasons(embedded_db) == {"LID 31 port 1 is in several fabrics (ib, store): start the writer with --fabric"}


def test_a_port_without_a_cable_is_kept_as_it_came(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    records = [
        *series({"guid": "a1", "port": 3}, "PortXmitData", 9),
        *series({"guid": "a1", "port": 0}, "PortXmitData", 9),
    ]
    records += series({"guid": "a1", "port": 300}, "PortXmitData", 9)
    carry(embedded_db, "ldms.ibnet", records)
    assert observed(embedded_db) == 12 and reasons(embedded_db) == {"ports of leaf-1 that have no cable in ib"}


def test_the_order_of_a_records_keys_tells_nothing(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    records = series({"lid": 1, "port": 1, "node_name": "n1"}, "PortXmitData", 30, samples=5)
    shuffled = [dict(sorted(record.items(), reverse=at % 2 == 1)) for at, record in enumerate(records)]
    carry(embedded_db, "ldms.ibnet", shuffled)
    assert endpoint_words(embedded_db) == {"ib n1 b0": 4 * 120}


def test_sysclassibs_single_port_is_read_from_the_metrics_names(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    carry(embedded_db, "ldms.sysclassib", series({"producer": "n1"}, "ib.port_xmit_data#mlx5_6.1", 3))
    assert endpoint_words(embedded_db) == {"ib n1 b6": 36}


def test_several_ports_side_by_side_are_never_added_up(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    records = [
        {
            "timestamp": START_S + t,
            "producer": "n1",
            "ib.port_xmit_data#mlx5_0.1": t,
            "ib.port_xmit_data#mlx5_1.1": 5 * t,
        }
        for t in range(4)
    ]
    carry(embedded_db, "ldms.sysclassib", records)
    assert endpoint_words(embedded_db) == {} and observed(embedded_db) == 4


@pytest.mark.parametrize("joint", [".", "_"], ids=["JSON", "Avro's names"])
def test_both_nics_of_a_real_cxi_sampler_are_counted(embedded_db: str, joint: str) -> None:
    slingshot(embedded_db)
    records = []
    for nic in (0, 1):
        key = {"component_id": 1, f"tel_list{joint}iface_name": f"cxi{nic}", f"rh_list{joint}iface_name": f"cxi{nic}"}
        key |= {f"tel_list{joint}hni_sts_rx_ok_octets": 7, f"tel_list{joint}atu_cache_evictions_0": 1}
        records += series(key, f"tel_list{joint}hni_sts_tx_ok_octets", 10 + nic)
    carry(embedded_db, "ldms.cxi", sorted(records, key=lambda record: record["timestamp"]))
    assert endpoint_words(embedded_db) == {"ss x1000c0s0b0n0 0": 30, "ss x1000c0s0b0n0 1": 33}
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT count(*) FROM dead_letter").fetchone() == (0,)


@pytest.mark.shared
def test_a_whole_real_fabric_port_by_port(embedded_db: str, shared: Path) -> None:
    """Every port of Selene's storage fabric, switches by LID and adapters by GUID, adds up at its own place."""
    text = (shared / "data" / "infiniband" / "loginoff-topo.txt").read_text()
    fabric_id = stored_fabric(embedded_db, text, "login")
    with connect(embedded_db) as conn:
        fabric = fabrics.load_fabric(conn, fabric_id)
    counted = fabric.counted_links()
    records = []
    for t in range(2):
        for router, lid in enumerate(fabric.attributes["switch_lids"]):
            for port in range(counted.shape[1]):
                if counted[router, port] >= 0:
                    records.append(
                        {"timestamp": START_S + t, "lid": lid, "port": port, "PortXmitData": t * (100 * router + port)}
                    )
        for e, guid in enumerate(fabric.endpoints.guid):
            records.append({"timestamp": START_S + t, "lid": 0, "port": 1, "guid": guid, "PortXmitData": t * e})
    ports = [record for record in records if "guid" not in record]
    carry(embedded_db, "ldms.ibnet", ports)
    carry(embedded_db, "ldms.ibnet_ca", [record for record in records if "guid" in record])
    with connect(embedded_db) as conn:
        routers = dict(conn.execute("SELECT router, rt_flits FROM router_1s ORDER BY 1").fetchall())
        ends = dict(conn.execute("SELECT endpoint, tx_bytes FROM endpoint_1s").fetchall())
    expected = {
        r: float(sum(100 * r + p for p in range(counted.shape[1]) if counted[r, p] >= 0)) for r in range(len(counted))
    }
    assert routers == expected
    assert ends == {e: 4.0 * e for e in range(len(fabric.endpoints))}
    assert observed(embedded_db) == 0


# Counters of lanes are kept lane by lane: planted truths come out of the tables, whatever the order and whoever is killed; records without lanes leave no row.


LEAF, ADAPTER = {"guid": "0xa1", "port": 2}, {"guid": "0xb6", "port": 1}


def by_level(who: dict, step: int, samples: int = 25) -> list[dict]:
    """Words by service level as perfquery names them, each growing by `step` times one more than its level a second."""
    return [
        {"timestamp": START_S + t + 0.001, **who, **{f"XmtDataSL{sl}": 10**9 + (sl + 1) * step * t for sl in range(LANES)}}
        for t in range(samples)
    ]  # fmt: skip


def test_names_say_their_lane() -> None:
    words, ticks, paused = (
        identify_counter(name) for name in ("XmtDataSL15", "PortVLXmitWait3", "nics.hni_tx_paused_7")
    )
    assert words is not None and (words.vc, words.kind.lane_array) == (15, "sl_flits")
    assert ticks is not None and (ticks.vc, ticks.kind.lane_array) == (3, "stall_cycles")
    assert paused is not None and (paused.vc, paused.kind.lane_array) == (7, "stall_cycles")
    assert identify_counter("XmtDataSL16") is None and identify_counter("PortVLXmitWait99") is None


@pytest.mark.parametrize("late", [False, True], ids=["in order", "late and twice"])
def test_words_by_service_level_come_to_their_port(embedded_db: str, late: bool) -> None:
    """A switch's port and an adapter, by ten seconds and by the hour."""
    fabric = stored_fabric(embedded_db)
    records = sorted(by_level(LEAF, 5) + by_level(ADAPTER, 7), key=lambda record: record["timestamp"])
    if late:
        moved = random.Random(3)
        order = sorted(range(len(records)), key=lambda n: n + moved.uniform(0, 6))
        records = [records[n] for n in order] + records[-6:]
    carry(embedded_db, "ldms.ib_lane", records)
    for width in ("10s", "1h"):
        ports = lanes(embedded_db, f"router_lane_{width}", "sl_flits")
        assert ports == {(0, 2, sl): 24 * 5 * (sl + 1) for sl in range(LANES)}
        own = lanes(embedded_db, f"endpoint_lane_{width}", "sl_flits")
        assert len({endpoint for endpoint, _, _ in own}) == 1
        assert {(port, sl): n for (_, port, sl), n in own.items()} == {(0, sl): 168 * (sl + 1) for sl in range(LANES)}
    with connect(embedded_db) as conn:
        buckets = conn.execute("SELECT extract(epoch FROM ts)::bigint, port_seconds, fabric_id FROM router_lane_10s ORDER BY ts").fetchall()  # fmt: skip
        assert [row[0] for row in buckets] == [START_S, START_S + 10, START_S + 20]
        assert sum(row[1] for row in buckets) == pytest.approx(24) and {row[2] for row in buckets} == {fabric}
        # Lanes feed no other table, and take no port's time.
        assert conn.execute("SELECT (SELECT count(*) FROM router_1s), (SELECT count(*) FROM port_10s)").fetchone() == (0, 0)  # fmt: skip


def test_lanes_alongside_their_port_count_its_time_once(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    whole = [{"timestamp": START_S + t + 0.001, **LEAF, "PortXmitData": 1000 * t} for t in range(25)]
    waits = [{"timestamp": START_S + t + 0.001, **LEAF, **{f"PortVLXmitWait{vl}": vl * t for vl in range(LANES)}} for t in range(25)]  # fmt: skip
    carry(embedded_db, "ldms.ib_port", whole)
    carry(embedded_db, "ldms.ib_lane", waits + by_level(LEAF, 1))
    assert lanes(embedded_db, "router_lane_10s", "stall_cycles") == {(0, 2, vl): 24.0 * 2 * vl for vl in range(LANES)}
    assert lanes(embedded_db, "router_lane_10s", "sl_flits") == {(0, 2, sl): 24.0 * (sl + 1) for sl in range(LANES)}
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT sum(port_seconds), sum(flits[3]) FROM port_10s").fetchone() == (
            pytest.approx(24),
            24_000,
        )


def test_traffic_classes_of_slingshot_are_kept_and_added_up(embedded_db: str) -> None:
    slingshot(embedded_db)
    records = [
        {"timestamp": START_S + t + 0.001, "component_id": 1, "interface": "cxi1", **{f"hni_pkts_sent_by_tc_{tc}": 3 * tc * t for tc in range(8)}}
        for t in range(25)
    ]  # fmt: skip
    carry(embedded_db, "ldms.slingshot_metrics", records)
    assert lanes(embedded_db, "endpoint_lane_1h", "packets") == {(1, 0, tc): 24.0 * 3 * tc for tc in range(8)}
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT sum(tx_packets) FROM endpoint_1s").fetchone() == (24.0 * 3 * 28,)


def test_records_without_lanes_leave_no_row(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    carry(embedded_db, "ldms.ib_port", [{"timestamp": START_S + t + 0.001, **LEAF, "PortXmitData": t} for t in range(12)])  # fmt: skip
    with connect(embedded_db) as conn:
        for table in ("router_lane_10s", "router_lane_1h", "endpoint_lane_10s", "endpoint_lane_1h"):
            assert conn.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)


def test_a_reset_counts_nothing_and_is_a_gap(embedded_db: str) -> None:
    stored_fabric(embedded_db)
    before, after = by_level(LEAF, 5, 10), by_level(LEAF, 5, 20)[10:]
    after = [{name: value - 10**9 if name.startswith("Xmt") else value for name, value in record.items()} for record in after]  # fmt: skip
    carry(embedded_db, "ldms.ib_lane", before + after)
    assert lanes(embedded_db, "router_lane_10s", "sl_flits") == {(0, 2, sl): 18 * 5 * (sl + 1) for sl in range(LANES)}
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT reason FROM gap").fetchall() == [("reset",)]


class Core:
    """A feed of one port's (or endpoint's) lanes; `taken` adds up what it gave by bucket, array and lane."""

    def __init__(self, own: bool) -> None:
        self.own, self.ledger = own, Ledger()
        self.ledger.wire(1, np.zeros((1, 4), np.uint8), 1)
        self.feed = Feed(self.ledger)

    def give(self, records: list[bytes], first: int, replaying: bool = False) -> None:
        for _ in range(3):
            chosen, offsets = np.arange(len(records), dtype=np.uint32), np.arange(first, first + len(records))
            *_, pending, strangers, _ = self.feed.consume(
                records, np.zeros(len(records), np.int32), offsets, chosen, replaying
            )
            if any(need[1] == 0 for need in pending):
                made = json_schema("ib_lane", records[0])
                fields = [(c.name, c.kind, c.role, c.use is not None, c.length) for c in made.columns]
                self.feed.add_plan(fields, *chart_arrays(made, Claims()), made.hint, True)
            for plan, component, identity, _ in strangers:
                place = (-1, [-1, -1, -1, -1, 0], False, -1) if self.own else (0, [-1] * 5, False, 2)
                self.feed.add_instance(self.ledger, plan, component, identity, 1, *place)
            if not pending:
                return
        raise AssertionError("records are still pending")

    def taken(self, through_s: int) -> dict[tuple[int, int], float]:
        take = self.ledger.take_endpoint_lanes if self.own else self.ledger.take_port_lanes
        found = {}
        for _, _, bucket, _, _, values in zip(*take(1, through_s), strict=True):
            for place in np.flatnonzero(~np.isnan(values)):
                found[int(bucket), int(place)] = float(values[place])
        return found


@pytest.mark.parametrize("own", [False, True], ids=["a switch's port", "an adapter"])
def test_a_killed_writer_s_successor_rebuilds_open_buckets_of_lanes(own: bool) -> None:
    """Wherever it is cut and whatever buckets were closed, both together booked each word once."""
    records = [json.dumps(record).encode() for record in by_level(LEAF, 5, 45)]
    whole = Core(own)
    whole.give(records, 0)
    expected = whole.taken(2**40)
    assert len(expected) == 5 * LANES and sum(expected.values()) == 44 * 5 * 136
    for cut in (1, 7, 19, 20, 33, 44):
        for closed in (START_S - 10, START_S, START_S + 10, START_S + 20):
            before, after = Core(own), Core(own)
            before.give(records[:cut], 0)
            before.ledger.ports_closed_s = closed
            before.feed.ports_closed(closed)
            written = before.taken(closed)
            begin = before.feed.replay_from(0, cut)
            after.ledger.ports_closed_s = closed
            after.feed.replay(True, closed)
            after.give(records[begin:cut], begin, replaying=True)
            after.feed.replay(False)
            after.give(records[cut:], cut)
            rest = after.taken(2**40)
            assert {at: written.get(at, 0) + rest.get(at, 0) for at in written.keys() | rest.keys()} == expected


#: n1's adapter has its second port on another fabric, and both ports of n2's are here.
TWO_PORTS = """
Switch 4 "S-00000000000000a1" # "leaf" enhanced port 0 lid 31 lmc 0
[1] "H-00000000000000b0"[1](b1) # "n1 mlx4_0" lid 1 4xFDR
[2] "H-00000000000000c0"[1](c1) # "n2 mlx4_0" lid 2 4xFDR
[3] "H-00000000000000c0"[2](c2) # "n2 mlx4_0" lid 3 4xFDR
"""


@pytest.mark.parametrize(
    ("owner", "endpoint"),
    [
        (Owner(guids=("b0",), port=1), 0),
        (Owner(guids=("b1",)), 0),
        (Owner(guids=("b1",), port=2), 0),
        (Owner(guids=("b0",), port=2), -1),
        (Owner(hosts=("n1",), adapter="mlx4_0", port=1), 0),
        (Owner(hosts=("n1",), adapter="mlx4_0", port=2), -1),
        (Owner(guids=("c0",), port=2), 2),
        (Owner(guids=("c0",)), -1),
        (Owner(hosts=("n2",), adapter="mlx4_0", port=1), 1),
    ],
    ids=str,
)
def test_a_port_that_is_not_cabled_here_is_not_the_adapter_s_other_port(owner: Owner, endpoint: int) -> None:
    found = FabricPorts(ibnetdiscover.parse_fabric(TWO_PORTS, "f", "f")).find(owner, [])
    assert found is not None and found.endpoint == endpoint and bool(found.reason) == (endpoint < 0)


@pytest.mark.parametrize(
    ("host", "adapter", "endpoint"),
    [
        ("x1000c0s0b0n0", "hsn1", 0),
        ("x1000c0s0b0n0", "hsn0", -1),
        ("x1000c0s1b0n0", "cxi1", 2),
        ("x1000c0s1b0n0", "", -1),
        ("x1000c0s0b0n0", "", 0),
    ],
)
def test_a_nic_of_slingshot_has_the_number_of_its_name(host: str, adapter: str, endpoint: int) -> None:
    """The list of links leaves out h0 of the first node, whose cable is gone."""
    links = "x1000c0s0b0n0h1-x1000c0r1j100p0\nx1000c0s1b0n0h0-x1000c0r1j101p0\nx1000c0s1b0n0h1-x1000c0r1j102p0\n"
    found = FabricPorts(parse_links(links, "f", "f")).find(Owner(hosts=(host,), adapter=adapter), [])
    assert found is not None and found.endpoint == endpoint


@pytest.mark.parametrize(
    ("adapter", "known"), [("ens2f0", True), ("ENS2F0", True), ("mlx5_0", False), ("mlx5_1", False), ("", False)]
)
def test_an_ethernet_card_is_the_one_of_its_name(adapter: str, known: bool) -> None:
    """The order of a host's cables is not that of its cards."""
    card = {"chassis": {"gpu1": {"id": {"type": "local", "value": "gpu1"}}}}
    ports = {"swp1": "ens2f0", "swp2": "ens1f0"}
    entries = [{port: {**card, "port": {"id": {"type": "ifname", "value": name}}}} for port, name in ports.items()]
    fabric = neighbours.parse_fabric(json.dumps({"lldp": {"interface": entries}}), "leaf", "leaf")
    found = FabricPorts(fabric).find(Owner(hosts=("gpu1",), adapter=adapter), [])
    assert found is not None and found.endpoint == (0 if known else -1)
