"""Stored slow cables: the database finds the same ones as the domain, an alert names them, and a healthy fabric has none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ingest.writing import drain_log
from psycopg import AsyncConnection

from flitwatch_alerting.config import read_config
from flitwatch_db import connect
from flitwatch_db.alerts.signals import collect_samples
from flitwatch_db.fabrics import store
from flitwatch_db.fabrics.slow_cables import list_slow_cables, read_slow_cables
from flitwatch_domain.fabric.cables import find_slow_cables
from flitwatch_domain.fabric.model import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_ingest.collectors.link_failures import LinkChanges
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable
from flitwatch_stream.backends import open_log

TREE = build_xgft(2, [6, 6], [1, 3], bandwidth_bps=200e9)


def with_speeds(speeds: dict[int, float]) -> Fabric:
    """The tree with some cables, by the number of a pair of links, at another speed."""
    links, bandwidth = TREE.links, TREE.links.bandwidth_bps.copy()
    for cable, bits_per_s in speeds.items():
        bandwidth[2 * cable : 2 * cable + 2] = bits_per_s
    same = {name: getattr(links, name) for name in ("src_port", "dst_port", "link_class", "classes")}
    return replace(TREE, links=type(links)(links.src, links.dst, bandwidth_bps=bandwidth, **same))


@pytest.mark.parametrize(
    "speeds",
    [{}, {3: 50e9}, {-1: 100e9}, {0: 50e9, 40: 25e9}, {3: 150e9}, dict.fromkeys(range(12), 100e9), {5: np.nan}],
)
def test_the_database_finds_the_cables_that_the_domain_finds(embedded_db: str, speeds: dict[int, float]) -> None:
    last = len(TREE.links) // 2
    fabric = with_speeds({cable % last: speed for cable, speed in speeds.items()})
    with connect(embedded_db, role="writer") as conn:
        fabric_id = store.save_fabric(conn, fabric)
        store.save_fabric(conn, replace(TREE, name="healthy"))
        conn.commit()
        rows = read_slow_cables(conn)
    assert not any(row["flapping"] for row in rows) and all(row["slow"] for row in rows)
    wanted = {(one.link, one.bandwidth_bps, one.usual_bps) for one in find_slow_cables(fabric)}
    assert {(row["link"], row["bandwidth_bps"], row["usual_bps"]) for row in rows} == wanted
    for row in rows:
        assert {row["src_name"], row["dst_name"]} == {
            fabric.vertex_name(int(ends[row["link"]])) for ends in (fabric.links.src, fabric.links.dst)
        }

    async def listed() -> list[int]:
        url = embedded_db.replace("postgresql+psycopg", "postgresql")
        async with await AsyncConnection.connect(url, options="-c search_path=flitwatch") as conn:
            return [row["link"] for row in await list_slow_cables(conn, fabric_id)]

    assert set(asyncio.run(listed())) == {link for link, _, _ in wanted}


def test_the_default_rules_name_a_slow_cable(embedded_db: str) -> None:
    (rule,) = [rule for rule in read_config().rules if rule.signal == "slow_cable"]
    now_s = time.time()
    with connect(embedded_db, role="writer") as conn:
        store.save_fabric(conn, TREE)
        assert collect_samples(conn, rule, now_s, now_s + 2 * rule.every_s) == []
        store.save_fabric(conn, replace(with_speeds({3: 50e9}), name="worn"))
        found = collect_samples(conn, rule, now_s, now_s + 2 * rule.every_s)
        (slow,) = find_slow_cables(with_speeds({3: 50e9}))
    ends = [TREE.vertex_name(int(side[slow.link])) for side in (TREE.links.src, TREE.links.dst)]
    assert {dict(sample.labels)["cable"] for sample in found} == {" - ".join(ends)}
    assert {sample.value for sample in found} == {4.0} and rule.above <= 4.0


FABRIC = """switchguid=0xa00100(a00100)
Switch\t40 "S-0000000000a00100"\t\t# "leafA" enhanced port 0 lid 2 lmc 0
[1]\t"H-0000000000b00101"[1](b00101) \t\t# "c01 mlx5_0" lid 11 4xHDR
[2]\t"H-0000000000b00102"[1](b00102) \t\t# "c02 mlx5_0" lid 12 4xHDR
[3]\t"H-0000000000b00103"[1](b00103) \t\t# "c03 mlx5_0" lid 13 4xHDR
"""
DOWN, RECOVERED = "infiniband_switch_port_link_downed_total", "infiniband_switch_port_link_error_recovery_total"


def labels(port: int) -> list[tuple[str, str]]:
    guid = "0x0000000000A00100"
    return [("guid", guid), ("local_guid", guid), ("local_port", str(port)), ("port", str(port))]


def host_labels(host: str, device: str, port: int) -> list[tuple[str, str]]:
    """Labels of node_exporter's collector of InfiniBand."""
    return [("device", device), ("instance", f"{host}:9100"), ("port", str(port))]


def send_failures(url: str, counts: Mapping[Any, Sequence[float]]) -> list[dict[str, int]]:
    """Let exporters tell of the values, one after the other in the last hours; return what became of each delivery."""
    now_ms, results = int(1000 * time.time()), []
    with open_log(url) as log, log.producer() as producer:
        intake = Intake(MetricTable(), Publisher(producer))
        for number in range(max(map(len, counts.values()))):
            at_ms = now_ms - 3_600_000 * (20 - number)
            samples = [
                Sample(
                    name,
                    tuple(labels(*where) if len(where) == 1 else host_labels(*where)),
                    float(values[number]),
                    at_ms,
                )
                for (name, *where), values in counts.items()
                if number < len(values)
            ]
            results.append(dict(intake.take("scrape", samples).results))
    drain_log(url, url)
    return results


def test_a_link_that_fails_again_and_again_is_named(embedded_db: str) -> None:
    (rule,) = [rule for rule in read_config().rules if rule.signal == "flapping_cable"]
    now_s = time.time()
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        # Port 1 failed for years and stands still; port 2 went down four times and was cleared; port 3 was restarted once.
        results = send_failures(
            embedded_db,
            {
                (DOWN, 1): [200, 200, 200, 200],
                (DOWN, 2): [7, 9, 0, 2],
                (RECOVERED, 2): [1, 1, 1, 1],
                (DOWN, 3): [0, 1, 1, 255],
            },
        )
        assert results[0] == {"published": 4} and results[1] == {"published": 2, "unchanged": 2}
        assert results[3] == {"published": 1, "unchanged": 2, "saturated": 1}
        (row,) = read_slow_cables(conn)
        assert (row["src_name"], row["slow"], row["flapping"], row["link_downs"], row["link_recoveries"]) == (
            "c02",
            False,
            True,
            4,
            0,
        )
        assert (row["bandwidth_bps"], row["usual_bps"]) == (200e9, 200e9)
        samples = collect_samples(conn, rule, now_s, now_s + 2 * rule.every_s)
        assert {(dict(sample.labels)["cable"], sample.value) for sample in samples} == {("c02 - leafA", 4.0)}


RATE, SPEED, WIDTH = "infiniband_switch_port_rate_bytes_per_second", "infiniband_speed", "infiniband_width"
FULL, LANE = 25_000_000_000, 6_250_000_000


def test_a_link_that_changes_its_speed_again_and_again_is_named(embedded_db: str) -> None:
    (rule,) = [rule for rule in read_config().rules if rule.signal == "flapping_cable"]
    now_s = time.time()
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        # The node at port 1 was restarted twice, the cable of port 2 loses lanes again and again, and port 3 runs as before.
        results = send_failures(
            embedded_db,
            {
                (RATE, 1): [FULL, LANE, FULL, LANE, FULL, FULL],
                (RATE, 2): [FULL, LANE, FULL, LANE, FULL, LANE],
                (RATE, 3): [FULL] * 6,
            },
        )
        assert results[0] == {"unused": 3} and results[5] == {"unused": 2, "published": 1}
        (row,) = read_slow_cables(conn)
        assert (row["src_name"], row["flapping"], row["link_downs"], row["link_speed_changes"]) == ("c02", True, 0, 5)
        samples = collect_samples(conn, rule, now_s, now_s + 2 * rule.every_s)
        assert {(dict(sample.labels)["cable"], sample.value) for sample in samples} == {("c02 - leafA", 5.0)}


def test_a_speed_and_a_width_that_change_together_are_one_change(embedded_db: str) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        counts = {(SPEED, 2): [53.125, 26.5, 53.125, 26.5, 53.125], (WIDTH, 2): [4, 1, 4, 1, 4]}
        send_failures(embedded_db, counts | {(WIDTH, 3): [4, 1, 4, 1, 4, 2]})
        assert [(row["src_name"], row["link_speed_changes"]) for row in read_slow_cables(conn)] == [("c03", 5)]


def test_a_subnet_s_changes_of_speed_are_published(embedded_db: str) -> None:
    with open_log(embedded_db) as log, log.producer() as producer:
        publisher = Publisher(producer)
        rates = LinkChanges(publisher)
        for number, width in enumerate([4, 1, 4, 4, 1, 4, 1]):
            text = FABRIC.replace("lid 12 4xHDR", f"lid 12 {width}xHDR")
            fabric = ibnetdiscover.parse_fabric(text, "f", "f")
            rates.publish_fabric("infiniband:f", time.time() - 60 * (9 - number), fabric)
        publisher.flush()
        # Five changes, each with the value before it, of which three had been published as changes.
        assert publisher.published == 2 * 5 - 3
    drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="writer") as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        assert [(row["src_name"], row["link_speed_changes"]) for row in read_slow_cables(conn)] == [("c02", 5)]


def test_a_subnet_s_failures_are_published_when_they_change(embedded_db: str) -> None:
    with open_log(embedded_db) as log, log.producer() as producer:
        publisher = Publisher(producer)
        failures = LinkChanges(publisher)
        for number, (downs, recoveries) in enumerate([(5, 0), (5, 0), (6, 10), (8, 10)]):
            counters = {"LinkDownedCounter": downs, "LinkErrorRecoveryCounter": recoveries, "PortXmitData": number}
            at_s = time.time() - 60 * (9 - number)
            failures.publish_failures("infiniband:f", at_s, "0000000000a00100", 3, counters)
        publisher.flush()
        # The first counts, then each change with the value before it.
        assert publisher.published == 2 + 3 + 2
    drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="writer") as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        (row,) = read_slow_cables(conn)
        assert (row["src_name"], row["link_downs"], row["link_recoveries"]) == ("c03", 3, 10)
        assert conn.execute("SELECT count(*) FROM dead_letter").fetchone() == (0,)


HOST_DOWN, HOST_RATE = "node_infiniband_link_downed_total", "node_infiniband_rate_bytes_per_second"
CARDS = FABRIC.replace(
    "[3]",
    """[4]\t"H-0000000000b00104"[1](b00104) \t\t# "c04 mlx5_0" lid 14 4xHDR
[5]\t"H-0000000000b00105"[1](b00105) \t\t# "c04 mlx5_1" lid 15 4xHDR
[3]""",
)


@pytest.mark.parametrize(
    ("host", "device", "port", "named"),
    [
        ("C02.hpc.example", "mlx5_0", 1, "c02"),
        ("c02-ib0", "mlx5_0", 1, "c02"),
        ("c04", "mlx5_1", 1, "c04 2"),
        ("c04", "mlx5_7", 1, None),
        ("c02", "mlx5_0", 2, None),
        ("c09", "mlx5_0", 1, None),
    ],
)
def test_the_adapter_of_any_spelling_of_a_host_is_the_one_that_flaps(
    embedded_db: str, host: str, device: str, port: int, named: str | None
) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(CARDS, "f", "f"))
        results = send_failures(
            embedded_db,
            {
                (HOST_DOWN, host, device, port): [5, 5, 8, 8],
                (HOST_RATE, host, device, port): [FULL, FULL, LANE, FULL],
                (HOST_DOWN, "c01", "mlx5_0", 1): [200, 200, 201, 202],
            },
        )
        assert results[1] == {"unchanged": 2, "unused": 1} and results[2] == {"published": 3}
        rows = read_slow_cables(conn)
        assert [(row["src_name"], row["condition"]) for row in rows] == (
            [(named.split()[0], "link down 3 times, recovered 0 times, changed speed 2 times in 24 h")] if named else []
        )
        if named and named.endswith(" 2"):
            assert rows[0]["dst_port"] == 5


def test_an_adapter_that_flaps_is_found_by_its_guid(embedded_db: str) -> None:
    with open_log(embedded_db) as log, log.producer() as producer:
        publisher = Publisher(producer)
        failures = LinkChanges(publisher)
        for number, downs in enumerate([5, 6, 8]):
            at_s = time.time() - 60 * (9 - number)
            failures.publish_failures("infiniband:f", at_s, "0x0000000000B00103", 1, {"LinkDownedCounter": downs})
        publisher.flush()
    drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="writer") as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        (row,) = read_slow_cables(conn)
        assert (row["src_name"], row["condition"]) == (
            "c03",
            "link down 3 times, recovered 0 times, changed speed 0 times in 24 h",
        )


def test_a_day_s_failures_do_not_need_an_older_record(embedded_db: str) -> None:
    """The counts of a port that was quiet for days were published before the day that is examined."""
    now_s = time.time()
    with open_log(embedded_db) as log, log.producer() as producer:
        publisher = Publisher(producer)
        changes = LinkChanges(publisher)
        for at_s, downs in ((now_s - 90_000, 5), (now_s - 3700, 5), (now_s - 3600, 8)):
            changes.publish("infiniband:f", at_s, "a00100/2/link_downed", downs, first=True)
        publisher.flush()
    drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="writer") as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        assert [(row["src_name"], row["link_downs"]) for row in read_slow_cables(conn)] == [("c02", 3)]
