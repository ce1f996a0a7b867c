"""How often an explanation names who was planted, over drawn incidents of many machines: `python -m benchmarks.explanation [--seeds 4 5 6] [--days 12]` (in tests/).

Prints one JSON object: incidents that were felt (by counterfactual), shares named rightly, wrong ones, quiet answers, and the time of an answer in ms.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from integration.incidents import Told, World, draws, is_felt, score
from support.databases import server_folder

from flitwatch_db import connect
from flitwatch_db.jobs.explanation import explain
from flitwatch_db.migrations import migrate
from flitwatch_ops.embedded import Embedded


def one_machine(seed: int, days: int, nics: bool) -> tuple[list[Told], list[float]]:
    """Every felt incident and quiet day of a machine, and milliseconds of answers about them."""
    server = Embedded(server_folder(), durable=False)
    server.start()
    try:
        migrate(server.url)
        world = World(server.url, seed, nics)
        drawn = [*(one for one in draws(seed, days, quiet=False) if is_felt(one, seed)), *draws(seed, days, quiet=True)]
        told = [answer for draw in drawn for answer in world.day(draw)]
        took = []
        with connect(server.url, role="reader") as conn:
            for one in told:
                for _ in range(5):
                    began = time.perf_counter()
                    explain(conn, one.answer["job_id"], "drawn", one.answer["as_of"].timestamp())
                    took.append(1000 * (time.perf_counter() - began))
        return told, took
    finally:
        server.destroy()


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[4, 5, 6, 7])
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--no-nics", action="store_true")
    given = parser.parse_args()
    told, took = [], []
    for seed in given.seeds:
        some, times = one_machine(seed, given.days, not given.no_nics)
        told, took = told + some, took + times
    low, high = np.quantile(took, [0.5, 0.95])
    print(
        json.dumps(
            {
                "seeds": given.seeds,
                "days": given.days,
                "nics": not given.no_nics,
                **score(told),
                "answer_ms_p50": round(float(low), 1),
                "answer_ms_p95": round(float(high), 1),
            }
        )
    )


if __name__ == "__main__":
    main()
