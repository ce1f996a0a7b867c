"""Input of flow attribution from a real database: the same figures as in memory, from minutes, or from hours if minutes are deleted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
import pytest
from support.databases import Server
from support.planted_flows import MACHINE, four_jobs
from support.planted_machine import BEGIN_S, planted

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.diagnosis import measured, roots
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import flow, moments
from flitwatch_domain.counters import COUNT_BYTES
from flitwatch_domain.explanation.flow import Flow
from flitwatch_domain.fabric import CountedAt, Fabric, Technology
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.kept import Kept
from flitwatch_routing.baselines import ftree_tables


@pytest.fixture(scope="module")
def url(_embedded_template: Server) -> Iterator[str]:
    url = _embedded_template.create()
    planted(url)
    yield url
    _embedded_template.drop(url)


def asked(
    conn: Any, low: float, end: float, now: float | None = None, job_id: str = "1", usual: float | None = None
) -> Flow:
    """Whom a job waits for, times in seconds since the beginning."""
    job = conn.execute("SELECT job_pk, simulated FROM job WHERE job_id = %s", [job_id]).fetchone()
    place = conn.execute(
        "SELECT fabric_id, array_agg(router), array_agg(coalesce(endpoint, -1)) FROM job_node WHERE job_pk = %s GROUP BY 1",
        [job[0]],
    ).fetchone()
    row, at = {"job_pk": job[0], "simulated": job[1]}, {"fabric_id": place[0], "router": place[1], "endpoint": place[2]}
    until = BEGIN_S + (end if now is None else now)
    return flow.of_job(conn, row, at, BEGIN_S + low, BEGIN_S + end, until, None if usual is None else BEGIN_S + usual)


def numbers(conn: Any) -> dict[int, str]:
    return dict(conn.execute("SELECT job_pk, job_id FROM job").fetchall())


def test_the_culprit_has_the_part_that_it_has_in_memory(url: str) -> None:
    with connect(url, role="reader") as conn:
        found, job = asked(conn, 350, 600), numbers(conn)
    part = {job[pk]: share for pk, share in found.part.items()}
    assert found.reason is None and found.resolution_s == 60 and found.counted > 0.99
    assert part["2"] >= 0.7 and max(part[one] for one in "134") <= 0.1
    # The last minute before the onset, and a minute of each third of the slow stretch.
    assert found.quiet_s == BEGIN_S + 240 and all(BEGIN_S + 300 < at < BEGIN_S + 600 for at in found.minutes_s)
    assert found.waiting > 10 * found.quiet


def test_what_came_later_is_not_looked_at(url: str) -> None:
    with connect(url, role="reader") as conn:
        early = asked(conn, 130, 330)
    assert not early.carried and max(early.minutes_s) <= BEGIN_S + 300


def test_a_minute_that_is_not_over_says_who(url: str) -> None:
    with connect(url, role="reader") as conn:
        found, job = asked(conn, 350, 400), numbers(conn)
    assert {job[pk]: share for pk, share in found.part.items()}["2"] >= 0.6


def test_where_the_first_minute_is_slow_already_ten_seconds_are_asked(embedded_db: str) -> None:
    planted(embedded_db, (0, 40, -3600, 50), every_s=10, count=9)
    with connect(embedded_db, role="reader") as conn:
        found, job = asked(conn, 35, 90), numbers(conn)
    assert found.resolution_s == 10 and BEGIN_S <= found.quiet_s < BEGIN_S + 40
    assert all(BEGIN_S + 30 <= at < BEGIN_S + 90 for at in found.minutes_s)
    assert {job[pk]: share for pk, share in found.part.items()}["2"] >= 0.6


def test_a_moment_at_usual_speed_is_compared_and_not_a_minute_in_which_the_job_did_not_run(embedded_db: str) -> None:
    # Another job begins with the slow one, a minute before the culprit: no whole minute of usual speed.
    planted(embedded_db, (130, 190, -3600, 125), every_s=10, count=24)
    with connect(embedded_db, role="reader") as conn:
        found, job = asked(conn, 188, 240, usual=130), numbers(conn)
    part = {job[pk]: share for pk, share in found.part.items()}
    assert found.resolution_s == 10 and BEGIN_S + 130 <= found.quiet_s <= BEGIN_S + 180
    assert part["2"] >= 0.6 and abs(part["4"]) <= 0.02


def test_without_the_seconds_of_its_usual_time_minutes_are_compared(embedded_db: str) -> None:
    planted(embedded_db, (130, 190, -3600, 125), every_s=10, count=24)
    with connect(embedded_db, role="owner") as conn:
        conn.execute(
            "DELETE FROM router_1s WHERE ts BETWEEN to_timestamp(%s) AND to_timestamp(%s)",
            [BEGIN_S + 120, BEGIN_S + 190],
        )
        found = asked(conn, 188, 240, usual=130)
    assert found.resolution_s == 60


def test_a_job_that_always_sent_as_much_does_not_slow_another(embedded_db: str) -> None:
    planted(embedded_db, (0, 0, -3600, 400), every_s=10, count=22)
    with connect(embedded_db, role="reader") as conn:
        found = asked(conn, 130, 220, usual=0)
    assert found.known and not found.carried and found.resolution_s == 60


def test_a_machine_without_minutes_is_asked_by_the_hour_and_one_hour_alone_says_nothing(embedded_db: str) -> None:
    planted(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        for table in ("router_1s", "router_1m", "endpoint_1s", "endpoint_1m"):
            conn.execute(f"DELETE FROM {table}")
        conn.commit()
        found = asked(conn, 350, 600)
        assert found.reason == "its routers lack counters for a quiet minute or for the slowdown"
        assert not found.known and math.isnan(found.quiet_s)
        # A calm hour before it.
        columns = "fabric_id, router, samples, tile_seconds, green_flits, black_flits, blue_flits"
        quiet = "green_stall_cycles, black_stall_cycles, blue_stall_cycles"
        conn.execute(
            f"INSERT INTO router_1h (ts, {columns}, {quiet}) SELECT ts - interval '1 hour', {columns}, 0, 0, 0 FROM router_1h"
        )
        conn.execute(
            "INSERT INTO endpoint_1h (fabric_id, endpoint, ts, samples, seconds, tx_bytes, rx_bytes)"
            " SELECT fabric_id, endpoint, ts - interval '1 hour', samples, seconds, 0, 0 FROM endpoint_1h"
        )
        found, job = asked(conn, 350, 600), numbers(conn)
    assert found.reason is None and found.resolution_s == 3600
    assert max(found.part, key=lambda pk: found.part[pk]) == next(pk for pk, one in job.items() if one == "2")


def test_without_network_cards_the_reason_says_so(embedded_db: str) -> None:
    planted(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        conn.execute("DELETE FROM endpoint_1m")
        found = asked(conn, 350, 600)
    assert not found.known and found.reason in (flow.NO_CARDS, "the traffic of the jobs' network cards does not explain the traffic on the links")  # fmt: skip


def test_a_minute_is_read_again_only_if_a_late_sample_was_added(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        first, cards = asked(conn, 350, 600), read_cards(conn)
        with monkeypatch.context() as unread:
            for module in (moments, measured):
                unread.setattr(module, "packed_rates", None)
            assert asked(conn, 350, 600) == first and (read_cards(conn) == cards).all()
        for table in ("endpoint_1m", "endpoint_1s"):
            conn.execute(f"UPDATE {table} SET samples = samples + 1, tx_bytes = 2 * tx_bytes WHERE endpoint < 40")
        conn.execute("UPDATE router_1m SET samples = samples + 1, green_stall_cycles = 2 * green_stall_cycles")
        late, late_cards = asked(conn, 350, 600), read_cards(conn)
        for module, name in ((moments, "_moments"), (measured, "_cards")):
            monkeypatch.setattr(module, name, Kept(4))
        assert late == asked(conn, 350, 600) != first
        assert (late_cards[0] == read_cards(conn)[0]).all() and (late_cards[0] != cards[0]).any()


def read_cards(conn: Any) -> Any:
    """Bytes sent and received, and cycles waited, per second of every network card in a minute; 0 if not counted."""
    return np.nan_to_num(measured._read_card_rates(conn, 1, MACHINE.nodes, BEGIN_S + 360.0, BEGIN_S + 420.0))


@pytest.mark.parametrize("change", ["UPDATE job SET state = 'SUSPENDED'", "UPDATE job_node SET endpoint = NULL"])
def test_a_job_of_which_no_record_says_that_it_ran_is_informed(embedded_db: str, change: str) -> None:
    planted(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        conn.execute(change)
        assert asked(conn, 350, 600).reason == flow.NO_RECORD


def test_planted_nodes_are_those_of_the_machine() -> None:
    assert all(np.isin(job.ends, MACHINE.node_endpoint).all() for job in four_jobs())


@pytest.mark.parametrize(
    ("waits", "low", "quiet"),
    [
        # Calm until the onset: the minute before it, though earlier ones were as calm.
        ([0.1] * 20 + [2.0] * 6, 20, 19),
        # It began inside the congestion: the last calm minute before that.
        ([0.1] * 5 + [2.0] * 20, 15, 4),
        # Another culprit came first, within the slow stretch: a minute with only that one is no quiet one.
        ([0.1] * 20 + [0.5] * 3 + [3.0] * 6, 20, 19),
        # Nothing was calm before; a pause between two bursts is.
        ([2.0] * 10 + [0.1] + [2.0] * 9, 2, 10),
        # Hours ago it was a little calmer, but the last quarter of an hour was calm enough.
        ([0.05] * 30 + [0.3] * 60 + [2.0] * 6, 90, 89),
        # Nothing was ever calm: the calmest.
        ([1.0] * 10 + [0.8] + [1.2] * 9, 12, 10),
    ],
)
def test_the_quiet_moment_is_the_last_that_is_calm(waits: list[float], low: int, quiet: int) -> None:
    at = 60.0 * np.arange(len(waits))
    chosen = flow._choose_moments((at, np.array(waits)), 60, 60.0 * low, 60.0 * len(waits))
    assert chosen is not None and chosen.quiet_s == at[quiet] and chosen.calm == (min(waits) <= max(waits) / 2)
    assert all(at[low] <= minute for minute in chosen.slow_s) and chosen.quiet_s not in chosen.slow_s


def test_minutes_at_the_usual_speed_are_the_quiet_ones_however_much_flowed() -> None:
    """Without that, earlier it was calmer: but then other jobs ran, and this one did not."""
    waits = np.array([0.1] * 60 + [0.6] * 5 + [1.0] * 6)
    at = 60.0 * np.arange(len(waits))
    early, usual = (flow._choose_moments((at, waits), 60, 60.0 * 65, 60.0 * 71, since) for since in (None, 60.0 * 60))
    assert early is not None and usual is not None
    assert early.quiet_s == at[59] and usual.quiet_s == at[64]
    # It ran for less than nine tenths of a minute before.
    assert flow._choose_moments((at, waits), 60, 60.0 * 65, 60.0 * 71, 60.0 * 64 + 12) == early


@pytest.mark.parametrize(
    ("low_s", "end_s", "slow_s"),
    [
        (29.0, 180.0, [0, 60, 120]),
        (31.0, 180.0, [60, 120]),
        (31.0, 149.0, [60]),
        (110.0, 180.0, [120]),
        # No minute is mostly slow: the one that is most.
        (110.0, 145.0, [120]),
        (95.0, 122.0, [60]),
    ],
)
def test_a_minute_mostly_outside_the_slow_stretch_is_no_slow_one(low_s: float, end_s: float, slow_s: list[int]) -> None:
    """What waits in it waits at another speed, so its parts would blame the job itself, or one that came later."""
    at = np.array([-120.0, 0.0, 60.0, 120.0])
    chosen = flow._choose_moments((at, np.array([0.1, 0.5, 1.0, 1.0])), 60, low_s, end_s)
    assert chosen is not None and chosen.slow_s == slow_s


# Stalls are walked along the tables that were loaded: a full link that no stalled traffic can reach is no root.


START = 1_795_000_000 // 3600 * 3600

END = START + 60


def named(fabric: Fabric, link: int) -> str:
    return f"{fabric.vertex_name(int(fabric.links.src[link]))} {fabric.vertex_name(int(fabric.links.dst[link]))}"


def machine() -> Fabric:
    """Four leaves of two nodes, two spines; ports count at their senders."""
    made = build_xgft(2, [2, 4], [1, 2])
    return replace(made, name="tree", counted_at=CountedAt.SENDER, technology=Technology.INFINIBAND)


def write(conn: psycopg.Connection, fabric_id: int, fabric: Fabric, figures: dict[int, tuple[float, float]]) -> None:
    """A minute of counters: use and stalls per flit of some links; the others are used a little."""
    use, stalls = np.full(len(fabric.links), 0.1), np.zeros(len(fabric.links))
    for link, (used, stalled) in figures.items():
        use[link], stalls[link] = used, stalled
    flits = use * fabric.links.bandwidth_bps / 8 * 10 / COUNT_BYTES[fabric.technology]
    table = fabric.counted_links()
    for ts in range(START, END, 10):
        ports = counters.PortRows(
            np.full(len(table), fabric_id, np.int32),
            np.arange(len(table), dtype=np.int32),
            np.full(len(table), ts, np.int64),
            np.full(len(table), 10.0),
            np.where(table >= 0, flits[table], np.nan),
            np.where(table >= 0, (stalls * flits)[table], np.nan),
        )
        counters.write_batch(conn, counters.Batch(ports=ports))


def test_of_two_full_links_behind_a_stall_the_one_on_its_routes_is_named(embedded_db: str) -> None:
    fabric = machine()
    links, routers = fabric.links, len(fabric.routers)
    ports = ftree_tables(fabric)
    away = 2  # a node of the second leaf
    at = {(int(src), int(port)): link for link, (src, port) in enumerate(zip(links.src, links.src_port, strict=True))}
    leaf = int(fabric.endpoints.router[0])
    up = at[leaf, int(ports[leaf, away])]
    spine = int(links.dst[up])
    down = at[spine, int(ports[spine, away])]
    # A link from the same spine down to another leaf. Its nodes' traffic from the first leaf is led through the other spine.
    other_down = next(
        int(one)
        for one in np.flatnonzero((links.src == spine) & (links.dst < routers))
        if one != down and int(links.dst[one]) != leaf
    )
    other_up = next(int(one) for one in np.flatnonzero((links.src == leaf) & (links.dst < routers)) if one != up)
    ports[leaf, fabric.endpoints.router == links.dst[other_down]] = links.src_port[other_up]
    with connect(embedded_db) as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        write(conn, fabric_id, fabric, {up: (0.3, 2.5), down: (0.98, 0.0), other_down: (0.98, 0.0)})

        def found() -> set[str]:
            return {named(fabric, one["link"]) for one in roots.of_fabric(conn, fabric_id, START, END)["roots"]}

        both = {named(fabric, down), named(fabric, other_down)}
        assert found() == both  # no tables are known
        loaded = datetime.fromtimestamp(START - 60, UTC)
        route_changes.record_change(conn, fabric_id, loaded, ports)
        assert found() == {named(fabric, down)}
        # Known in part, changed within the window, or of another machine: any turn may be taken.
        holes = ports.copy()
        holes[spine, away] = -1
        route_changes.record_change(conn, fabric_id, loaded, holes, note="in part")
        assert found() == both
        route_changes.record_change(conn, fabric_id, loaded, ports)
        route_changes.record_change(
            conn, fabric_id, datetime.fromtimestamp(START + 30, UTC), None, note="a switch came back"
        )
        assert found() == both
