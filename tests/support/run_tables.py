"""Tables of measured runs and of concurrent users, with a planted culprit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

RUNS, USERS, MONDAY_S = 90, 12, 1_767_571_200
Rows = list[list[Any]]


def tables() -> tuple[Rows, Rows]:
    """Return runs over 13 weeks with a circumstance, and concurrent users: u0 adds 40 s to 300."""
    rng = np.random.default_rng(0)
    start = MONDAY_S + np.sort(rng.uniform(0, 13 * 604_800, RUNS))
    there = rng.random((RUNS, USERS)) < 0.35
    groups = rng.integers(1, 9, RUNS)
    time_s = 300 * rng.lognormal(0, 0.03, RUNS) + 40 * there[:, 0]
    runs = [
        [f"r{at}", datetime.fromtimestamp(start[at], UTC).isoformat(), time_s[at], 64, groups[at], "milc"]
        for at in range(RUNS)
    ]
    return runs, [[f"r{run}", f"u{user}", 20.0] for run, user in np.argwhere(there)]


RUN_COLUMNS, EXPOSURE_COLUMNS = ["run", "start", "time_s", "nodes", "groups", "name"], ["run", "user", "amount"]
