"""Link traffic in bytes, from the size of a count on the fabric; unknown if the size is unknown."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from flitwatch_api.links import service
from flitwatch_domain.fabric import Technology
from flitwatch_domain.generators import build_dragonfly

FABRIC = build_dragonfly(3, 2, 4, endpoints_per_router=2, blue_routers=2, blue_cables=2, name="linked")


@pytest.mark.parametrize(
    ("technology", "bytes_each"),
    [
        (Technology.CRAY_XC, 20 / 3),
        (Technology.INFINIBAND, 4),
        (Technology.OPA, 8),
        (Technology.ETHERNET, 1),
        (Technology.SLINGSHOT, 1),
    ],
)
def test_bytes_of_a_count(technology: Technology, bytes_each: float) -> None:
    topology = SimpleNamespace(fabric=replace(FABRIC, technology=technology))
    counted = SimpleNamespace(link=np.array([1, 4]), flits=np.array([30.0, 3.0]))
    carried = service._carried_bytes(topology, counted)  # type: ignore[arg-type]
    assert carried is not None and carried[[1, 4]] == pytest.approx([30 * bytes_each, 3 * bytes_each])
    assert np.isnan(np.delete(carried, [1, 4])).all()


def test_where_nobody_says_what_a_count_is_worth() -> None:
    topology = SimpleNamespace(fabric=replace(FABRIC, technology=Technology.GENERIC))
    assert service._carried_bytes(topology, SimpleNamespace(link=np.array([0]), flits=np.array([1.0]))) is None  # type: ignore[arg-type]
