"""What an attribution by flow reads of a real database: the same figures as in memory, of minutes, and of hours where minutes are gone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.databases import Server
from support.planted_flows import MACHINE, four_jobs
from support.planted_machine import BEGIN_S, planted

from flitwatch_db import connect
from flitwatch_db.jobs import flow
from flitwatch_domain.explanation.flow import Flow


@pytest.fixture(scope="module")
def url(_embedded_template: Server) -> Iterator[str]:
    url = _embedded_template.create()
    planted(url)
    yield url
    _embedded_template.drop(url)


def asked(conn: Any, low: float, end: float, now: float | None = None, job_id: str = "1") -> Flow:
    """Whom a job waits for, times in seconds since the beginning."""
    job = conn.execute("SELECT job_pk, simulated FROM job WHERE job_id = %s", [job_id]).fetchone()
    place = conn.execute(
        "SELECT fabric_id, array_agg(router), array_agg(coalesce(endpoint, -1)) FROM job_node WHERE job_pk = %s GROUP BY 1",
        [job[0]],
    ).fetchone()
    row, at = {"job_pk": job[0], "simulated": job[1]}, {"fabric_id": place[0], "router": place[1], "endpoint": place[2]}
    return flow.of_job(conn, row, at, BEGIN_S + low, BEGIN_S + end, BEGIN_S + (end if now is None else now))


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


@pytest.mark.parametrize("change", ["UPDATE job SET state = 'SUSPENDED'", "UPDATE job_node SET endpoint = NULL"])
def test_a_job_of_which_no_record_says_that_it_ran_is_told_so(embedded_db: str, change: str) -> None:
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
