"""The study of how the error falls: it ends where a reconstruction of the same counters ends, and refuses what it does not know."""

from __future__ import annotations

import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_research.studies import registry

SMALL = {"case": "bisection", "topology": "xgft:3;4,4,4;1,2,2", "limit_s": 20.0}


def test_the_error_falls_to_what_is_sent() -> None:
    answer = registry.find("taffet-convergence").run(dict(SMALL), lambda *_: None, lambda: False)
    (point,) = answer["points"]
    assert len(point["seconds"]) == len(point["iterations"]) == len(point["error"]) > 0
    assert point["converged"] and point["error"][-1] < 1e-3 and point["error"][-1] <= point["error"][0]
    assert point["settled"]["error"] < 1e-3 and answer["simulated"]


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(BadRequest, match="no case 'stencil'"):
        registry.find("taffet-convergence").run({"case": "stencil"}, lambda *_: None, lambda: False)
