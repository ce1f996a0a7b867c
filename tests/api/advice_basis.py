"""What advice is computed from, and a request for it."""

from __future__ import annotations

import json

from flitwatch_api.answers import dump_json
from flitwatch_domain.advice.basis import Basis
from flitwatch_domain.advice.decision import PlacementQuestion
from flitwatch_domain.advice.schemas import Advice

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
