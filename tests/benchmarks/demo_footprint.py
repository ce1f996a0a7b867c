"""Memory and disk of a running platform: `FLITWATCH_HOME=... python -m benchmarks.demo_footprint`, from tests/. Prints one JSON object, in MB.

Memory is PSS: shared memory is divided among processes, so that the sum is the platform's total.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from flitwatch_db import connect
from flitwatch_domain.errors import NotFound
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.home import home_folder
from flitwatch_ops.supervisor import read_running_state


def pss_mb(pid: int) -> float:
    """Memory of a process and of all that descend from it."""
    total = 0.0
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total = int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1000
        for thread in os.listdir(f"/proc/{pid}/task"):
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
            total += sum(pss_mb(int(child)) for child in children)
    return total


def size_mb(folder: Path) -> float:
    """Blocks of all files below a folder."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.lstat().st_blocks * 512
    return total / 1e6


def main() -> None:
    """Measure the platform of FLITWATCH_HOME."""
    state = read_running_state(home_folder())
    if state is None:
        raise NotFound(f"no platform runs in {home_folder()}")
    server = Embedded(home_folder() / "pg")
    memory = {one["name"]: pss_mb(one["pid"]) for one in state["processes"] if one["pid"]}
    # The processes are the supervisor's children.
    memory["supervisor"] = pss_mb(state["pid"]) - sum(memory.values())
    memory["database"] = pss_mb(server.pid() or 0)
    with connect(state["database"], autocommit=True) as conn:
        row = conn.execute(
            "SELECT pg_database_size(current_database()),"
            " (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits WHERE inhparent = 'log.batch'::regclass)"
        ).fetchone()
    assert row is not None
    disk = {
        "all": size_mb(home_folder()),
        "database": row[0] / 1e6,
        "of it the log": float(row[1]) / 1e6,
        "write-ahead log": size_mb(server.data / "pg_wal"),
    }
    json.dump(
        {
            "memory_mb": {"all": round(sum(memory.values())), **{name: round(mb) for name, mb in memory.items()}},
            "disk_mb": {name: round(mb) for name, mb in disk.items()},
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
