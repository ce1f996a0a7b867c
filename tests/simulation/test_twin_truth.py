"""The counterfactual truth of the second-by-second twin, against runs of the twin without a user's traffic."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import flitwatch_twin as twin
from flitwatch_research import campaign
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import TwinSpec
from flitwatch_twin.truth import Truth

SPEC = TwinSpec.model_validate(
    {
        "name": "counterfactual",
        "fabric": {"groups": 2, "io_routers_per_group": 2},
        "users": {"count": 12, "typical_nodes": 24, "most_nodes": 96, "load": 0.4},
        "instrumented": [{"application": "amg-128", "nodes": 96, "every_s": 5000}],
        "interference": [
            {"mechanism": "bandwidth", "nodes": 256, "first_s": 20, "lasts_s": 120, "every_s": 5000, "rate": 1.6}
        ],
        "warm_start_s": 1800,
        "truth_every_s": 2,
    }
)


def simulate(
    seed: int, muted: frozenset[str] = frozenset(), seconds: int = 480
) -> tuple[Cluster, Truth, dict[str, float], np.ndarray, set[str]]:
    cluster = Cluster(SPEC, seed, muted)
    truth = Truth(cluster, SPEC.truth_every_s)
    times: dict[str, float] = {}
    seen: set[str] = set()
    for _ in range(seconds):
        second = cluster.advance()
        seen |= set(second.owners)
        truth.observe(second)
        times |= {run.key: run.progress.elapsed_s for run in second.finished}
    return cluster, truth, times, cluster.counters.router_values(), seen


def test_truth_is_what_happens_without_the_user() -> None:
    cluster, truth, times, *_ = simulate(4)
    assert times, "the instrumented run did not finish"
    (run_key, actual), *_ = times.items()
    planted = next(name for name, role in zip(cluster.users.names, cluster.roles, strict=True) if role == "bandwidth")
    effect = truth.users[planted].effect_s
    _, _, without, *_ = simulate(4, frozenset([planted]))
    assert effect > 10
    assert actual - without[run_key] == pytest.approx(effect, rel=0.15, abs=1.0)
    assert all(abs(s.effect_s) < effect / 4 for name, s in truth.users.items() if name != planted)


def test_a_user_without_traffic_changes_nothing() -> None:
    cluster, _, times, values, seen = simulate(4, seconds=100)
    idle = frozenset(set(cluster.users.names) - seen)
    _, _, same_times, same, _ = simulate(4, idle, seconds=100)
    assert idle
    assert same_times == times and np.array_equal(values, same)


def test_truth_file(tmp_path: Path) -> None:
    _, truth, times, *_ = simulate(4)
    truth.write(tmp_path / "truth.json")
    stored = json.loads((tmp_path / "truth.json").read_text())
    assert stored["simulated"] is True and set(stored["planted"].values()) <= {"bandwidth", "innocent"}
    assert [run["run_key"] for run in stored["runs"]] == list(times)
    for run in stored["runs"]:
        for effect in run["effects"].values():
            without = run["time_s"] - effect["effect_s"]
            assert effect["effect_log"] == pytest.approx(math.log(run["time_s"] / without), abs=1e-4)


# Between flows and counters or step times nothing knows a user or what was planted.


ROOT = Path(twin.__file__).parent

#: Everything from flows on: fabric, counters, what applications feel, steps, and their campaign counterparts.
BLIND = (
    *(ROOT / f"{name}.py" for name in (
        "applications", "counters", "feel", "flows", "ldms_sets", "machine", "paths", "progress", "runs", "samplers", "stall", "static_model",
    )),
    *(Path(campaign.__file__).parent / f"{name}.py" for name in ("footprint", "step_times", "observe", "window")),
)  # fmt: skip

KNOWING = re.compile(r"user|owner|aggress|innocen|planted|role|culprit|account|truth", re.IGNORECASE)


def identifiers(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


@pytest.mark.parametrize("path", BLIND, ids=lambda path: path.stem)
def test_no_identifier_tells_who(path: Path) -> None:
    # NodeRole says what a node does (compute, I/O), not what a user is.
    allowed = {"NodeRole", "ROLES", "role"} if path.stem == "machine" else set()
    assert not {word for word in identifiers(path) if KNOWING.search(word)} - allowed


@pytest.mark.parametrize("path", BLIND, ids=lambda path: path.stem)
def test_no_import_tells_who(path: Path) -> None:
    knowing = {"planted", "truth", "cluster", "campaign.history", "campaign.effects", "campaign.simulate", "accounting"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("flitwatch_twin.", "flitwatch_research.")
        ):
            module = re.sub("^flitwatch_(twin|research)[.]", "", node.module or "")
            assert module not in knowing
            if module == "users":
                assert {alias.name for alias in node.names} == {"Exchange"}


def test_no_consumer_reads_the_truth() -> None:
    top = ROOT.parents[3]
    readers = [
        path
        for folder in ("db", "ingest", "ml", "services/api", "services/alerting", "services/stream")
        for path in (top / folder).rglob("*.py")
        if re.search(r"truth\.json|generate_truth|CampaignTruth", path.read_text(encoding="utf-8"))
    ]
    assert readers == []


# The same seed gives the same bytes, whatever the wall clock says.


def digest(records: list) -> str:
    return hashlib.sha256(repr(records).encode()).hexdigest()


@pytest.mark.system("numeric")
def test_same_seed_same_records(twin_records: Callable) -> None:
    first, totals = twin_records()
    again, _ = twin_records(turn=1)
    other, _ = twin_records(seed=6)
    assert digest(first) == digest(again)
    assert digest(first) != digest(other)
    assert totals["steps"] > 0 and totals["records"] >= totals["seconds"] * 4 * 192


def test_start_moves_timestamps_only(twin_records: Callable) -> None:
    first, _ = twin_records()
    later, _ = twin_records(epoch_s=1_800_086_400)
    for (topic, _, a, _), (topic_too, _, b, _) in zip(first, later, strict=True):
        assert topic == topic_too
        if topic.startswith("ldms.aries_rtr_mmr"):
            assert a.split(b",", 1)[1] == b.split(b",", 1)[1]


def test_every_record_is_marked_simulated(twin_records: Callable) -> None:
    records, _ = twin_records()
    assert {headers for *_, headers in records} == {(("simulated", b"1"),)}
    assert {topic.rsplit("_", 1)[0] for topic, *_ in records} == {
        "ldms.aries_rtr_mmr",
        "ldms.aries_nic_mmr",
        "flitwatch.jobs.v1",
        "flitwatch.runs.v1",
    }
