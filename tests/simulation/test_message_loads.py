"""Wang 2018, figure 7, on a smaller machine: where message load turns the order of placements, and where ours differs (docs/benchmarks/paper-studies.md)."""

from __future__ import annotations

import pytest

from flitwatch_research.studies import wang

#: 125 of 512 nodes.
MACHINE = {"topology": "dragonfly:4,4,8,16", "ranks": 125}


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [1, 5])
def test_random_nodes_overtake_contiguous_ones_as_messages_grow(seed: int) -> None:
    points = wang.run_fig7({**MACHINE, "seed": seed}, lambda *_: None, lambda: False)["points"]
    assert all(point["conserved"] for point in points)
    # As the figure: the longest communication time of a rank, mean over draws.
    time = {(p["application"], p["placement"], p["routing"], p["scale"]): p["slowest_ms"]["mean"] for p in points}
    best = {
        key: min(time[key[0], key[1], routing, key[2]] for routing in ("minimal", "adaptive"))
        for key in {(a, p, s) for a, p, _, s in time}
    }

    def contiguous_over_random(application: str, scale: float, routing: str) -> float:
        return time[application, "contiguous", routing, scale] / time[application, "random-node", routing, scale]

    # Crystal router: contiguous below a tenth of the load; with minimal routes random nodes from the full load on (published: from 30 %).
    for scale in (0.01, 0.1):
        assert contiguous_over_random("crystal-router", scale, "minimal") < 0.9
        assert contiguous_over_random("crystal-router", scale, "adaptive") < 0.9
    for scale in (1, 2):
        assert contiguous_over_random("crystal-router", scale, "minimal") > 1.25
    # AMG: contiguous up to the original load, random nodes from ten times on, whatever the routing.
    for scale in (0.5, 1):
        assert best["amg", "contiguous", scale] < 0.9 * best["amg", "random-node", scale]
    for scale in (10, 20):
        assert best["amg", "contiguous", scale] > 1.05 * best["amg", "random-node", scale]
    # Fill boundary: random nodes and adaptive routes are best from half the load on (published: always).
    for scale in (0.5, 1, 2):
        each = {key[1:3]: value for key, value in time.items() if (key[0], key[3]) == ("fill-boundary", scale)}
        assert min(each, key=each.__getitem__) == ("random-node", "adaptive")
    # Contiguous nodes with minimal routes fall behind random nodes with adaptive ones as the load grows, in every application.
    for application in wang.APPLICATIONS:
        scales = sorted({key[3] for key in time if key[0] == application})
        behind = [
            time[application, "contiguous", "minimal", s] / time[application, "random-node", "adaptive", s]
            for s in scales
        ]
        assert behind == sorted(behind)
        assert behind[-1] > 1.8
