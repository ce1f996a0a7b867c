"""A sweep through Dask in real Slurm jobs, on four slurmd: the same answer as on this machine, and no job left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.slurm import SlurmSite

pytestmark = [pytest.mark.system("schedulers"), pytest.mark.integration]
pytest_plugins = ["support.slurm"]
SWEEP = ["study", "fig16", "--runs", "2000", "--set", "k_2d=[6,8]", "--set", "k_3d=[3]", "--threads", "1", "--json"]


def answer(environment: dict[str, str], *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", *SWEEP, *options], env=environment, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    return dict(orjson.loads(done.stdout))


def test_a_sweep_in_slurm_jobs_is_that_of_this_machine(slurm: SlurmSite, tmp_path: Path) -> None:
    site = {
        "CORES": "4",
        "PROCESSES": "1",
        "MEMORY": "500MB",
        "QUEUE": "regular",
        "WALLTIME": "00:10:00",
        "INTERFACE": "lo",
        "LOG_DIRECTORY": str(tmp_path),
        "LOCAL_DIRECTORY": str(tmp_path),
    }
    environment = slurm.environment | {f"DASK_JOBQUEUE__SLURM__{name}": value for name, value in site.items()}
    there, here = answer(environment, "--executor", "slurm:4"), answer(environment)
    assert there["points"] == here["points"] and len(there["points"]) == 6
    slurm.wait_idle(180.0)
    # Node first: a job's name may hold the separator.
    ran = [
        line.split("|", 1) for line in slurm.run("sacct", "-X", "-n", "-P", "-a", "-o", "NodeList,JobName").splitlines()
    ]
    # A job that came to a node late found nothing to do, or was taken back before.
    nodes = [node for node, name in ran if name == "dask-worker"]
    assert len(nodes) == 4 and any(node.startswith("nid0000") for node in nodes), ran
