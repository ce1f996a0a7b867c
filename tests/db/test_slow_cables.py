"""Stored slow cables: the database finds the same ones as the domain, an alert names them, and a healthy fabric has none."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import numpy as np
import pytest
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
from flitwatch_ingest.collectors.link_failures import LinkFailures
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable
from flitwatch_ingest.writer.drain import drain_log
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


def send_failures(url: str, counts: dict[tuple[str, int], list[int]]) -> list[dict[str, int]]:
    """Let an exporter tell of the counts, one after the other in the last hours; return what became of each delivery."""
    now_ms, results = int(1000 * time.time()), []
    with open_log(url) as log, log.producer() as producer:
        intake = Intake(MetricTable(), Publisher(producer))
        for number in range(max(map(len, counts.values()))):
            at_ms = now_ms - 3_600_000 * (20 - number)
            samples = [
                Sample(name, (("guid", "0x0000000000A00100"), ("port", str(port))), float(values[number]), at_ms)
                for (name, port), values in counts.items()
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


def test_a_subnet_s_failures_are_published_when_they_change(embedded_db: str) -> None:
    with open_log(embedded_db) as log, log.producer() as producer:
        publisher = Publisher(producer)
        failures = LinkFailures(publisher)
        for number, (downs, recoveries) in enumerate([(5, 0), (5, 0), (6, 10), (8, 10)]):
            counters = {"LinkDownedCounter": downs, "LinkErrorRecoveryCounter": recoveries, "PortXmitData": number}
            at_s = time.time() - 60 * (9 - number)
            failures.publish("infiniband:f", at_s, "0000000000a00100", 3, counters)
        publisher.flush()
        assert publisher.published == 5
    drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="writer") as conn:
        store.save_fabric(conn, ibnetdiscover.parse_fabric(FABRIC, "f", "f"))
        (row,) = read_slow_cables(conn)
        assert (row["src_name"], row["link_downs"], row["link_recoveries"]) == ("c03", 3, 10)
        assert conn.execute("SELECT count(*) FROM dead_letter").fetchone() == (0,)
