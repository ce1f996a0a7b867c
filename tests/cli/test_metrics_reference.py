"""docs/metrics.md is what the services show, and their names and types keep to Prometheus' convention."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.exposition import generate_latest

from flitwatch import metrics_reference
from flitwatch_api.health.metrics import MetricReading

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_reference_is_that_of_the_registries() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == metrics_reference.render_metrics(), "run `make reference`"


@pytest.mark.parametrize("service", metrics_reference.collect_families())
def test_names_and_types_keep_to_the_convention(service: str) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("needs promtool (apt-get install prometheus)")
    found = [f for f in metrics_reference.collect_families()[service] if f.name.startswith("flitwatch_")]
    page = generate_latest(MetricReading(found))
    checked = subprocess.run([program, "check", "metrics"], input=page, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr.decode()) == (0, "")
