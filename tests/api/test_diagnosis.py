"""Roots of congestion over a served API: planted in the packet engine, stored as port counters or as packet samples; and quiet machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest
from support.databases import Server, add_real_job
from support.planted_roots import END, FAST, JOBS, START, packet_samples, plant

from api.conftest import Served, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.alerts import signals
from flitwatch_domain.alerts import read_rule
from flitwatch_research.namespaces import figure_214
from flitwatch_research.planted_roots import PlantedRun, Planter


@dataclass(frozen=True)
class Measured:
    served: Served
    url: str
    planted_runs: dict[str, PlantedRun]
    planters: dict[str, Planter]


@pytest.fixture(scope="module")
def measured(_embedded_template: Server) -> Iterator[Measured]:
    url = _embedded_template.create()
    planted_runs, planters = plant(url)
    add_real_job(url)
    with serving(Settings(db=url)) as served:
        yield Measured(served, url, planted_runs, planters)
    _embedded_template.drop(url)


@pytest.mark.parametrize("name", ["tree", "dragonfly"])
def test_counters_of_ports_alone_name_the_planted_root_its_tree_and_its_job(measured: Measured, name: str) -> None:
    planted_run, planter = measured.planted_runs[name], measured.planters[name]
    got = measured.served.get(f"/fabrics/{name}/roots", at=END, window="60s")
    assert (got["method"], got["verdict"], got["simulated"]) == ("ports", "named", True)
    [root] = got["roots"]
    assert planter.distance(root["link"], planted_run.planted[0]) <= 1 and root["confidence"] >= 0.5
    assert root["victims"] and {one["distance"] for one in root["victims"]} >= {1}
    behind = {root["link"]} | {one["link"] for one in root["victims"]}
    assert all(one["behind"] in behind for one in root["victims"])
    path = got["worst_path"]
    assert path[-1]["link"] == root["link"] and len(path) == 1 + max(one["distance"] for one in root["victims"])
    assert all(link["dst"] == following["src"] for link, following in pairwise(path))
    rulings = {one["cause"]: one for one in got["rulings"]}
    assert set(rulings) == {"full-link", "full-endpoint", "slow-endpoint"}
    assert (
        rulings[root["cause"]]["ruling"] == "in"
        and f"{root['src_name']} → {root['dst_name']}" in rulings[root["cause"]]["text"]
    )
    others = "out" if got["links_explained"] == got["links_stalled"] else "cannot tell"
    assert {one["ruling"] for cause, one in rulings.items() if cause != root["cause"]} == {others}
    of_job = measured.served.get(f"/jobs/{JOBS[name]}/diagnosis", at=END)
    assert [one["link"] for one in of_job["roots"]] == [root["link"]]
    if name == "tree":  # the node at its end is the job's
        assert [(job["job_id"], job["share"]) for job in root["jobs"]] == [(JOBS["tree"], None)]
    assert all(job["user"].startswith("user-") for job in root["jobs"])


@pytest.mark.parametrize("name", ["tree", "dragonfly"])
def test_the_explanation_of_a_slow_job_names_the_planted_root_in_its_chain(measured: Measured, name: str) -> None:
    got = measured.served.get(f"/jobs/{JOBS[name]}/explanation", at=END)
    assert got["slowdown"]["first_step"] == FAST
    assert measured.planters[name].distance(got["root"]["link"], measured.planted_runs[name].planted[0]) <= 1
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
        assert got["links_counted"] > 0 and got["worst_path"] == []
        left = got["links_stalled"] > got["links_explained"]
        assert {one["ruling"] for one in got["rulings"]} == {"cannot tell" if left else "out"}


def test_packet_samples_of_a_job_name_its_root(measured: Measured) -> None:
    target = int(figure_214().links.dst[packet_samples()[0].link[0]])
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
    assert {one["ruling"] for one in calm["rulings"]} == {"out"}
    assert {one["ruling"] for one in other["rulings"]} == {"cannot tell"} and other["worst_path"] == []


def test_bad_questions_are_refused(measured: Measured) -> None:
    measured.served.refused("/jobs/none/diagnosis", 404)
    measured.served.refused("/fabrics/tree/roots", 400, window="2h")
    assert measured.served.get("/fabrics/tree/roots", at=START - 3600)["verdict"] == "cannot tell"


def test_a_rule_on_roots_fires_for_planted_ones_by_ports_and_by_samples_and_for_nothing_else(
    measured: Measured,
) -> None:
    rule = read_rule({"name": "root", "signal": "root", "above": 1, "every": "60s"})
    with connect(measured.url, role="reader") as conn:
        found = signals.collect_samples(conn, rule, END - 60, END)
        before = signals.collect_samples(conn, rule, START - 600, START)
    series = {(labels["fabric"], labels.get("job")) for labels in (dict(one.labels) for one in found)}
    assert series == {("tree", None), ("dragonfly", None), ("figure-2.14", "42")}
    assert {one.evidence["method"] for one in found} == {"ports", "samples"} and before == []
    for one in found:
        assert one.value >= rule.above and one.evidence["simulated"] and dict(one.labels)["root"]
