"""The content of the tests' database: fabrics with counters and known sums, jobs, runs, refused records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import store as ingest
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly, build_xgft
from flitwatch_domain.jobs import Job, JobStep
from flitwatch_domain.runs import Run, RunStep

#: Start of the counters: 20 s into a minute, so that windows begin within minutes.
T0 = 1_790_000_000 // 3600 * 3600 + 620
SECONDS = 200
#: Rows are complete up to here; the last ten seconds are not.
THROUGH = T0 + 190
HOSTILE = "<img src=x onerror=alert(1)>"
CLASS_COLUMNS = [f"{c}_{what}" for c in ("green", "black", "blue") for what in ("flits", "stall_cycles")]


@dataclass(frozen=True)
class SampleDatabase:
    """What was stored.

    Attributes
    ----------
    values : float64[SECONDS, R, C]
        Counters of fabric `small` by second, NaN if nothing was stored.
    port_flits, port_stalls : float64[SECONDS // 10, R, 48]
    still_flits, still_stalls : float64[R, 48]
        The one sample of fabric `still`.
    """

    url: str
    small: Fabric
    small_id: int
    still: Fabric
    still_id: int
    tree: Fabric
    tree_id: int
    values: NDArray[np.float64]
    port_flits: NDArray[np.float64]
    port_stalls: NDArray[np.float64]
    still_flits: NDArray[np.float64]
    still_stalls: NDArray[np.float64]
    tree_flits: NDArray[np.float64]
    tree_stalls: NDArray[np.float64]
    job_pks: dict[str, int]
    run_ids: list[int]

    def column(self, name: str) -> NDArray[np.float64]:
        """A counter by second and router: float64[SECONDS, R]."""
        return self.values[:, :, ROUTER_COLUMNS.index(name)]


def seed(url: str) -> SampleDatabase:
    """Fill a migrated database."""
    rng = np.random.default_rng(7)
    small = build_dragonfly(
        4, 2, 4, endpoints_per_router=2, blue_routers=2, blue_cables=1, black_cables=1, name="small"
    )
    still = replace(small, name="still")
    tree = replace(build_xgft(2, [4, 4], [1, 2]), name="tree")
    with connect(url, role="writer") as conn:
        small_id = fabrics.save_fabric(conn, small)
        still_id = fabrics.save_fabric(conn, still, snapshot=True)
        tree_id = fabrics.save_fabric(conn, tree)
        values = _router_counters(conn, rng, small_id, len(small.routers))
        port_flits, port_stalls = _port_counters(conn, rng, small_id, small.counted_links() >= 0)
        still_flits, still_stalls = _totals(conn, rng, still_id, still)
        tree_flits, tree_stalls = _port_counters(conn, rng, tree_id, tree.counted_links() >= 0)
        _tree_routers(conn, tree_id, tree_flits, tree_stalls)
        job_pks = _jobs(conn, small_id, small)
        run_ids = _runs(conn, rng)
        _quality(conn, small_id)
        through = datetime.fromtimestamp(THROUGH, UTC).isoformat()
        events.emit_event(
            conn, "counters", {"fabric_id": small_id, "through": through, "ports_through": through, "routers": 30}
        )
        events.emit_event(
            conn,
            "job",
            {"job_pk": job_pks["100"], "job_id": "100", "state": "RUNNING", "name": HOSTILE + "\nevent: forged"},
        )
    return SampleDatabase(
        url, small, small_id, still, still_id, tree, tree_id, values, port_flits, port_stalls, still_flits, still_stalls, tree_flits,
        tree_stalls, job_pks, run_ids,
    )  # fmt: skip


def _router_counters(conn, rng, fabric_id: int, size: int) -> NDArray[np.float64]:
    values = rng.integers(1, 10**9, size=(SECONDS, size, len(ROUTER_COLUMNS))).astype(np.float64)
    values[:, 30:] = np.nan  # never sampled
    values[60:120, 5] = np.nan  # silent for a minute
    values[:, 2, ROUTER_COLUMNS.index("blue_flits")] = np.nan  # no such counter on this router
    values[:, 2, ROUTER_COLUMNS.index("blue_stall_cycles")] = np.nan
    second, router = np.nonzero(~np.isnan(values).all(axis=2))
    n = len(second)
    # Router 7 counts half of its tiles.
    tiles = np.where(router == 7, 24.0, 48.0)
    rows = counters.Rows(
        np.full(n, fabric_id, np.int32),
        router.astype(np.int32),
        T0 + second,
        np.ones(n, np.int32),
        tiles,
        values[second, router],
    )
    counters.write_batch(conn, counters.Batch(routers=rows))
    return values


def _port_counters(
    conn, rng, fabric_id: int, there: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    buckets, (size, ports) = SECONDS // 10, there.shape
    flits = rng.integers(1, 10**9, size=(buckets, size, ports)).astype(np.float64)
    stalls = rng.integers(1, 10**9, size=(buckets, size, ports)).astype(np.float64)
    flits[:, ~there] = stalls[:, ~there] = np.nan
    flits[:, -1] = stalls[:, -1] = np.nan  # a router without port counters
    bucket, router = (axis.ravel() for axis in np.indices((buckets, size - 1)))
    start = T0 // 10 * 10 + bucket * 10
    n = len(bucket)
    rows = counters.PortRows(
        np.full(n, fabric_id, np.int32),
        router.astype(np.int32),
        start,
        np.full(n, 10.0 * ports),
        flits[bucket, router],
        stalls[bucket, router],
    )
    counters.write_batch(conn, counters.Batch(ports=rows))
    return flits, stalls


def _tree_routers(conn, fabric_id: int, flits: NDArray[np.float64], stalls: NDArray[np.float64]) -> None:
    """Router rows of the tree: a row a second ten seconds apart, as slow polling gives."""
    buckets, size, _ = flits.shape
    bucket, router = (axis.ravel() for axis in np.indices((buckets, size - 1)))
    n = len(bucket)
    values = np.full((n, len(ROUTER_COLUMNS)), np.nan)
    values[:, ROUTER_COLUMNS.index("rt_flits")] = np.nansum(flits[bucket, router], axis=1)
    values[:, ROUTER_COLUMNS.index("rt_stall_cycles")] = np.nansum(stalls[bucket, router], axis=1)
    rows = counters.Rows(
        np.full(n, fabric_id, np.int32),
        router.astype(np.int32),
        T0 + bucket * 10,
        np.ones(n, np.int32),
        np.full(n, 60.0),
        values,
    )
    counters.write_batch(conn, counters.Batch(routers=rows))


def _totals(conn, rng, fabric_id: int, fabric: Fabric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    there = fabric.counted_links() >= 0
    there[16:] = False
    flits, stalls = np.full(there.shape, np.nan), np.full(there.shape, np.nan)
    flits[there] = rng.integers(1, 10**9, size=int(there.sum()))
    stalls[there] = rng.integers(1, 10**9, size=int(there.sum()))
    router, port = np.nonzero(there)
    counters.write_port_totals(
        conn, fabric_id, router.astype(np.int32), port.astype(np.int32), flits[there], stalls[there], "snapshot.csv"
    )
    return flits, stalls


def _jobs(conn, fabric_id: int, fabric: Fabric) -> dict[str, int]:
    def nodes(*routers: int) -> str:
        return ",".join(fabric.endpoints.node[e] for e in np.flatnonzero(np.isin(fabric.endpoints.router, routers)))

    common = {"cluster": "c1", "account": "acc", "partition": "batch", "simulated": True}

    def job(
        job_id: str, user: str | None, nodes: str, count: int, start: float | None, end: float | None, **more
    ) -> Job:
        state = "PENDING" if start is None else "RUNNING" if end is None else "COMPLETED"
        return Job(
            job_id=job_id,
            user=user,
            node_list=nodes,
            nodes=count,
            submit_s=T0 - 500,
            start_s=start,
            end_s=end,
            **{"state": state, **common, **more},
        )

    made = [
        job(
            "100",
            "ann",
            nodes(0, 1, 2, 3),
            8,
            T0,
            T0 + 100,
            name=HOSTILE,
            steps=(JobStep("0", "amg", "COMPLETED", T0, T0 + 90, 8),),
        ),
        job("101", "bob", nodes(3, 4, 8), 6, T0 + 50, None, name="shares router 3"),
        job("102", "ann", nodes(7), 2, T0 - 100, T0 + 60, name="shares group 0 only"),
        job("103", "eve", nodes(0, 1, 2, 3), 8, T0 + 100, T0 + 190, name="afterwards"),
        job("104", "eve", nodes(20, 21, 22, 23), 8, T0, T0 + 100, name="elsewhere"),
        job("105_7", None, "", 4, None, None, name="waiting"),
        job("100", "old", nodes(10), 2, T0 - 900, T0 - 800, name="same number, other cluster", cluster="c2"),
    ]
    numbers = jobs.upsert_jobs(conn, made, fabric_id)
    return {j.job_id if j.cluster == "c1" else f"{j.cluster}:{j.job_id}": n for j, n in zip(made, numbers, strict=True)}


def _runs(conn, rng) -> list[int]:
    ids = []
    for number in range(5):
        run = Run(
            run_key=f"amg-{number}",
            exe="amg",
            job_id="104" if number == 0 else None,
            start_s=T0 + number,
            ranks=(0, 1, 2),
            nodes=("nid00000", "nid00004", "nid00008"),
            counters=("AR_A", "AR_B") if number == 0 else (),
            simulated=True,
        )
        run_id = runs.upsert_run(conn, run)
        values = rng.integers(0, 1000, size=(6, 3, 2))
        steps = [
            RunStep(step, rng.integers(10**9, 3 * 10**9, size=3), values[step] if number == 0 else None)
            for step in range(6 + number)
            if not (number == 0 and step > 5)
        ]
        runs.upsert_steps(conn, run_id, steps)
        ids.append(run_id)
    lonely = runs.upsert_run(conn, Run(run_key="alone", exe=HOSTILE, ranks=(0,), nodes=("nid00001",)))
    runs.upsert_steps(conn, lonely, [RunStep(0, np.array([10**9]))])
    return [*ids, lonely]


def _quality(conn, fabric_id: int) -> None:
    start = datetime.fromtimestamp(T0 + 60, UTC)
    stop = datetime.fromtimestamp(T0 + 120, UTC)
    later = datetime.fromtimestamp(T0 + 130, UTC)
    ingest.add_gaps(
        conn,
        [
            ingest.Gap("router 5", "aries_rtr", start, stop, "silence", fabric_id),
            ingest.Gap("router 6", "aries_rtr", datetime.fromtimestamp(T0 + 110, UTC), later, "reset", fabric_id),
        ],
    )
    ingest.add_dead_letters(
        conn,
        [
            ingest.DeadLetter("ldms.x", 0, n, f"cut short {n}", b"<script>" + bytes([n, 0, 255]), "host", "offset 3")
            for n in range(7)
        ],
    )
    ingest.register_schema(conn, "aries_rtr", "d1", ["a", "b"], "router")
    ingest.add_rates(conn, datetime.now(UTC), {"ldms.x": ingest.Rates(records=10, values=1000, bytes=5000, dead=7)})
