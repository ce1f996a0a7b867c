"""Hot links and their users over a served API: a machine whose counters contain the traffic of two known jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from support.databases import Server

from api.conftest import Served, serving
from api.database import T0, SampleDatabase
from api.estimates import add_measured_machine
from flitwatch_api import links
from flitwatch_api.jobs.links import JobLink
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.counters import ENDPOINT_COLUMNS
from flitwatch_domain.counters.units import COUNT_BYTES
from flitwatch_domain.cray import BYTES_PER_FLIT
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_domain.link_shares import DragonflyRoutes, JobTraffic

#: Job: routers, and bytes per second that each of its endpoints sends and receives.
PLANTED = {"1": ((0, 9, 17), 3e9), "2": ((1, 10), 1e9)}

START = T0 // 60 * 60 + 600

LENGTH_S = 60


@dataclass(frozen=True)
class Linked:
    served: Served
    fabric: Fabric
    load: dict[str, np.ndarray]


@pytest.fixture(scope="module")
def linked(_embedded_template: Server) -> Iterator[Linked]:
    fabric = build_dragonfly(3, 2, 4, endpoints_per_router=2, blue_routers=2, blue_cables=2, name="linked")
    url = _embedded_template.create()
    routes, links = DragonflyRoutes(fabric), np.flatnonzero(fabric.router_links())
    load = {}
    held = {}
    for job, (routers, rate) in PLANTED.items():
        ends = held[job] = np.flatnonzero(np.isin(fabric.endpoints.router, routers))
        traffic = JobTraffic(
            fabric.endpoints.router[ends].astype(np.int64), np.full(len(ends), rate), np.full(len(ends), rate)
        )
        load[job] = np.zeros(len(fabric.links))
        load[job][links] = routes.loads([traffic], links, 0.0)[:, 0]
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        add_measured_machine(conn)
        jobs.upsert_jobs(
            conn,
            [
                Job(
                    job_id=job,
                    user="ann",
                    cluster="c",
                    name=f"app{job}",
                    state="RUNNING",
                    node_list=",".join(fabric.endpoints.node[end] for end in held[job]),
                    nodes=len(held[job]),
                    submit_s=START - 100,
                    start_s=START,
                    simulated=fabric.simulated,
                )
                for job in PLANTED
            ],
            fabric_id,
        )
        _ports(conn, fabric_id, fabric, sum(load.values()))
        for job, (_, rate) in PLANTED.items():
            _cards(conn, fabric_id, held[job], rate)
    with serving(Settings(db=url)) as served:
        yield Linked(served, fabric, load)
    _embedded_template.drop(url)


def _ports(conn, fabric_id: int, fabric: Fabric, bytes_per_s: np.ndarray) -> None:
    table = fabric.counted_links()
    flits = np.where(table >= 0, bytes_per_s[table] * 10 / BYTES_PER_FLIT, np.nan)
    for ts in range(START - 60, START + LENGTH_S, 10):
        # Before the jobs started there was a little of everything, and nobody's.
        now = flits if ts >= START else np.where(table >= 0, 1e6, np.nan)
        n = len(table)
        rows = counters.PortRows(
            np.full(n, fabric_id, np.int32),
            np.arange(n, dtype=np.int32),
            np.full(n, ts, np.int64),
            np.full(n, 10.0),
            now,
            now * now * 1e-9,
        )
        counters.write_batch(conn, counters.Batch(ports=rows))


def _cards(conn, fabric_id: int, ends: np.ndarray, rate: float) -> None:
    for ts in range(START + 10, START + LENGTH_S + 10, 10):
        values = np.full((len(ends), len(ENDPOINT_COLUMNS)), np.nan)
        values[:, :2] = rate * 10
        n = len(ends)
        rows = counters.Rows(
            np.full(n, fabric_id, np.int32),
            ends.astype(np.int32),
            np.full(n, ts, np.int64),
            np.ones(n, np.int32),
            np.full(n, 10.0),
            values,
        )
        counters.write_batch(conn, counters.Batch(endpoints=rows))


def test_the_hottest_links_come_first_with_the_jobs_that_use_them(linked: Linked) -> None:
    got = linked.served.get("/fabrics/linked/links/hot", at=START + LENGTH_S, window="60s", limit=20)
    total = sum(linked.load.values())
    ratios = [item["ratio"] for item in got["items"]]
    assert len(ratios) == 20 and ratios == sorted(ratios, reverse=True)
    between = np.flatnonzero(linked.fabric.router_links())
    assert total[got["items"][0]["link"]] == pytest.approx(total[between].max())
    for item in got["items"]:
        want = {job: load[item["link"]] / total[item["link"]] for job, load in linked.load.items()}
        shares = {user["job_id"]: user["share"] for user in item["jobs"]}
        assert shares == pytest.approx({job: share for job, share in want.items() if share >= 0.01}, abs=0.02)
        assert item["cannot_tell"] is None and item["explained"] == pytest.approx(1, abs=0.05)
        assert item["jobs"][0]["user"].startswith("user-")


def test_a_link_says_how_much_it_could_have_sent_while_it_stalled(linked: Linked) -> None:
    got = linked.served.get("/fabrics/linked/links/hot", at=START + LENGTH_S, window="60s", limit=20)
    technology = next(one["technology"] for one in linked.served.get("/fabrics")["items"] if one["name"] == "linked")
    bits = 8 * COUNT_BYTES[Technology(technology)]
    for item in got["items"]:
        assert item["lost_bps"] == pytest.approx(item["stall_cycles"] * bits / 60, rel=1e-5)


def test_before_the_jobs_nobody_is_given_a_share(linked: Linked) -> None:
    got = linked.served.get("/fabrics/linked/links/hot", at=START, window="60s")
    assert got["items"] and all(not item["jobs"] for item in got["items"])
    assert {item["cannot_tell"] for item in got["items"]} == {"No known jobs in this window."}


def test_links_of_a_pair_of_groups_a_router_a_class_and_one_link(linked: Linked) -> None:
    def ask(**wanted: object) -> list[dict]:
        return linked.served.get("/fabrics/linked/links/hot", at=START + 60, window="60s", limit=500, **wanted)["items"]

    pair = ask(src_group=0, dst_group=2)
    assert pair and {(item["src_group"], item["dst_group"]) for item in pair} == {(0, 2)}
    assert all(9 in (item["src"], item["dst"]) for item in ask(router=9))
    assert {item["link_class"] for item in ask(**{"class": "blue"})} == {"blue"}
    one = ask(link=pair[0]["link"])
    assert one == [pair[0]]
    assert "no link" in linked.served.refused("/fabrics/linked/links/hot", 404, link=10**6)["detail"]
    assert linked.served.refused("/fabrics/linked/links/hot", 400, **{"class": "pink"})


def test_the_paths_of_a_job(linked: Linked) -> None:
    got = linked.served.get("/fabrics/linked/links/paths", job="2", at=START + LENGTH_S, window="60s")
    used = np.flatnonzero(linked.load["2"] > 1)
    assert got["cannot_tell"] is None and set(got["link"]) == set(used.tolist()) and got["links_used"] == len(used)
    np.testing.assert_allclose(got["bytes_per_s"], linked.load["2"][got["link"]], rtol=0.05)
    assert got["bytes_per_s"] == sorted(got["bytes_per_s"], reverse=True)
    assert (
        "had no node"
        in linked.served.refused("/fabrics/linked/links/paths", 400, job="77", at=START + LENGTH_S, window="60s")[
            "detail"
        ]
    )


def test_where_it_cannot_be_reported_it_says_so(api: Served, database: SampleDatabase) -> None:
    """Random counters without network cards, a tree without jobs, and a sample without time."""
    small = api.get("/fabrics/small/links/hot", at=T0 + 90, window="60s")
    assert small["items"] and {item["cannot_tell"] for item in small["items"]} == {
        "The network cards of the jobs have no counters in this window."
    }
    tree = api.get("/fabrics/tree/links/hot", at=T0 + 90, window="60s")
    assert tree["items"] and {item["cannot_tell"] for item in tree["items"]} == {"No known jobs in this window."}
    still = api.get("/fabrics/still/links/hot")
    assert still["items"] and all("no time" in item["cannot_tell"] for item in still["items"])
    assert api.get("/fabrics/small/links/paths", job="101", at=T0 + 90)["cannot_tell"]


# Links from a job to a site's other monitors.


COCKPIT = "https://cc.example.edu/monitoring/jobs/?jobId={job_id}&cluster={cluster}"

XDMOD = "https://xdmod.example.edu/#job_viewer?action=show&realm=SUPREMM&resource_id=1&local_job_id={job_id}"


def test_a_job_has_the_links_of_its_cluster(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(conn, [Job("perlis", "10+1", "COMPLETED"), Job("edison", "7", "COMPLETED")])
    links = f"perlis|ClusterCockpit|{COCKPIT}, *|XDMoD|{XDMOD}"
    with serving(Settings(db=embedded_db, web=None, api_job_links=links)) as api:
        assert api.get("/jobs/10+1")["links"] == [
            {"name": "ClusterCockpit", "url": "https://cc.example.edu/monitoring/jobs/?jobId=10%2B1&cluster=perlis"},
            {"name": "XDMoD", "url": XDMOD.replace("{job_id}", "10%2B1")},
        ]
        assert [link["name"] for link in api.get("/jobs/7")["links"]] == ["XDMoD"]
    with serving(Settings(db=embedded_db, web=None)) as api:
        assert api.get("/jobs/7")["links"] == []


@pytest.mark.parametrize(
    "job_id", ["1&cluster=x", "1#x", "../../admin", "..", ".", "1/2", "a b", "{cluster}", '"><b>', "é", "1[2].s"]
)
def test_whatever_an_id_holds_is_one_part_of_the_address(job_id: str) -> None:
    asked = urlsplit(JobLink.read(f"*|CC|{COCKPIT}").of(job_id, "c"))
    assert parse_qs(asked.query) == {"jobId": [job_id], "cluster": ["c"]} and not asked.fragment
    path = JobLink.read("*|CC|https://cc.example.edu/job/{job_id}").of(job_id, "c")
    assert path is not None and path.startswith("https://cc.example.edu/job/") and path.count("/") == 4
    assert not path.endswith(("/.", "/..")) and not set(path) & set(' "<>#?&{}')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("https://cc.example.edu/job/{job_id}", "CLUSTER|NAME|URL"),
        ("c||https://cc.example.edu/job/{job_id}", "CLUSTER|NAME|URL"),
        ("c|CC|https://cc.example.edu/job", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id}/{user}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id.__class__}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id:>99999999}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id!r}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{}", "braces"),
        ("c|CC|https://cc.example.edu/{job_id", "braces"),
        ("c|CC|https://{job_id}/", "host"),
        ("c|CC|https://{cluster}.example.edu/{job_id}", "host"),
        ("c|CC|https://you@cc.example.edu/{job_id}", "host"),
        ("c|CC|javascript:alert({job_id})", "https"),
        ("c|CC|//cc.example.edu/{job_id}", "https"),
        ("c|CC|https://cc.example.edu/a b/{job_id}", "%20"),
        ('c|CC|https://cc.example.edu/"{job_id}', "%20"),
        ("c|CC\u202e|https://cc.example.edu/{job_id}", "shown"),
        (f"c|{'C' * 41}|https://cc.example.edu/{{job_id}}", "letters"),
    ],
)
def test_a_template_that_cannot_work_is_named_at_the_start(text: str, words: str) -> None:
    with pytest.raises(BadRequest, match="FLITWATCH_API_JOB_LINKS") as error:
        Settings.read(db="postgresql://x", api_job_links=text)
    assert words in str(error.value)


FABRIC = build_dragonfly(3, 2, 4, endpoints_per_router=2, blue_routers=2, blue_cables=2, name="linked")


@pytest.mark.parametrize(
    ("technology", "bytes_each"),
    [
        (Technology.CRAY_XC, 20 / 3),
        (Technology.INFINIBAND, 4),
        (Technology.OPA, 8),
        (Technology.ETHERNET, 1),
        (Technology.SLINGSHOT, 1),
    ],
)
def test_bytes_of_a_count(technology: Technology, bytes_each: float) -> None:
    topology = SimpleNamespace(fabric=replace(FABRIC, technology=technology))
    counted = SimpleNamespace(link=np.array([1, 4]), flits=np.array([30.0, 3.0]))
    carried = links._carried_bytes(topology, counted)  # type: ignore[arg-type]
    assert carried is not None and carried[[1, 4]] == pytest.approx([30 * bytes_each, 3 * bytes_each])
    assert np.isnan(np.delete(carried, [1, 4])).all()


def test_where_nobody_says_what_a_count_is_worth() -> None:
    topology = SimpleNamespace(fabric=replace(FABRIC, technology=Technology.GENERIC))
    assert links._carried_bytes(topology, SimpleNamespace(link=np.array([0]), flits=np.array([1.0]))) is None  # type: ignore[arg-type]
