"""Reconstruction of a traffic matrix on the CPU and on a GPU, alternating in one run; prints one JSON object.

`.venv/bin/python tests/benchmarks/reconstruct_device.py [--ranks 512] [--rounds 2]`: without a GPU, only the CPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flitwatch_domain.generators import build_xgft
from flitwatch_domain.secret_file import LocalText
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import build_study, relative_error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=512, help="endpoints that send, 36 a leaf")
    parser.add_argument("--rounds", type=int, default=2, help="reconstructions on each device")
    options = parser.parse_args()

    fabric = build_xgft(2, [36, -(-options.ranks // 36)], [1, 18])
    at = np.arange(options.ranks)
    shifts = (1, 36, options.ranks // 2)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "traffic.csv"
        rows = [f"{a},{(a + shift) % options.ranks},{1000 * (n + 1)}\n" for n, shift in enumerate(shifts) for a in at]
        file.write_text("src,dst,bytes\n" + "".join(rows))
        ports = ftree_tables(fabric)
        known = build_study(fabric, ports, LocalText(file), 4, 4, 1, seed=1)

    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    seconds: dict[str, list[float]] = {device: [] for device in devices}
    error: dict[str, float] = {}
    for _ in range(options.rounds):
        for device in devices:
            begin = time.perf_counter()
            found = reconstruct_matrix(
                fabric,
                ports,
                known.measured.lanes,
                known.measured.pairs,
                known.measured.counters,
                Options(device=device),
            )
            seconds[device].append(time.perf_counter() - begin)
            error[device] = relative_error(known, found)
    answer: dict[str, Any] = {
        "ranks": options.ranks,
        "pairs": len(known.measured.pairs),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "seconds": {device: statistics.median(values) for device, values in seconds.items()},
        "relative_error": error,
    }
    if "cuda" in devices:
        answer["cpu_over_gpu"] = answer["seconds"]["cpu"] / answer["seconds"]["cuda"]
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
