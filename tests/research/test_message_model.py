"""Limits of equation 2 of De Sensi 2019: it adds a latency per 1,024 packets even if the window never fills, and then no longer correlates."""

from __future__ import annotations

import pytest

from flitwatch_domain.network_noise.observations import message_time_s
from flitwatch_research.studies import desensi
from flitwatch_research.studies.desensi import message_time_without_window_s


def test_the_equations_differ_by_the_window_alone() -> None:
    # 4 KiB: 64 packets of 5 flits.
    assert message_time_without_window_s(4096, 1000, 0.5) == pytest.approx((1000 / 2 + 320 * 1.5) / 800e6)
    for size in (64, 4096, 1 << 20):
        window = message_time_s(size, 1000, 0.5) - message_time_without_window_s(size, 1000, 0.5)
        assert window == pytest.approx(size / 64 / 1024 * 1000 / 800e6)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [1, 5])
def test_large_messages_alongside_much_traffic_follow_equation_one(seed: int) -> None:
    machine = {"topology": "dragonfly:4,2,4,4", "load_gib_per_s": 1.0, "sizes": [1 << 20], "allocations": 24}
    (point,) = desensi.run_model({**machine, "seed": seed}, lambda *_: None, lambda: False)["points"]
    assert point["correlation_without_window"] > 0.9
    assert point["correlation"] < point["correlation_without_window"] - 0.05
