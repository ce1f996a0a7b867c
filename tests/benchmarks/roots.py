"""Detection of planted roots of congestion from port counters only: one JSON object per line, the last one for all single roots and quiet runs.

    python tests/benchmarks/roots.py [runs a setting]

Thresholds of the method were chosen on seeds 0 to 15; these are other seeds. A root counts as found if a named one is within one link of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from flitwatch_research.planted_roots import QUIET, SETTINGS, SEVERAL, UNCOUNTED, score_setting

FIRST_SEED = 1000


def summary(scores: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Sums over runs; confidence is that of right and of wrong names."""
    rows = list(scores)
    named = [pair for row in rows for pair in zip(row["confidence"], row["right"], strict=True)]
    planted = sum(row["planted"] for row in rows)
    found = sum(row["found"] for row in rows)
    return {
        "runs": len(rows),
        "planted": planted,
        "found": found,
        "found_share": found / planted if planted else None,
        "exact": sum(row["exact"] for row in rows),
        "named": len(named),
        "wrong": sum(row["wrong"] for row in rows),
        "cannot_tell": sum(row["cannot_tell"] for row in rows),
        "right_by_confidence": {
            f"{low:g} to {high:g}": [sum(right for c, right in named if low <= c < high + (high == 1)),
                                     sum(low <= c < high + (high == 1) for c, _ in named)]
            for low, high in ((0.5, 0.8), (0.8, 0.95), (0.95, 1))
        },
    }  # fmt: skip


def main(runs: int) -> None:
    """Run every setting with seeds that nothing was chosen by."""
    seeds = range(FIRST_SEED, FIRST_SEED + runs)
    scores: dict[str, list[dict[str, Any]]] = {}
    for what, settings in (("single", SETTINGS), ("several", SEVERAL), ("uncounted", UNCOUNTED), ("quiet", QUIET)):
        for setting in settings:
            found = score_setting(setting, seeds)
            scores.setdefault(what, []).extend(found)
            print(json.dumps({"set": what, **asdict(setting), **summary(found)}), flush=True)
    print(json.dumps({what: summary(rows) for what, rows in scores.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
