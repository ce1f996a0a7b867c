"""The commit-msg hook takes imperatives of at most 72 characters and refuses what is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commit_subject import list_faults
from prose import ROOT


@pytest.mark.parametrize(
    "subject",
    [
        "fix(alerts): send one notification per incident",
        "Add a table",
        "docs: process queues",
        "Merge main",
        "feat!: drop 3.9",
    ],
)
def test_an_imperative_passes(subject: str) -> None:
    assert list_faults(f"{subject}\n\nWhy it changed.\n") == []


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("fix(alerts): the rules are worded as a site begins with them", "imperative"),
        ("fix: fixed the rules", "imperative"),
        ("Adds a table", "imperative"),
        ("docs: adding a table", "imperative"),
        ("docs: add a table.", "full stop"),
        ("docs: " + "add " * 20, "at most 72"),
        ("", "write `type(part)"),
    ],
)
def test_other_subjects_are_refused_with_the_reason(subject: str, fault: str) -> None:
    assert any(fault in one for one in list_faults(subject))


def test_the_hook_of_the_configuration_refuses_a_message(tmp_path: Path) -> None:
    assert "entry: .venv/bin/python tests/commit_subject.py" in (ROOT / ".pre-commit-config.yaml").read_text()
    message = tmp_path / "message"
    message.write_text("fix: fixed it\n")
    done = subprocess.run(
        [sys.executable, ROOT / "tests/commit_subject.py", message], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "imperative" in done.stderr
