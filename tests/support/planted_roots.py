"""Counters and packet samples of a machine with a planted root of congestion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.counters.samples import Summary, write_samples
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import COUNT_BYTES, ENDPOINT_COLUMNS
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_research.namespaces import figure_214
from flitwatch_research.planted_roots import PlantedRun, Planter

START = 1_795_000_000 // 3600 * 3600
END = START + 60
SEED = 700
#: Steps of every job before the counted minute, and in it.
FAST, SLOW = 60, 5
#: The job on each machine.
JOBS = {"tree": "1", "dragonfly": "2", "still": "3", "calm": "4"}


def plant(url: str) -> tuple[dict[str, PlantedRun], dict[str, Planter]]:
    """Fill a database with machines, two of them with a root, each with a job that is slow in the counted minute."""
    planters = {
        "tree": Planter("xgft:2;8,8;1,4", "hw-adaptive"),
        "dragonfly": Planter("dragonfly:4,2,4,1", "minimal"),
    }
    kinds = {"tree": ("tree", "incast"), "dragonfly": ("dragonfly", "link"), "still": ("dragonfly", "quiet"), "calm": ("tree", "quiet")}  # fmt: skip
    planted_runs = {name: planters[machine].planted_run(kind, 1, SEED) for name, (machine, kind) in kinds.items()}
    with connect(url, role="writer") as conn:
        for name, planted_run in planted_runs.items():
            fabric = replace(planted_run.machine.fabric, name=name)
            fabric_id = fabrics.save_fabric(conn, fabric)
            _write(conn, fabric_id, fabric, planted_run)
            held = fabric.endpoints.node if not planted_run.planted else _around(fabric, planted_run.planted[0])
            job = Job(job_id=JOBS[name], user="ann", cluster="c", name="app", state="RUNNING", node_list=",".join(held), nodes=len(held), submit_s=START - 700, start_s=START - FAST * 6, simulated=True)  # fmt: skip
            jobs.upsert_jobs(conn, [job], fabric_id)
            _write_steps(conn, job)
        fabrics.save_fabric(conn, figure_214())
        write_samples(conn, packet_samples())
        jobs.upsert_jobs(conn, [Job(job_id=job, user="ann", cluster="c", name="app", state="RUNNING", node_list="", nodes=1, submit_s=START - 9, start_s=START - 5, simulated=True) for job in ("42", "43")])  # fmt: skip
    return planted_runs, planters


def _write_steps(conn, job: Job) -> None:
    """Write steps of six seconds, and of twelve in the counted minute."""
    run = Run(run_key=f"run-{job.job_id}", exe="app", job_id=job.job_id, start_s=job.start_s, ranks=(0,), nodes=(0,), simulated=True)  # fmt: skip
    run_id = runs.upsert_run(conn, run)
    times_s = [6.0 + 0.01 * (step % 3) for step in range(FAST)] + [12.0] * SLOW
    runs.upsert_steps(
        conn, run_id, [RunStep(step, np.array([round(time_s * 1e9)])) for step, time_s in enumerate(times_s)]
    )


def _around(fabric: Fabric, link: int) -> list[str]:
    """Return the nodes of the routers at both ends of a link."""
    routers = len(fabric.routers)
    ends = [int(fabric.links.src[link]), int(fabric.links.dst[link])]
    at = [end if end < routers else int(fabric.endpoints.router[end - routers]) for end in ends]
    return [str(name) for name in fabric.endpoints.node[np.isin(fabric.endpoints.router, at)]]


def _write(conn, fabric_id: int, fabric: Fabric, planted_run: PlantedRun) -> None:
    """Write one minute of the planted run's link traffic as counters of ports and network cards."""
    capacity = fabric.links.bandwidth_bps / 8
    flits = planted_run.window.utilisation * capacity * 10 / COUNT_BYTES[fabric.technology]
    stalls = planted_run.window.stalls_per_flit * flits
    table = fabric.counted_links()
    if table.shape[1] == 48:  # both tiles of a network card name its link
        table[:, 41::2] = -1
    n, ends = len(table), len(fabric.endpoints)
    there = table >= 0
    rx, tx = np.zeros(ends), np.zeros(ends)
    routers = len(fabric.routers)
    out = fabric.links.dst >= routers
    rx[fabric.links.dst[out] - routers] = (planted_run.window.utilisation * capacity)[out]
    into = fabric.links.src >= routers
    tx[fabric.links.src[into] - routers] = (planted_run.window.utilisation * capacity)[into]
    cards = np.full((ends, len(ENDPOINT_COLUMNS)), np.nan)
    cards[:, 0], cards[:, 1] = tx * 10, rx * 10
    for ts in range(START, END, 10):
        ports = counters.PortRows(np.full(n, fabric_id, np.int32), np.arange(n, dtype=np.int32), np.full(n, ts, np.int64), np.full(n, 10.0), np.where(there, flits[table], np.nan), np.where(there, stalls[table], np.nan))  # fmt: skip
        rows = counters.Rows(np.full(ends, fabric_id, np.int32), np.arange(ends, dtype=np.int32), np.full(ends, ts + 10, np.int64), np.ones(ends, np.int32), np.full(ends, 10.0), cards)  # fmt: skip
        counters.write_batch(conn, counters.Batch(ports=ports, endpoints=rows))


def packet_samples() -> list[Summary]:
    """Return samples in which job 42's packets waited on one link, and job 43's never."""
    fabric = figure_214()
    links, routers = fabric.links, len(fabric.routers)
    inner = np.flatnonzero((links.src < routers) & (links.dst < routers)).astype(np.int32)
    rows = np.zeros((len(inner), 6))
    rows[:, :4] = (1000, 1_000_000, 1000, 1)
    rows[:, 4] = np.where(inner == inner[0], 950, 5)
    calm = rows.copy()
    calm[:, 4] = 5
    head = {"fabric": "figure-2.14", "host": "h2", "tag": "7", "phase": "solve", "start_s": START + 30, "longest_path": 4, "variant": "standard", "link": inner, "packets": {"decoded": 1000}, "simulated": True}  # fmt: skip
    return [Summary(job=job, sums=sums, **head) for job, sums in (("42", rows), ("43", calm))]
