"""Simulated seconds of the twin per second: state and derived counters, one core, no wire encoding.

    python tests/benchmarks/twin_seconds.py [seconds]

Prints one JSON object for a Cori-like machine (34 groups of 96 routers): CPU time of the process, in total and by part.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time

for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")


def measure(seconds: int) -> dict[str, float | int | bool]:
    """Simulate `seconds` after ten of warming up."""
    from flitwatch_twin.cluster import Cluster
    from flitwatch_twin.spec import FabricSpec, TwinSpec

    spec = TwinSpec(fabric=FabricSpec(kind="cori"))
    cluster = Cluster(spec, seed=7)
    spent = {"model": 0.0, "counters": 0.0, "router_values": 0.0}

    def timed(name: str, call):  # type: ignore[no-untyped-def]
        def inner(*arguments):  # type: ignore[no-untyped-def]
            begin = time.process_time()
            try:
                return call(*arguments)
            finally:
                spent[name] += time.process_time() - begin

        return inner

    for _ in range(10):
        cluster.advance()
    cluster.model.step = timed("model", cluster.model.step)  # type: ignore[method-assign]
    cluster.counters.update = timed("counters", cluster.counters.update)  # type: ignore[method-assign]
    begin = time.process_time()
    for _ in range(seconds):
        cluster.advance()
    cpu_s = time.process_time() - begin
    derive = timed("router_values", cluster.counters.router_values)
    derive()
    return {
        "routers": len(cluster.fabric.routers),
        "nodes": cluster.machine.nodes,
        "jobs": len(cluster.running),
        "seconds": seconds,
        "cpu_s": cpu_s,
        "cpu_ms_per_s": 1000 * cpu_s / seconds,
        "times_real_time": seconds / cpu_s,
        "model_ms": 1000 * spent["model"] / seconds,
        "counters_ms": 1000 * spent["counters"] / seconds,
        "router_values_ms": 1000 * spent["router_values"],
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "simulated": True,
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 120)))
