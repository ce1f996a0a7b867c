"""Slow cables that are stored: the database finds those that the domain finds, an alert names them, and a healthy fabric has none."""

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
