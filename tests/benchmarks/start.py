"""Time of `flitwatch --help` and of completions relative to `python -c pass`, in turns: `python -m benchmarks.start` (in tests/)."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 20
FLITWATCH = [sys.executable, "-m", "flitwatch.main"]
COMPLETION = {"_FLITWATCH_COMPLETE": "bash_complete"}
CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "python": ([sys.executable, "-c", "pass"], {}),
    "help": ([*FLITWATCH, "--help"], {}),
    "completion": (FLITWATCH, COMPLETION | {"COMP_WORDS": "flitwatch jo", "COMP_CWORD": "1"}),
    "options": (FLITWATCH, COMPLETION | {"COMP_WORDS": "flitwatch import sacct --", "COMP_CWORD": "3"}),
}


def main() -> None:
    """Run and print."""
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(ROUNDS):
        for name, (command, environment) in CASES.items():
            begun = time.perf_counter()
            subprocess.run(command, env=os.environ | environment, stdout=subprocess.DEVNULL, check=True)
            taken[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    print(
        json.dumps(
            {f"{name}_s": round(value, 4) for name, value in medians.items()}
            | {f"{name}_ratio": round(medians[name] / medians["python"], 2) for name in medians if name != "python"}
        )
    )


if __name__ == "__main__":
    main()
