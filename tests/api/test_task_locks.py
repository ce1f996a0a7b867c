"""Tasks started by an attacker: every role, every task, arguments from the tasks' own models."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel
from support.databases import Server

from api.bodies import GOOD, ROLES
from api.conftest import Served, bearer, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadInput, BadRequest, TooCostly
from flitwatch_domain.importers.text import read_bytes
from flitwatch_domain.secret_file import LocalText
from flitwatch_domain.task_models import STARTABLE, read_arguments
from flitwatch_domain.task_models.base import nodes_of
from flitwatch_domain.task_models.costs import check_cost, needs_of
from flitwatch_domain.task_models.simulations import Packet
from flitwatch_domain.task_models.studies import ApplicationsOnAllocations, Calibration, Collectives
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research import routings, topologies
from flitwatch_research.packet.run import simulate_packets
from flitwatch_research.packet.workload import PacketRun
from flitwatch_research.studies.desensi_applications import MICROBENCHMARKS, run_once, sizes_of
from flitwatch_research.studies.registry import ALIASES, STUDIES
from flitwatch_routing.patterns import PATTERNS as MATRICES
from flitwatch_simulation.loop.demand import KNOWN
from flitwatch_simulation.packet.machine import build_machine
from flitwatch_simulation.workloads.messages import repeat_messages
from flitwatch_simulation.workloads.patterns import PATTERNS
from flitwatch_simulation.workloads.placement import place_ranks

#: Names of files with every disguise: blanks that parsers strip, devices, links, ways upward.
BLANKS = ("", " ", "\t", "\n", "\u00a0", "\u2003", "\ufeff")
FILES = ("/etc/passwd", "/dev/ptmx", "/proc/self/environ", "../../etc/passwd", "//etc/passwd", "/no/such")
DISGUISED = [
    f"{blank}{kind}{path}{blank}" for blank, kind, path in itertools.product(BLANKS, ("file:", "lft:", ""), FILES)
]
#: What names a machine, a route or traffic, by task.
MADE = {
    "sim.collective": ("topology", "routing", "pattern"),
    "sim.packet": ("topology", "routing", "traffic", "background", "jobs"),
    "routing.loop": ("topology", "pattern"),
    "routing.reconstruct": ("topology", "pattern"),
    "routing.optimise": ("topology", "pattern"),
}


def test_every_task_has_a_model() -> None:
    assert set(GOOD) == set(STARTABLE)
    for name, args in GOOD.items():
        assert read_arguments(name, args).given() is not None


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, fields in MADE.items() for field in fields])
def test_no_argument_names_a_file(name: str, field: str) -> None:
    for hostile in DISGUISED:
        with pytest.raises(BadInput) as refused:
            read_arguments(name, {**GOOD[name], field: hostile})
        assert "/etc" not in str(refused.value) and "No such" not in str(refused.value)


def test_no_parameter_of_a_study_names_a_file() -> None:
    for study in (*STUDIES, *ALIASES):
        for name in ("topology", "topologies", "fabrics", "routing", "pattern", "parameters"):
            for hostile in DISGUISED[::7]:
                for value in (hostile, [hostile], {"x": hostile}, [{"name": "x", "spec": hostile}]):
                    with pytest.raises(BadInput):
                        read_arguments("sim.study", {"study": study, "parameters": {name: value}})


def test_the_parsers_themselves_have_no_maker_of_files(tmp_path: Path) -> None:
    """A text that reached them without a model names no file either."""
    torus, tree = topologies.parse_topology("torus:4,4"), fabric_of("xgft:2;2,3;1,1")
    for hostile in DISGUISED:
        for call in (
            lambda: topologies.parse_topology(hostile),  # noqa: B023
            lambda: fabric_of(hostile),  # noqa: B023
            lambda: routings.routes_of(torus, hostile),  # noqa: B023
            lambda: build_machine(tree, hostile),  # noqa: B023
        ):
            with pytest.raises(BadRequest):
                call()


def test_the_command_line_reads_regular_files_without_waiting(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/ptmx"), Path("/dev/zero")):
        with pytest.raises(BadInput, match="not a regular file"):
            read_bytes(path)
        with pytest.raises(BadInput, match="not a regular file"):
            topologies.parse_topology(LocalText(f"file:{path}"))


def test_the_models_know_what_the_engines_know() -> None:
    from flitwatch_domain.task_models import machines

    assert set(get_args(machines.MessagePattern)) == set(PATTERNS)
    assert set(get_args(machines.LoopPattern)) == set(KNOWN) >= set(MATRICES)
    for study in (*STUDIES, *ALIASES):
        read_arguments("sim.study", {"study": study})


@pytest.fixture(scope="module")
def site(_embedded_template: Server) -> Iterator[tuple[Served, dict[str, dict[str, str]]]]:
    url = _embedded_template.create()
    callers: dict[str, dict[str, str]] = {"anonymous": {}}
    with connect(url, role="gate", autocommit=True) as conn:
        for role in ROLES[1:]:
            people.add_account(conn, f"a-{role}", role)
            scopes = ["read"] if role == "viewer" else ["read", "tasks"]
            callers[role] = bearer(people.add_token(conn, f"a-{role}", "test", scopes)[1])
    with serving(Settings(db=url, web=None)) as api:
        yield api, callers
    _embedded_template.drop(url)


HOSTILE: tuple[Any, ...] = (
    "\0", "x" * 70_000, "file:/etc/passwd", " file:/etc/passwd", 10**30, -(10**30), 1e308, True, [], {}, [[]], {"a": "\0"}, -1, 2.5, "' OR 1=1 --", "../..",
)  # fmt: skip


@pytest.mark.parametrize("name", STARTABLE)
def test_hostile_values_of_any_argument_are_refused_or_harmless(name: str) -> None:
    for field in sorted({*GOOD[name], "unknown"}):
        for hostile in HOSTILE:
            try:
                kept = read_arguments(name, {**GOOD[name], field: hostile}).given()
            except BadInput:
                continue
            assert field != "unknown" and hostile != "\0"
            assert len(str(kept)) < 70_000
            read_arguments(name, kept)


@pytest.mark.parametrize("role", ROLES)
def test_hostile_requests_are_refused_for_every_role_and_task(
    site: tuple[Served, dict[str, dict[str, str]]], role: str
) -> None:
    """Nothing that is refused leaves a row."""
    api, callers = site
    before = api.http.get("/api/v1/tasks", headers=callers["operator"]).json()["items"]
    for name in STARTABLE:
        for change in ({"unknown": 1}, {sorted(GOOD[name])[0]: "\0"}, {sorted(GOOD[name])[0]: [[]]}):
            answer = api.http.post(
                "/api/v1/tasks", json={"name": name, "args": {**GOOD[name], **change}}, headers=callers[role]
            )
            assert answer.status_code == (403 if role == "viewer" else 422), (name, change, answer.text)
    assert api.http.get("/api/v1/tasks", headers=callers["operator"]).json()["items"] == before


COSTLY: list[tuple[str, dict[str, Any], str]] = [
    ("sim.collective", {"topology": "torus:6000000"}, r"6,000,000 nodes, your limit is 100,000"),
    ("sim.collective", {"topology": "torus:999999999,999999999"}, r"nodes, your limit is"),
    ("sim.collective", {"topology": "theta", "threads": 1024}, r"1,024 threads, your limit is 8"),
    ("sim.collective", {"topology": "theta", "runs": 10_000_000}, r"10,000,000 runs, your limit is 100,000"),
    ("sim.collective", {"topology": "theta", "pattern": "pairwise-alltoall", "runs": 100_000}, r"work, your limit is"),
    ("sim.packet", {"topology": "theta", "routing": "adaptive0", "traffic": "alltoall", "bytes": 64}, r"11,943,936 messages, your limit is 2,000,000"),
    ("sim.packet", {"topology": "theta", "routing": "adaptive0", "traffic": "uniform", "bytes": 2**50}, r"packets, your limit is"),
    ("sim.study", {"study": "fig15", "parameters": {"topologies": {"ring": "torus:6000000"}, "runs": 2}}, r"6,000,000 nodes"),
    ("sim.study", {"study": "fig11", "parameters": {"runs": 10_000_000}}, r"10,000,000 runs"),
    ("sim.study", {"study": "fig13", "parameters": {"pattern": "pairwise-alltoall", "runs": 100_000}}, r"work, your limit is"),
    ("sim.study", {"study": "fig16", "parameters": {"k_2d": [1_000_000]}}, r"1,000,000,000,000 nodes, your limit is"),
    ("sim.study", {"study": "ebb", "parameters": {"topology": "torus:6000000"}}, r"6,000,000 nodes"),
    ("sim.study", {"study": "taffet-table2.1", "parameters": {"mpackets": 1000.0, "leaves": 256, "nodes": 256, "spines": 256}}, r"messages, your limit is"),
    ("sim.study", {"study": "taffet-table5.1", "parameters": {"topology": "xgft:2;2000,1000;1,6", "mbytes": 100.0}}, r"2,000,000 nodes"),
    ("sim.study", {"study": "wang-fig8-10", "parameters": {"load": 100.0, "load_gib_per_s": 16.0, "packet_bytes": 256}}, r"packets, your limit is"),
    ("sim.study", {"study": "wang-fig3", "parameters": {"ranks": 1_000_000, "load": 100.0}}, r"messages, your limit is"),
    ("sim.study", {"study": "desensi-fig5", "parameters": {"repeats": 10_000}}, r"50,000 simulations, your limit is"),
    ("sim.study", {"study": "desensi-fig7", "parameters": {"size_bytes": 1 << 24, "repeats": 400, "load_gib_per_s": 16.0}}, r"packets, your limit is"),
    ("sim.study", {"study": "desensi-fig8-collectives", "parameters": {"ranks": 100_000}}, r"messages, your limit is"),
    ("sim.packet", {"topology": "theta", "routing": "adaptive0", "traffic": "barrier", "bytes": 10**9}, r"messages, your limit is"),
    ("sim.packet", {"topology": "theta", "routing": "adaptive0", "traffic": "incast", "bytes": 10**6, "ranks": 8, "background": "uniform:99999"}, r"packets, your limit is"),
    ("sim.whatif", {"fabric": "f", "at_s": 1.0, "job": "1", "pattern": "barrier", "bytes": 10**9}, r"messages, your limit is"),
    ("routing.loop", {"topology": "theta", "pattern": "shift", "epochs": 64, "megabytes": 1000.0}, r"packets, your limit is"),
    ("routing.optimise", {"pattern": "shift", "time_limit_s": 86_400.0, "reconstruct_s": 86_400.0}, r"172,800 seconds, your limit is"),
]  # fmt: skip


@pytest.mark.parametrize("role", ["anonymous", "user", "operator", "service"])
def test_what_costs_too_much_is_refused_before_it_starts(
    site: tuple[Served, dict[str, dict[str, str]]], role: str
) -> None:
    """It says what is needed and what the limit is; of these an operator or a service may ask for one, a user for none."""
    api, callers = site
    larger = role in ("operator", "service")
    before = api.http.get("/api/v1/tasks", headers=callers["operator"]).json()["items"]
    for name, args, words in COSTLY:
        if larger and _may(role, name, args):
            continue
        answer = api.http.post("/api/v1/tasks", json={"name": name, "args": args}, headers=callers[role])
        assert answer.status_code == 413, (name, args, answer.text)
        assert re.search("your limit is" if larger else words, answer.text), answer.text
    assert api.http.get("/api/v1/tasks", headers=callers["operator"]).json()["items"] == before


def _may(role: str, name: str, args: dict[str, Any]) -> bool:
    try:
        check_cost(role, name, args)
    except TooCostly:
        return False
    return True


def test_an_operator_may_ask_for_more_than_a_user() -> None:
    assert any(_may("operator", name, args) for name, args, _ in COSTLY)
    assert not any(_may("user", name, args) for name, args, _ in COSTLY)


def test_an_admin_is_held_by_the_workers_limits_alone() -> None:
    for name, args, _ in COSTLY:
        check_cost("admin", name, args)


@pytest.mark.parametrize("study", [*STUDIES, *ALIASES])
def test_every_study_has_an_estimate_and_a_user_may_run_the_papers(study: str) -> None:
    needs = needs_of("sim.study", {"study": study})
    without = ("table1", "table2", "example")  # they count, and simulate nothing
    assert (
        any(one in study and "taffet" not in study for one in without)
        or max(needs.get("work", 0), needs.get("packets", 0)) > 1e5
    )
    check_cost("user", "sim.study", {"study": study})


@pytest.mark.parametrize(
    ("traffic", "more"),
    [
        ("stencil3d", {}),
        ("alltoall", {}),
        ("uniform", {}),
        ("halo3d", {"ranks": 40, "background": "uniform:0.5"}),
        ("permutation", {"packet_bytes": 256}),
    ],
)
def test_packets_of_a_run_are_about_as_many_as_estimated(traffic: str, more: dict[str, Any]) -> None:
    args = {"topology": "dragonfly:3,2,4,4", "routing": "adaptive0", "traffic": traffic, "bytes": 60_000, **more}
    asked = PacketRun(**{**Packet.of(args).model_dump(exclude={"jobs"}), "jobs": None})
    _, _, result = simulate_packets(asked, lambda *_: None, lambda: False)
    packets = sum(job["packets"] for job in result.jobs)
    assert packets / 4 < needs_of("sim.packet", args)["packets"] < packets * 4


DEARER: tuple[dict[str, Any], ...] = ({"sizes": [10**8]}, {"repeats": 1000}, {"ranks": 4096})


@pytest.mark.parametrize(
    ("study", "more"),
    [
        *itertools.product(("desensi-fig8-collectives", "desensi-fig10"), (*DEARER, {"iterations": 1000})),
        # A pair of the calibration is one pass.
        *itertools.product(("desensi-calibration",), DEARER),
    ],
)
def test_exchanges_of_a_study_cost_what_they_send(study: str, more: dict[str, Any]) -> None:
    """Bytes, iterations, repeats and ranks each make it dearer."""
    usual, larger = (needs_of("sim.study", {"study": study, "parameters": one}) for one in ({}, more))
    assert larger["packets"] > 1.5 * usual["packets"]


@pytest.mark.parametrize(
    ("study", "which", "model"),
    [
        ("desensi-fig8-collectives", "patterns", Collectives),
        ("desensi-fig10", "applications", ApplicationsOnAllocations),
        ("desensi-calibration", "patterns", Calibration),
    ],
)
def test_every_application_of_a_study_has_an_estimate(study: str, which: str, model: type[BaseModel]) -> None:
    """Together they cost what all cost by default."""
    names = model.model_json_schema()["properties"][which]["anyOf"][0]["items"]["enum"]
    parts = [needs_of("sim.study", {"study": study, "parameters": {which: [name]}})["packets"] for name in names]
    assert sum(parts) == pytest.approx(needs_of("sim.study", {"study": study})["packets"]) and min(parts) > 0


@pytest.mark.parametrize("name", ["allreduce", "broadcast", "halo3d", "sweep3d"])
def test_packets_of_a_study_are_about_as_many_as_estimated(name: str) -> None:
    parameters = {"topology": "dragonfly:3,2,4,4", "patterns": [name], "sizes": [16_384], "ranks": 16, "repeats": 1}
    machine = build_machine(fabric_of(parameters["topology"]), "adaptive0", packet_bytes=64, nic_protocol=True)
    (size,) = sizes_of(name, 16, parameters["sizes"])
    messages = repeat_messages(MICROBENCHMARKS[name](16, size, 1), 4)
    endpoints = place_ranks(machine.fabric, 16, "contiguous", np.random.default_rng(1))
    own = np.maximum(messages.size_bytes // 64, 1).sum()
    lasts_s = run_once(machine, messages, endpoints, 0, 1, 1.0, lambda: False).time_s
    # Two allocations under three ways to route, alongside a quarter of the machine at 1 GiB/s.
    packets = 6 * (own + machine.endpoints / 4 * 2**30 * lasts_s / 64)
    estimate = needs_of("sim.study", {"study": "desensi-fig8-collectives", "parameters": parameters})["packets"]
    assert packets / 6 < estimate < packets * 6


@pytest.mark.parametrize("name", STARTABLE)
def test_usual_requests_cost_little(name: str) -> None:
    check_cost("user", name, GOOD[name])


def test_machines_have_as_many_nodes_as_the_estimate_says() -> None:
    for text in ("theta", "edison", "cori", "slingshot", "quartz1", "xgft:2;12,12;1,6;1,2", "dragonfly:3,2,4,4"):
        assert nodes_of(text) == len(fabric_of(text).endpoints), text
    assert nodes_of("torus:4,5") == 20
    assert nodes_of("torus:" + ",".join(["999999999"] * 16)) > 1e100
