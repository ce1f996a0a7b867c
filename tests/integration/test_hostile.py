"""Hostile clients against a whole platform: no process uses much memory, and other clients get answers in time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.timeout(600)
def test_what_hostile_clients_cost() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hostile", "--seconds", "6"], cwd=TESTS, capture_output=True, text=True, timeout=550
    )
    assert done.stdout, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["passed"], {name: one for name, one in report["attacks"].items() if not one["holds"]}
    answers = {name: one["answers"] for name, one in report["attacks"].items()}
    assert answers["send_endless_heads"]["closed"] > 0
    assert answers["flood_log_ins"].keys() <= {"401", "429"} and answers["send_odd_hosts"].keys() <= {"400", "431"}
    assert answers["upload_without_a_login"]["429"] > 0 < report["stored_mb"] < 300
