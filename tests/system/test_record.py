"""A test is skipped in the system suite exactly while its file and its imports are unchanged since it passed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from system.record import Record
from system.run import pytest_command
from system.selection import shard_of
from system.shards import SHARDS
from system.sources import Sources


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a package, a helper of tests and three test files."""
    texts = {
        "db/flitwatch_db/__init__.py": "",
        "db/flitwatch_db/reads.py": "import flitwatch_db.core\n",
        "db/flitwatch_db/core.py": "LIMIT = 1\n",
        "services/noise_core/sim.cpp": "int main() {}\n",
        "web/page.ts": "export {}\n",
        "tests/helpers/__init__.py": "",
        "tests/helpers/running.py": "import subprocess\n",
        "tests/db/test_reads.py": "from flitwatch_db import reads\n",
        "tests/db/test_alone.py": "import json\n",
        "tests/db/test_running.py": "from helpers import running\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def digests(root: Path) -> dict[str, str]:
    """Digests of the three test files as they are now."""
    sources = Sources(root)
    return {name: sources.digest(f"tests/db/test_{name}.py::test_it") for name in ("reads", "alone", "running")}


@pytest.mark.parametrize(
    ("changed", "concerned"),
    [
        ("db/flitwatch_db/core.py", {"reads", "running"}),
        ("tests/db/test_alone.py", {"alone"}),
        ("tests/helpers/running.py", {"running"}),
        ("web/page.ts", {"running"}),
        ("services/noise_core/sim.cpp", {"running"}),
        ("tests/conftest.py", {"reads", "alone", "running"}),
        ("tests/db/conftest.py", {"reads", "alone", "running"}),
        ("README.md", set()),
    ],
)
def test_a_change_concerns_what_imports_it_and_what_starts_processes(
    checkout: Path, changed: str, concerned: set[str]
) -> None:
    before = digests(checkout)
    with (checkout / changed).open("a") as file:
        file.write("\n# changed\n")
    after = digests(checkout)
    assert {name for name in before if before[name] != after[name]} == concerned


def report(test: str, outcome: str, when: str = "call") -> Any:
    """A report of pytest."""
    return SimpleNamespace(
        nodeid=test,
        outcome=outcome,
        duration=1.0,
        skipped=outcome == "skipped",
        longrepr=("f", 1, "Skipped: no Java"),
        when=when,
    )


def test_what_passed_is_skipped_until_its_sources_change(checkout: Path, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    outcomes = {"reads": ("passed",), "alone": ("passed", "failed"), "running": ("skipped",)}
    first = Record(path, checkout)
    for name, each in outcomes.items():
        for outcome in each:
            first.add(report(f"tests/db/test_{name}.py::test_it", outcome), "run 1")

    def passed() -> set[str]:
        record = Record(path, checkout)
        return {name for name in outcomes if record.has_passed(f"tests/db/test_{name}.py::test_it")}

    assert passed() == {"reads"}
    assert Record(path, checkout).results["tests/db/test_running.py::test_it"]["reason"] == "no Java"
    # A later run counts in place of an earlier one, and a tear-down that fails spoils a call that passed.
    again = Record(path, checkout)
    again.add(report("tests/db/test_alone.py::test_it", "passed"), "run 2")
    again.add(report("tests/db/test_reads.py::test_it", "passed"), "run 2")
    again.add(report("tests/db/test_reads.py::test_it", "failed", "teardown"), "run 2")
    assert passed() == {"alone"}
    (checkout / "tests/db/test_alone.py").write_text("import csv\n")
    assert passed() == set()


def test_a_shard_is_resumed_from_a_record_that_is_there(tmp_path: Path) -> None:
    """Pytest took the file of an option's value for its only test, and then knew no option of ours."""
    (tmp_path / "kept.jsonl").write_text("")
    for shard in SHARDS:
        words = pytest_command(shard, tmp_path / "kept.jsonl")[3:]
        assert not any(Path(word).exists() for word in words)


def test_the_mark_of_a_case_comes_before_that_of_its_function() -> None:
    case: Any = SimpleNamespace(
        callspec=SimpleNamespace(marks=[pytest.mark.timeout(9).mark, pytest.mark.system("stores").mark]),
        get_closest_marker=lambda _: pytest.mark.system("processes").mark,
    )
    assert shard_of(case) == "stores"
    assert shard_of(SimpleNamespace(get_closest_marker=case.get_closest_marker)) == "processes"  # type: ignore[arg-type]


def test_random_properties_are_in_their_shard(tmp_path: Path) -> None:
    """Hypothesis marks its tests during collection: a selection before that would find none."""
    shard = next(shard for shard in SHARDS if shard.name == "properties")
    command = [*pytest_command(shard, tmp_path / "record"), "--collect-only", "tests/ingest/test_deltas.py"]
    output = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2]).stdout
    assert "test_deltas.py::test_local_disorder_in_a_long_feed" in output
