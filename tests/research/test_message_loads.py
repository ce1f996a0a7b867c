"""Wang 2018, figure 7, on a smaller machine: message load reverses the order of placements (docs/benchmarks/paper-studies.md)."""

from __future__ import annotations

import pytest

from flitwatch_research.studies import wang

#: 125 of 512 nodes.
MACHINE = {"topology": "dragonfly:4,4,8,16", "ranks": 125, "runs": 1}


@pytest.mark.system("numeric")
def test_random_nodes_overtake_contiguous_ones_as_messages_grow() -> None:
    points = wang.run_fig7({**MACHINE, "seed": 1}, lambda *_: None, lambda: False)["points"]
    assert all(point["conserved"] for point in points)
    # As the figure: the longest communication time of a rank.
    time = {(p["application"], p["placement"], p["routing"], p["scale"]): p["slowest_ms"]["mean"] for p in points}
    for application in wang.APPLICATIONS:
        scales = sorted({key[3] for key in time if key[0] == application})
        ratios = [
            time[application, "contiguous", "adaptive", s] / time[application, "random-node", "adaptive", s]
            for s in scales
        ]
        # The sign turns: contiguous nodes are ahead with the least load, random ones with the most.
        assert ratios[0] < 0.95 and ratios[-1] > 1.05
        # Contiguous nodes with minimal routes fall far behind as the load grows.
        assert (
            time[application, "contiguous", "minimal", scales[-1]]
            > 1.8 * time[application, "random-node", "adaptive", scales[-1]]
        )
    # Random nodes are ahead from 30 % of the load on for crystal router, and above ten times the load for AMG.
    for application, from_scale in (("crystal-router", 0.3), ("amg", 10)):
        for (name, placement, routing, scale), slowest_ms in time.items():
            if (name, placement, routing) == (application, "contiguous", "adaptive") and scale >= from_scale:
                assert slowest_ms > time[application, "random-node", "adaptive", scale]
    # Fill boundary: random nodes and adaptive routes are best from a tenth of the load on (published: always).
    for scale in (0.1, 0.5, 1, 2):
        each = {key[1:3]: value for key, value in time.items() if (key[0], key[3]) == ("fill-boundary", scale)}
        assert min(each, key=each.__getitem__) == ("random-node", "adaptive")
