"""Roots of congestion over a served API: planted on the packet engine, stored as counters of ports or as packet samples; and quiet machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.databases import Server

from api.conftest import Served, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.alerts import signals
from flitwatch_db.counters import store as counters
from flitwatch_db.counters.samples import Summary, write_samples
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.alerts import read_rule
from flitwatch_domain.counters import COUNT_BYTES, ENDPOINT_COLUMNS
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_research.planted_roots import Planter, World
from flitwatch_simulation.namespaces import figure_214

START = 1_795_000_000 // 3600 * 3600
END = START + 60
SEED = 700
#: Steps of every job before the counted minute, and in it.
FAST, SLOW = 60, 5
#: The job that each machine runs.
JOBS = {"tree": "1", "dragonfly": "2", "still": "3", "calm": "4"}


@dataclass(frozen=True)
class Measured:
    served: Served
    url: str
    worlds: dict[str, World]
    planters: dict[str, Planter]


@pytest.fixture(scope="module")
def measured(_embedded_template: Server) -> Iterator[Measured]:
    url = _embedded_template.create()
    worlds, planters = plant(url)
    with serving(Settings(db=url)) as served:
        yield Measured(served, url, worlds, planters)
    _embedded_template.drop(url)


def plant(url: str) -> tuple[dict[str, World], dict[str, Planter]]:
    """Fill a database with machines of which two hold a root, each with a job that is slow in the counted minute."""
    planters = {
        "tree": Planter("xgft:2;8,8;1,4", "hw-adaptive"),
        "dragonfly": Planter("dragonfly:4,2,4,1", "minimal"),
    }
    kinds = {"tree": ("tree", "incast"), "dragonfly": ("dragonfly", "link"), "still": ("dragonfly", "quiet"), "calm": ("tree", "quiet")}  # fmt: skip
    worlds = {name: planters[machine].world(kind, 1, SEED) for name, (machine, kind) in kinds.items()}
    with connect(url, role="writer") as conn:
        for name, world in worlds.items():
            fabric = replace(world.machine.fabric, name=name)
            fabric_id = fabrics.save(conn, fabric)
            _write(conn, fabric_id, fabric, world)
            held = fabric.endpoints.node if not world.planted else _around(fabric, world.planted[0])
            job = Job(job_id=JOBS[name], user="ann", cluster="c", name="app", state="RUNNING", node_list=",".join(held), nodes=len(held), submit_s=START - 700, start_s=START - FAST * 6, simulated=True)  # fmt: skip
            jobs.upsert(conn, [job], fabric_id)
            _write_steps(conn, job)
        fabrics.save(conn, figure_214())
        write_samples(conn, _samples())
        jobs.upsert(conn, [Job(job_id=job, user="ann", cluster="c", name="app", state="RUNNING", node_list="", nodes=1, submit_s=START - 9, start_s=START - 5, simulated=True) for job in ("42", "43")])  # fmt: skip
    return worlds, planters


def _write_steps(conn, job: Job) -> None:
    """Steps of six seconds until the counted minute, in which they take twelve."""
    run = Run(run_key=f"run-{job.job_id}", exe="app", job_id=job.job_id, start_s=job.start_s, ranks=(0,), nodes=(0,), simulated=True)  # fmt: skip
    run_id = runs.upsert_run(conn, run)
    times_s = [6.0 + 0.01 * (step % 3) for step in range(FAST)] + [12.0] * SLOW
    runs.upsert_steps(
        conn, run_id, [RunStep(step, np.array([round(time_s * 1e9)])) for step, time_s in enumerate(times_s)]
    )


def _around(fabric: Fabric, link: int) -> list[str]:
    """Nodes at the routers at both ends of a link."""
    routers = len(fabric.routers)
    ends = [int(fabric.links.src[link]), int(fabric.links.dst[link])]
    at = [end if end < routers else int(fabric.endpoints.router[end - routers]) for end in ends]
    return [str(name) for name in fabric.endpoints.node[np.isin(fabric.endpoints.router, at)]]


def _write(conn, fabric_id: int, fabric: Fabric, world: World) -> None:
    """Ports and network cards that count a minute of what the world's links carried."""
    capacity = fabric.links.bandwidth_bps / 8
    flits = world.window.utilisation * capacity * 10 / COUNT_BYTES[fabric.technology]
    stalls = world.window.stalls_per_flit * flits
    table = fabric.counted_links()
    if table.shape[1] == 48:  # both tiles of a network card name its link
        table[:, 41::2] = -1
    n, ends = len(table), len(fabric.endpoints)
    there = table >= 0
    rx, tx = np.zeros(ends), np.zeros(ends)
    routers = len(fabric.routers)
    out = fabric.links.dst >= routers
    rx[fabric.links.dst[out] - routers] = (world.window.utilisation * capacity)[out]
    into = fabric.links.src >= routers
    tx[fabric.links.src[into] - routers] = (world.window.utilisation * capacity)[into]
    cards = np.full((ends, len(ENDPOINT_COLUMNS)), np.nan)
    cards[:, 0], cards[:, 1] = tx * 10, rx * 10
    for ts in range(START, END, 10):
        ports = counters.PortRows(np.full(n, fabric_id, np.int32), np.arange(n, dtype=np.int32), np.full(n, ts, np.int64), np.full(n, 10.0), np.where(there, flits[table], np.nan), np.where(there, stalls[table], np.nan))  # fmt: skip
        rows = counters.Rows(np.full(ends, fabric_id, np.int32), np.arange(ends, dtype=np.int32), np.full(ends, ts + 10, np.int64), np.ones(ends, np.int32), np.full(ends, 10.0), cards)  # fmt: skip
        counters.write_batch(conn, counters.Batch(ports=ports, endpoints=rows))


def _samples() -> list[Summary]:
    """Of job 42 the packets on one link waited, those of job 43 never did."""
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


@pytest.mark.parametrize("name", ["tree", "dragonfly"])
def test_counters_of_ports_alone_name_the_planted_root_its_tree_and_its_job(measured: Measured, name: str) -> None:
    world, planter = measured.worlds[name], measured.planters[name]
    got = measured.served.get(f"/fabrics/{name}/roots", at=END, window="60s")
    assert (got["method"], got["verdict"], got["simulated"]) == ("ports", "named", True)
    [root] = got["roots"]
    assert planter.distance(root["link"], world.planted[0]) <= 1 and root["confidence"] >= 0.5
    assert root["victims"] and {one["distance"] for one in root["victims"]} >= {1}
    behind = {root["link"]} | {one["link"] for one in root["victims"]}
    assert all(one["behind"] in behind for one in root["victims"])
    of_job = measured.served.get(f"/jobs/{JOBS[name]}/diagnosis", at=END)
    assert [one["link"] for one in of_job["roots"]] == [root["link"]]
    if name == "tree":  # the node at its end is the job's
        assert [(job["job_id"], job["share"]) for job in root["jobs"]] == [(JOBS["tree"], None)]
    assert all(job["user"].startswith("user-") for job in root["jobs"])


@pytest.mark.parametrize("name", ["tree", "dragonfly"])
def test_the_explanation_of_a_slow_job_names_the_planted_root_in_its_chain(measured: Measured, name: str) -> None:
    got = measured.served.get(f"/jobs/{JOBS[name]}/explanation", at=END)
    assert got["slowdown"]["first_step"] == FAST
    assert measured.planters[name].distance(got["root"]["link"], measured.worlds[name].planted[0]) <= 1
    [links] = [one["text"] for one in got["chain"] if one["part"] == "links"]
    assert f"{got['root']['src_name']} to {got['root']['dst_name']}" in links and "congestion begins at" in links


@pytest.mark.parametrize("name", ["still", "calm"])
def test_a_job_that_is_slow_for_another_reason_has_no_root(measured: Measured, name: str) -> None:
    got = measured.served.get(f"/jobs/{JOBS[name]}/explanation", at=END)
    assert got["slowdown"]["first_step"] == FAST
    assert got["root"] is None and not any("begins at" in one["text"] for one in got["chain"])


@pytest.mark.parametrize("name", ["still", "calm"])
def test_in_a_quiet_machine_nothing_is_claimed(measured: Measured, name: str) -> None:
    for path in (f"/fabrics/{name}/roots", f"/jobs/{JOBS[name]}/diagnosis"):
        got = measured.served.get(path, at=END)
        assert (got["verdict"], got["roots"], got["reasons"]) == ("none", [], [])
        assert got["links_counted"] > 0


def test_packet_samples_of_a_job_name_its_root(measured: Measured) -> None:
    target = int(figure_214().links.dst[_samples()[0].link[0]])
    for asked in ({}, {"tag": "7"}, {"phase": "solve"}):
        got = measured.served.get("/jobs/42/diagnosis", at=END, **asked)
        assert (got["method"], got["verdict"], got["simulated"]) == ("samples", "named", True)
        [root] = got["roots"]
        assert root["src"] == target and root["cause"] == "background-traffic" and root["confidence"] is None
        assert {one["dst"] for one in root["victims"] if one["distance"] == 1} == {target}
    assert measured.served.get("/jobs/42/diagnosis")["verdict"] == "named"


def test_samples_that_never_waited_claim_nothing_and_lacking_ones_say_so(measured: Measured) -> None:
    calm = measured.served.get("/jobs/43/diagnosis", at=END)
    assert (calm["method"], calm["verdict"], calm["roots"]) == ("samples", "none", [])
    other = measured.served.get("/jobs/42/diagnosis", at=END, tag="8")
    assert (other["verdict"], other["roots"]) == ("cannot tell", []) and "tag or phase" in other["reasons"][0]


def test_bad_questions_are_refused(measured: Measured) -> None:
    measured.served.refused("/jobs/none/diagnosis", 404)
    measured.served.refused("/fabrics/tree/roots", 400, window="2h")
    assert measured.served.get("/fabrics/tree/roots", at=START - 3600)["verdict"] == "cannot tell"


def test_a_rule_on_roots_fires_for_planted_ones_by_ports_and_by_samples_and_for_nothing_else(
    measured: Measured,
) -> None:
    rule = read_rule({"name": "root", "signal": "root", "above": 1, "every": "60s"})
    with connect(measured.url, role="reader") as conn:
        found = signals.samples(conn, rule, END - 60, END)
        before = signals.samples(conn, rule, START - 600, START)
    series = {(labels["fabric"], labels.get("job")) for labels in (dict(one.labels) for one in found)}
    assert series == {("tree", None), ("dragonfly", None), ("figure-2.14", "42")}
    assert {one.evidence["method"] for one in found} == {"ports", "samples"} and before == []
    for one in found:
        assert one.value >= rule.above and one.evidence["simulated"] and dict(one.labels)["root"]
