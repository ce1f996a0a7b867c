"""Causes of a job's waiting on a fat tree: planted traffic on the twin's d-mod-k paths, written in the InfiniBand collector's form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from support.databases import Server

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import flow
from flitwatch_db.jobs import store as stored
from flitwatch_domain import jobs as domain
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.explanation.flow import Flow, name_jobs
from flitwatch_domain.generators import build_xgft
from flitwatch_research.port_counters import PortCounters
from flitwatch_twin.flows import Flows, exchange_pattern
from flitwatch_twin.machine import Nodes
from flitwatch_twin.static_model import StaticPathModel
from flitwatch_twin.tree_paths import build_tables
from flitwatch_twin.users import Exchange

#: Four pods of three leaves with eight nodes, half as many cables up as down.
FABRIC = build_xgft(3, (8, 3, 4), (1, 4, 2), bandwidth_bps=56e9)
LINKS, ROUTERS, ENDS = FABRIC.links, len(FABRIC.routers), len(FABRIC.endpoints)
MODEL = StaticPathModel(FABRIC, Nodes.of(FABRIC))
POD = FABRIC.routers.group[FABRIC.endpoints.router]
#: The forwarding tables of those ways.
PORTS = LINKS.src_port[build_tables(FABRIC)].astype(np.int64)
#: The slow job and the culprit share the leaves of two pods; two others are in the other pods.
OF_JOB = [
    np.flatnonzero((POD < 2) & (np.arange(ENDS) % 8 < 3)),
    np.flatnonzero((POD < 2) & (np.arange(ENDS) % 8 >= 3)),
    np.flatnonzero((POD >= 2) & (np.arange(ENDS) % 8 < 5)),
    np.flatnonzero((POD >= 2) & (np.arange(ENDS) % 8 >= 5)),
]
BEGIN_S, MINUTES = 1_790_000_000 // 3600 * 3600, 6
#: Bytes a second of each node, of each job before the fourth minute and from then on.
QUIET = (8e8, 3e8, 3e8, 3e8)


def planted(
    url: str,
    later: Sequence[float],
    tables: bool = False,
    of_job: Sequence[np.ndarray] = OF_JOB,
    quiet: Sequence[float] = QUIET,
) -> None:
    """Six minutes of a machine with jobs 1 to 4, whose rates change after half of them."""
    patterns = [
        exchange_pattern(ends.astype(np.int32), Exchange.ALL_TO_ALL, np.random.default_rng(n))
        for n, ends in enumerate(of_job)
    ]
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, FABRIC)
        names = [str(name) for name in FABRIC.endpoints.node]
        rows = [
            domain.Job("c", str(n + 1), "RUNNING", start_s=BEGIN_S - 3600, nodes=len(ends), node_list=",".join(names[one] for one in ends), simulated=True)
            for n, ends in enumerate(of_job)
        ]  # fmt: skip
        stored.upsert_jobs(conn, rows, fabric_id)
        if tables:
            route_changes.record_change(conn, fabric_id, datetime.fromtimestamp(BEGIN_S - 60, UTC), PORTS)
        held = PortCounters(FABRIC, np.random.default_rng(1))
        table = FABRIC.counted_links()
        end = ROUTERS + np.arange(ENDS)
        leaves, comes = (np.argsort(side, kind="stable")[-ENDS:] for side in (LINKS.src, LINKS.dst))
        assert (LINKS.src[leaves] == end).all() and (LINKS.dst[comes] == end).all()
        for at in range(0, 60 * MINUTES, 10):
            rates = np.array(quiet if at < 30 * MINUTES else later)
            before = np.stack((held.words, held.waits))
            flows = Flows(tuple(one for one in patterns if one is not None), rates)
            held.update(flows, MODEL.step(flows, 10.0))
            words, waits = moved = np.stack((held.words, held.waits)) - before
            ports = np.where(table >= 0, moved[:, table], np.nan)
            values = np.full((ROUTERS, len(ROUTER_COLUMNS)), np.nan)
            for column, name in enumerate(("rt_flits", "rt_stall_cycles")):
                values[:, ROUTER_COLUMNS.index(name)] = np.nansum(ports[column], axis=1)
            cards = np.full((ENDS, len(ENDPOINT_COLUMNS)), np.nan)
            for name, column in (("tx_bytes", words[leaves] * 4), ("rx_bytes", words[comes] * 4), ("tx_wait_cycles", waits[leaves])):  # fmt: skip
                cards[:, ENDPOINT_COLUMNS.index(name)] = column
            head = _head(fabric_id, ROUTERS, at)
            counters.write_batch(
                conn,
                counters.Batch(
                    routers=counters.Rows(*head, np.ones(ROUTERS, np.int32), np.full(ROUTERS, 480.0), values),
                    ports=counters.PortRows(*head, np.full(ROUTERS, 480.0), *ports),
                    endpoints=counters.Rows(
                        *_head(fabric_id, ENDS, at), np.ones(ENDS, np.int32), np.full(ENDS, 10.0), cards
                    ),
                ),
            )
        conn.commit()


def _head(fabric_id: int, count: int, at: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.full(count, fabric_id, np.int32), np.arange(count, dtype=np.int32), np.full(count, BEGIN_S + at)


def asked(url: str) -> tuple[Flow, list[str], list[float]]:
    """Whom the first job waits for in the last three minutes, who is named for it, and the parts of jobs 1 to 4."""
    with connect(url, role="reader") as conn:
        jobs = dict(conn.execute("SELECT job_pk, job_id FROM job").fetchall())
        own = next(pk for pk, one in jobs.items() if one == "1")
        routers = conn.execute("SELECT fabric_id, array_agg(router), array_agg(endpoint) FROM job_node WHERE job_pk = %s GROUP BY 1", [own]).fetchone()  # fmt: skip
        assert routers is not None
        row, place = (
            {"job_pk": own, "simulated": True},
            {"fabric_id": routers[0], "router": routers[1], "endpoint": routers[2]},
        )
        low, end = BEGIN_S + 30 * MINUTES, BEGIN_S + 60 * MINUTES
        found = flow.of_job(conn, row, place, low, end, end, BEGIN_S)
    said = [jobs[one] for one in name_jobs(found, own, [one for one in jobs if one != own], [])]
    return found, said, [found.part.get(pk, 0.0) for pk in sorted(jobs, key=lambda pk: jobs[pk])]


@pytest.fixture(scope="module", params=[False, True], ids=["expected ways", "tables"])
def url(request: pytest.FixtureRequest, _embedded_template: Server) -> Iterator[str]:
    url = _embedded_template.create()
    planted(url, (8e8, 3e9, 3e8, 3e8), request.param)
    yield url
    _embedded_template.drop(url)


def test_who_fills_the_cables_that_the_job_takes_is_named(url: str, request: pytest.FixtureRequest) -> None:
    found, said, part = asked(url)
    assert found.routes == ("tables" if "tables" in request.node.name else "assumed")
    assert found.reason is None and found.counted > 0.99 and found.resolution_s == 60
    assert said == ["2"] and part[1] >= 0.8 and max(part[2:]) <= 0.05


def test_a_job_in_other_pods_is_not_named_however_much_it_sends(embedded_db: str) -> None:
    planted(embedded_db, (8e8, 3e8, 3e9, 3e8))
    found, said, part = asked(embedded_db)
    assert said == [] and part[2] <= 0.05 and not found.carried


def test_where_nothing_changes_nobody_is_named(embedded_db: str) -> None:
    planted(embedded_db, QUIET)
    found, said, _ = asked(embedded_db)
    assert found.reason is None and said == [] and not found.carried


def test_a_job_that_sends_more_than_the_tree_takes_waits_for_itself(embedded_db: str) -> None:
    planted(embedded_db, (6e9, 3e8, 3e8, 3e8))
    _, said, part = asked(embedded_db)
    assert said == [] and part[0] >= 0.7


#: Four jobs that share all leaves of two pods, two nodes each on a leaf, and what each sends: a job as usual, and more by one, two or three of them.
ALIKE = [np.flatnonzero((POD < 2) & (np.arange(ENDS) % 8 // 2 == n)) for n in range(4)]
USUAL = 8e8


@pytest.mark.parametrize(
    "later",
    [
        (USUAL, 6e9, USUAL, USUAL),
        (USUAL, USUAL, 6e9, USUAL),
        (USUAL, 5e9, 5e9, USUAL),
        (USUAL, 5e9, USUAL, 5e9),
        (USUAL, 4e9, 4e9, 4e9),
        (USUAL, USUAL, USUAL, USUAL),
    ],
)
def test_all_that_send_more_are_named_and_a_fellow_victim_never(embedded_db: str, later: Sequence[float]) -> None:
    """Who sends as before waits with the slow job on the same leaves."""
    planted(embedded_db, later, of_job=ALIKE, quiet=(USUAL,) * 4)
    found, said, part = asked(embedded_db)
    culprits = [str(1 + at) for at, rate in enumerate(later) if rate > USUAL]
    assert sorted(said) == culprits and found.carried == bool(culprits), part
    assert part[0] <= 0.1 and sum(part[int(one) - 1] for one in culprits) >= 0.8 * bool(culprits), part


def test_where_ports_are_no_longer_kept_the_sums_of_switches_name_the_same(embedded_db: str) -> None:
    planted(embedded_db, (8e8, 3e9, 3e8, 3e8))
    with connect(embedded_db, role="owner") as conn:
        conn.execute("DELETE FROM port_10s")
        conn.commit()
    found, said, part = asked(embedded_db)
    assert found.reason is None and said == ["2"] and part[1] >= 0.8 and max(part[2:]) <= 0.05
