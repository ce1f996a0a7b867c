"""Request bodies from the OpenAPI document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flitwatch_api.answers import dump_json
from flitwatch_domain.advice.basis import Basis
from flitwatch_domain.advice.decision import PlacementQuestion
from flitwatch_domain.advice.schemas import Advice

#: The committed description, which test_openapi.py compares with the application's: making that takes seconds in each process.
DOCUMENT = json.loads((Path(__file__).parents[2] / "docs" / "contracts" / "openapi.json").read_bytes())


def fields(schema: dict[str, Any], word: str, depth: int = 0) -> Any:
    """A body of a schema with the word wherever a text may stand."""
    if "$ref" in schema:
        return fields(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]], word, depth + 1)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            kinds = [one for one in schema[several] if one.get("type") != "null"]
            return fields(next((one for one in kinds if one.get("type") == "string"), kinds[0]), word, depth + 1)
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    match schema.get("type"):
        case "object":
            made = {name: fields(one, word, depth + 1) for name, one in schema.get("properties", {}).items()}
            if isinstance(schema.get("additionalProperties"), dict) and depth < 8:
                made |= {
                    name: fields(schema["additionalProperties"], word, depth + 1) for name in ("user", "exe", "rule")
                }
            return made
        case "array":
            return [fields(schema["items"], word, depth + 1)] if "items" in schema and depth < 8 else []
        case "integer":
            return max(1, schema.get("minimum", 1))
        case "number":
            return 1.0
        case "boolean":
            return False
        case _:
            return "2026-11-20T00:00:00Z" if schema.get("format") == "date-time" else word


# A valid request for each task, and the roles that may send one.


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


# What advice is computed from, and a request for it.


NOW = 1_790_000_000.0

ASKED = PlacementQuestion("ann", "milc", 64, [["a0", "a1"], ["b0", "b1"]])


def basis(calm: float = 1.0, busy: float = 5.0) -> Basis:
    """Runs take 100 s at one stall per flit and 100 s more for each four above; group 0 is calm, group 1 busy."""
    made = Basis(NOW, 1, "key")
    made.groups.update({(1, 0): (calm, NOW - 30), (1, 1): (busy, NOW - 30)})
    made.nodes.update({"a0": [(1, 0)], "a1": [(1, 0)], "b0": [(1, 1)], "b1": [(1, 1)]})
    made.runs["milc"] = [
        {"application": "milc", "nodes": 64, "user": "eve", "time_s": 75 + 25 * c + n % 3, "congestion": c}
        for n in range(20)
        for c in (1.0, 5.0)
    ]
    return made


def sent(advice: Advice) -> dict:
    """An answer as its reader has it."""
    return json.loads(dump_json(advice))
