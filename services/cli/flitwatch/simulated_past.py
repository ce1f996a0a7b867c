"""Simulated past for the demo's first view: a day of a machine's counters, and a fat tree with a finished loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect, tasks
from flitwatch_db.core.events import CountersEvent, emit_event
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import recommendations
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.tasks.table import SCHEDULE
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.fabric import CountedAt, Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import check_routes
from flitwatch_simulation.loop import stored
from flitwatch_twin.calendar import day_load
from flitwatch_twin.minutes import CARD_SUMS, HOUR_S, MINUTE_S, ROUTER_SUMS, TILES, MinuteSums, SpanSums
from flitwatch_twin.spec import LdmsSpec

Float = NDArray[np.float64]

#: Lower priority than the machine that runs now: its start does not wait for its past.
NICENESS = 10
MINUTES, HOURS = {"1m": MINUTE_S}, {"1h": HOUR_S}
#: Minutes of router data per transaction.
AT_ONCE = 30

TREE = "demo-tree"
DAY_S, PORTS_S, BUCKET_S = 86_400, 600, counters.PORT_BUCKET_S
#: Bytes per second from the tree's busy node to each of two others, whose paths share a cable in the loaded tables.
TREE_RATES = (5.5e9, 4.5e9)
WORD_BYTES = 4
#: Simulated loop for the first advice: one permutation on a tree of 48 nodes whose static routes overlap.
CONGESTED = {"topology": "xgft:2;6,8;1,6", "pattern": "permutation", "megabytes": 2.0, "optimise_s": 5.0}
#: Time limit for the tree's traffic reconstruction, and for its route optimisation.
LONGEST_S = 30.0
#: Capacity of a 4x EDR link; share of waiting time at a load of one.
LINK_BYTES_PER_S, WAITS = 1.25e10, 6.0


def be_nice() -> None:
    """Lower this process's priority."""
    os.nice(NICENESS)


def store_sums(
    url: str, fabric: str, sums: MinuteSums, ldms: LdmsSpec, cancelled: Callable[[], bool] = lambda: False
) -> None:
    """Add a machine's sums to the minute and hour tables, newest first, using the writer's functions.

    There are no one-second rows: a day of them would need a gigabyte.
    """
    sets = 4 if ldms.sets == "quarter" else 1
    with connect(url, role="writer", application="flitwatch past") as conn:
        fabric_id = fabrics.get_fabric_row(conn, fabric).fabric_id
        newest = sums.routers[::-1]
        for at in range(0, len(newest), AT_ONCE):
            if cancelled():
                return
            part = newest[at : at + AT_ONCE]
            rows = _make_rows(fabric_id, part, ROUTER_SUMS, ROUTER_COLUMNS, TILES, sets / ldms.every_s)
            # The writer updates the rows of this hour every second, so they are not locked while minutes are written.
            for widths_s in (MINUTES, HOURS):
                counters.write_batch(conn, counters.Batch(routers=rows), widths_s)
                conn.commit()
        if ldms.nic_every_s and sums.cards:
            rows = _make_rows(fabric_id, sums.cards, CARD_SUMS, ENDPOINT_COLUMNS, 1, 1 / ldms.nic_every_s)
            counters.write_batch(conn, counters.Batch(endpoints=rows), HOURS)
            conn.commit()
            minutes = list(sums.card_minutes)
            for at in range(0, len(minutes), AT_ONCE):
                part = minutes[at : at + AT_ONCE]
                rows = _make_rows(fabric_id, part, CARD_SUMS, ENDPOINT_COLUMNS, 1, 1 / ldms.nic_every_s)
                counters.write_batch(conn, counters.Batch(endpoints=rows), MINUTES)
                conn.commit()
        # Readers cache older data, so they are notified as the writer does for late samples.
        begin, end = (datetime.fromtimestamp(at, UTC).isoformat() for at in (sums.since_s, sums.until_s))
        late: CountersEvent = {
            "fabric_id": fabric_id,
            "through": end,
            "routers": len(newest[0].values),
            "late_from": begin,
        }
        emit_event(conn, "counters", late)


def _make_rows(
    fabric_id: int,
    spans: list[SpanSums],
    held: tuple[str, ...],
    columns: tuple[str, ...],
    counted: int,
    samples_per_s: float,
) -> counters.Rows:
    """Return the rows of every device in every span. `counted` is the number of a router's tiles, or 1."""
    devices = len(spans[0].values)
    values = np.full((devices * len(spans), len(columns)), np.nan)
    values[:, [columns.index(name) for name in held]] = np.concatenate([span.values for span in spans])
    seconds = np.repeat([float(span.seconds) for span in spans], devices)
    return counters.Rows(
        np.full(len(values), fabric_id, np.int32),
        np.tile(np.arange(devices, dtype=np.int32), len(spans)),
        np.repeat([span.from_s for span in spans], devices),
        np.round(seconds * samples_per_s).astype(np.int32),
        seconds * counted,
        values,
    )


def store_tree(url: str, until_s: int) -> int:
    """Store a fat tree with a day of counters up to `until_s`, and the loop on its last ten minutes. Return the recommendation's number.

    In the loaded tables, one of its nodes sends to two others over the same cable, so that the loop can improve the routes.
    """
    until_s -= until_s % PORTS_S
    # The tree gets no more counters, so no reader should wait for its next sample.
    plain_tree = build_xgft(2, [4, 4], [1, 2])
    fabric = replace(
        plain_tree, name=TREE, counted_at=CountedAt.SENDER, attributes={**plain_tree.attributes, "recorded": True}
    )
    ports = ftree_tables(fabric)
    carried = _compute_link_rates(fabric, ports)
    with connect(url, role="writer", application="flitwatch past") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric, replace=True)
        opened = datetime.fromtimestamp(until_s - DAY_S, UTC)
        # A writer runs at the same time. Both create partitions and emit events, which takes locks until the commit: here one lock at a time.
        counters.write_batch(conn, _make_day(fabric_id, fabric, carried, until_s), MINUTES | HOURS)
        conn.commit()
        counters.write_batch(conn, _last_minutes(fabric_id, fabric, carried, until_s))
        conn.commit()
        route_changes.record_change(conn, fabric_id, opened, ports, note="the subnet manager's first tables")
        conn.commit()
        # Both take a tenth of a second. The limits are for a machine so busy that this low-priority process gets a hundredth of it.
        stored_run = stored.StoredRun(TREE, until_s - PORTS_S, until_s, optimise_s=LONGEST_S, reconstruct_s=LONGEST_S)
        outcome = stored.run_stored_turn(stored_run, stored.read_window(conn, stored_run))
        number = recommendations.save_recommendation(conn, stored.stored_recommendation(outcome))
        # A congested tree with sampled packets, before and after new routes. The worker simulates it in some seconds.
        tasks.start_task(conn, "routing.loop", CONGESTED, SCHEDULE, authorised=True)
        return number


def _compute_link_rates(fabric: Fabric, ports: NDArray[np.int64]) -> Float:
    """Return the bytes per second of each link, including links from nodes to their switches."""
    leaf = int(fabric.endpoints.router[1])
    away = np.flatnonzero(fabric.endpoints.router != leaf)
    shared = away[ports[leaf, away] == ports[leaf, away[0]]][: len(TREE_RATES)]
    flows = np.full(len(shared), 1), shared, np.array(TREE_RATES)
    carried = check_routes(fabric, ports, flows).load
    carried[fabric.links.src == len(fabric.routers) + 1] += sum(TREE_RATES)
    return carried


def _last_minutes(fabric_id: int, fabric: Fabric, carried: Float, until_s: int) -> counters.Batch:
    """Return ports and adapters in steps of ten seconds."""
    routers, links = len(fabric.routers), fabric.links
    times = np.arange(until_s - PORTS_S, until_s, BUCKET_S)
    flits = np.full((routers, int(links.src_port.max()) + 1), np.nan)
    out = np.flatnonzero(links.src < routers)
    flits[links.src[out], links.src_port[out]] = carried[out] * BUCKET_S / WORD_BYTES
    ports = counters.PortRows(
        np.full(routers * len(times), fabric_id, np.int32),
        np.tile(np.arange(routers, dtype=np.int32), len(times)),
        np.repeat(times, routers),
        np.repeat(float(BUCKET_S), routers * len(times)) * np.tile((~np.isnan(flits)).sum(axis=1), len(times)),
        np.tile(flits, (len(times), 1)),
        np.tile(flits * WAITS * (flits * WORD_BYTES / BUCKET_S / LINK_BYTES_PER_S), (len(times), 1)),
    )
    into = np.flatnonzero(links.src >= routers)
    card_bytes = np.zeros((len(fabric.endpoints), 1))
    card_bytes[links.src[into] - routers, 0] = carried[into] * BUCKET_S
    # An adapter's row has the second of its sample, the last one with counted events. Other times would contradict the ports, and the solver would
    # use all of its time.
    spans = [SpanSums(int(at) + BUCKET_S, BUCKET_S, card_bytes) for at in times]
    return counters.Batch(
        ports=ports, endpoints=_make_rows(fabric_id, spans, ("tx_bytes",), ENDPOINT_COLUMNS, 1, 1 / BUCKET_S)
    )


def _make_day(fabric_id: int, fabric: Fabric, carried: Float, until_s: int) -> counters.Batch:
    """Return switches by minute, with the twin's daily load and a little noise."""
    routers, rng = len(fabric.routers), np.random.default_rng(len(fabric.links))
    out = np.flatnonzero(fabric.links.src < routers)
    words = np.bincount(fabric.links.src[out], carried[out] / WORD_BYTES, routers)
    share = np.bincount(fabric.links.src[out], carried[out] ** 2 / LINK_BYTES_PER_S / WORD_BYTES, routers)
    cabled = np.bincount(fabric.links.src[out], minlength=routers)
    spans = []
    for at in range(until_s - DAY_S, until_s, MINUTE_S):
        level = float(day_load(at)) * rng.lognormal(0, 0.1)
        values = MINUTE_S * np.column_stack((words * level, WAITS * share * level**2))
        spans.append(SpanSums(at, MINUTE_S, values))
    rows = _make_rows(fabric_id, spans, ("rt_flits", "rt_stall_cycles"), ROUTER_COLUMNS, 1, 1 / BUCKET_S)
    return counters.Batch(routers=replace(rows, seconds=rows.seconds * np.tile(cabled, len(spans))))
