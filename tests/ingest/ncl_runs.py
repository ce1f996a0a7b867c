"""Output files of the network counter library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

COUNTERS = [
    "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0",
    "AR_RTR_0_1_INQ_PRF_ROWBUS_STALL_CNT",
    "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS",
]
RANKS = [0, 4, 8]


def write_run(folder: Path, steps: int = 3, *, counters: list[str] | None = None) -> Path:
    """A run as AriesNCL writes it: steps in reverse order, one file of counts a step."""
    rng = np.random.default_rng(1)
    names = COUNTERS if counters is None else counters
    timings = [
        {"timestep": step, "time": rng.integers(10**8, 2 * 10**8, len(RANKS)).tolist()}
        for step in reversed(range(steps))
    ]
    head = folder / "amg.timings.json"
    head.write_text(json.dumps({"counter_names": names, "ranks": RANKS, "timings": timings}))
    (folder / "counters.txt").write_text("\n".join(names) + "\n")
    for step in range(steps):
        counts = rng.integers(0, 10**8, (len(RANKS), len(names)))
        (folder / f"amg.counters.{step}.bin").write_bytes(counts.astype("<i8").tobytes())
    return head
