"""Counters of lanes are kept lane by lane: planted truths come out of the tables, whatever the order and whoever is killed; records without lanes leave no row."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from ingest.port_counters import carry, lanes, slingshot, stored_fabric
from ingest.writing import START_S

from flitwatch_core.codec import Feed, Ledger
from flitwatch_db import connect
from flitwatch_domain.counters import LANES, identify_counter
from flitwatch_ingest.schemas import Claims, chart_arrays, json_schema

pytestmark = pytest.mark.integration

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


def test_lanes_beside_their_port_count_its_time_once(embedded_db: str) -> None:
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
