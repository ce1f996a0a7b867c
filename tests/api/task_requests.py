"""A valid request for each task, and the roles that may send one."""

from __future__ import annotations

from typing import Any

SEEN = {
    "allocation": ["n1"],
    "interval_s": 1.0,
    "request_flits": 9,
    "request_packets": 3,
    "stalled_cycles": 2,
    "cumulative_latency_us": 3.0,
}
GOOD: dict[str, dict[str, Any]] = {
    "demo.count": {"to": 1, "delay_s": 0.0},
    "sim.study": {"study": "fig15", "parameters": {"topologies": {"ring": "torus:9"}, "runs": 2, "routing": "dor"}},
    "sim.collective": {"topology": "torus:4,4", "routing": "dor", "pattern": "ring", "runs": 2},
    "sim.packet": {
        "topology": "dragonfly:3,2,4,4",
        "routing": "adaptive0",
        "traffic": "alltoall",
        "bytes": 10,
        "background": "none",
    },
    "sim.whatif": {"fabric": "past", "at_s": 1.0, "job": "1"},
    "routing.loop": {"pattern": "shift", "topology": "quartz1"},
    "routing.reconstruct": {"pattern": "shift", "topology": "quartz1"},
    "routing.optimise": {"pattern": "shift", "topology": "quartz1"},
    "routing.advice": {"application": "milc", "observations": {"ADAPTIVE_0": [SEEN], "ADAPTIVE_3": [SEEN]}},
    "ml.blame": {"exe": "milc", "nodes": 4},
    "ml.blame_measured": {"name": "mine", "runs": 1, "exposure": 2},
    "ml.deviation": {"exe": "milc", "nodes": 4},
    "ml.forecast": {"exe": "milc", "nodes": 4},
    "alerting.test": {"rule": {"name": "r", "signal": "blamed_user", "above": 0}, "from_s": 0, "to_s": 1},
}
ROLES = ("anonymous", "viewer", "user", "operator", "admin", "service")
