"""Between flows and counters or step times nothing knows a user or what was planted."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import flitwatch_twin as twin

ROOT = Path(twin.__file__).parent
#: Everything from flows on: fabric, counters, what applications feel, steps, and their campaign counterparts.
BLIND = (
    "applications.py", "counters.py", "feel.py", "flows.py", "footprint.py", "ldms_sets.py", "machine.py", "paths.py",
    "progress.py", "runs.py", "samplers.py", "stall.py", "static_model.py", "campaign/step_times.py", "campaign/observe.py", "campaign/window.py",
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


@pytest.mark.parametrize("name", BLIND)
def test_no_identifier_tells_who(name: str) -> None:
    # NodeRole says what a node does (compute, I/O), not what a user is.
    allowed = {"NodeRole", "ROLES", "role"} if name == "machine.py" else set()
    assert not {word for word in identifiers(ROOT / name) if KNOWING.search(word)} - allowed


@pytest.mark.parametrize("name", BLIND)
def test_no_import_tells_who(name: str) -> None:
    knowing = {"planted", "truth", "cluster", "campaign.history", "campaign.effects", "campaign.simulate", "accounting"}
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flitwatch_twin."):
            module = (node.module or "").removeprefix("flitwatch_twin.")
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
