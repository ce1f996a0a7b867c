"""Flow-level kernels: seconds on one core, and instructions counted by callgrind, with named baselines; one JSON object per line.

Run: `python tests/benchmarks/flow.py [--runs 300] [--no-instructions]`; needs cmake, ninja and, for instructions, valgrind.
Seconds are from a build for this host. Instructions are from a build for x86-64-v3, which valgrind supports, as the difference of two run lengths, so
that building the topology does not count.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: What stood elsewhere on one core of this kind of machine, for one perturbed binomial broadcast (issue's table).
BASELINES = {
    "xgft-3456": {"ORCS kernel": 2.11, "prototype": 0.156e-3},
    "torus-8000": {"ORCS kernel": 58.2, "prototype": 3.2e-3},
    "xgft-20736": {"ORCS kernel": 86.2, "prototype": 1.45e-3},
}


def build(folder: str, *options: str) -> Path:
    """Configure and build the two benchmarks; returns where they lie."""
    target = ROOT / "build" / folder
    configure = [
        "cmake",
        "-S",
        str(ROOT / "services/noise_core"),
        "-B",
        str(target),
        "-G",
        "Ninja",
        "-DFLITWATCH_BENCH=ON",
        *options,
    ]
    subprocess.run(configure, check=True, stdout=sys.stderr)
    wanted = ["cmake", "--build", str(target), "--target", "flow_collective", "flow_counting"]
    subprocess.run(wanted, check=True, stdout=sys.stderr)
    return target / "bench"


def lines(argv: list[str]) -> list[dict[str, Any]]:
    """The JSON lines that a program prints."""
    return [
        json.loads(line)
        for line in subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    ]


def instructions(program: Path, runs: int, topology: str) -> int:
    """Instructions of a whole run under callgrind."""
    with tempfile.NamedTemporaryFile() as out:
        argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", str(program), str(runs), topology]
        subprocess.run(argv, check=True, capture_output=True)
        totals = [line for line in Path(out.name).read_text().splitlines() if line.startswith("totals:")]
    return int(totals[0].split()[1])


def main() -> None:
    """Print a line a kernel and topology."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--no-instructions", action="store_true")
    asked = parser.parse_args()
    counted = not asked.no_instructions
    if counted and shutil.which("valgrind") is None:
        sys.exit("needs valgrind (Debian: valgrind), or --no-instructions")
    native = build("bench")
    portable = build("callgrind", "-DFLITWATCH_ARCH=x86-64-v3") if counted else native
    for name in ("flow_collective", "flow_counting"):
        for found in lines([str(native / name), str(asked.runs)]):
            topology = found["topology"]
            found["baselines_s"] = BASELINES.get(topology, {}) if name == "flow_collective" else {}
            if counted:  # a benchmark's first argument is in steps of five runs, or in repetitions
                few, more, per = (5, 15, 10) if name == "flow_collective" else (1, 3, 2)
                found["instructions_per_run"] = (
                    instructions(portable / name, more, topology) - instructions(portable / name, few, topology)
                ) // per
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
