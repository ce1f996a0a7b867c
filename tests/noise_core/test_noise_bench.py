"""The MPI microbenchmark with a few ranks of a real MPI, and its import."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from flitwatch.command_line import cli
from flitwatch.commands.imports.noise_bench import read_measurements
from flitwatch_domain.errors import BadInput

pytestmark = pytest.mark.system("processes")

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "services/noise_core/noise_bench/README.md"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive as a cluster without a checkout gets it, unpacked into an empty folder."""
    if shutil.which("mpicxx") is None or shutil.which("mpirun") is None:
        pytest.skip("needs MPI (Debian: openmpi-bin libopenmpi-dev)")
    folder = tmp_path_factory.mktemp("noise_bench")
    made = subprocess.run(
        ["make", "-s", "noise-bench", f"DIST={folder}"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    subprocess.run(["tar", "xzf", made.stdout.strip(), "-C", folder], check=True)
    (unpacked,) = (one for one in folder.iterdir() if one.is_dir())
    return unpacked


def lines_to_build() -> list[str]:
    """The guide's own lines under "Build"."""
    part = GUIDE.read_text().split("## Build")[1].split("##")[0]
    return [block.strip() for block in re.findall(r"```\n(.*?)```", part, re.S)]


@pytest.fixture(scope="module")
def binary(sources: Path) -> Path:
    (line,) = (one for one in lines_to_build() if one.startswith("mpicxx"))
    subprocess.run(["bash", "-ec", line], cwd=sources, check=True)
    return sources / "noise_bench"


@pytest.mark.integration
def test_the_guides_cmake_lines_build_and_install_it(sources: Path, tmp_path: Path) -> None:
    (line,) = (one for one in lines_to_build() if one.startswith("cmake"))
    subprocess.run(["bash", "-ec", line], cwd=sources, env=os.environ | {"HOME": str(tmp_path)}, check=True)
    installed = tmp_path / ".local/bin/noise_bench"
    result = measure(installed, 1, "--help")
    assert result.returncode == 0 and result.stdout.startswith("noise_bench [--ratios")
    options = set(re.findall(r"--[a-z][a-z-]+", GUIDE.read_text())) - {
        "--prefix",
        "--build",
        "--install",
        "--ntasks-per-node",
        "--help",
    }
    assert len(options) >= 5 and all(one in result.stdout for one in options)


def measure(binary: Path, ranks: int, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "--oversubscribe", "-np", str(ranks), str(binary), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.integration
@pytest.mark.parametrize("collective", ["allreduce", "reduce", "bcast", "barrier"])
def test_splits_of_few_processes_are_measured_and_stored(binary: Path, tmp_path: Path, collective: str) -> None:
    options = ["--ratios", "0,0.5", "--splits", "2", "--repetitions", "2", "--perturbation-bytes", "65536"]
    done = measure(binary, 4, *options, "--collective", collective, "--network", "test machine")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["ratio"], one["split"], one["ranks"], one["perturbing"]) for one in lines] == [
        (0, 0, 4, 0),
        (0, 1, 4, 0),
        (0.5, 0, 2, 2),
        (0.5, 1, 2, 2),
    ]
    for one in lines:
        assert len(one["perturbed_s"]) + len(one["quiet_s"]) + one["late"] == 4
        assert all(0 < time < 60 for time in one["perturbed_s"] + one["quiet_s"])
    file = tmp_path / "measured.jsonl"
    file.write_text(done.stdout)
    if collective == "allreduce":
        stored = CliRunner().invoke(cli, ["import", "noise", str(file), "--ephemeral", "--json"])
        assert stored.exit_code == 0, stored.output
        answer = json.loads(stored.stdout)
        assert (answer["measurements"], answer["new"]) == (4, 4)
        assert {row["network"] for row in answer["slowdowns"]} == {"test machine"}


@pytest.mark.integration
def test_bad_options_say_what_to_do(binary: Path) -> None:
    done = measure(binary, 2, "--collective", "gossip")
    assert done.returncode == 2
    assert "allreduce, reduce, bcast or barrier" in done.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no measurement"),
        ("{", "1:"),
        ('{"kind":"other"}', "version 1"),
        ('{"kind":"noise-bench","version":1,"world":-4}', "is not an integer"),
    ],
)
def test_what_is_no_measurement_is_refused_by_line(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    with pytest.raises(BadInput, match=reason):
        read_measurements(file)
