"""The largest pairs come first, with intervals that hold their bytes, also where the whole matrix is open; an error of everything is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flitwatch_domain.generators import build_xgft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.count import counters_of
from flitwatch_routing.reconstruction.lanes import random_lanes
from flitwatch_routing.reconstruction.pairs import pairs_of
from flitwatch_routing.reconstruction.ranked import rank_pairs, told_error
from flitwatch_routing.reconstruction.recover import Options, Reconstruction, reconstruct_matrix

TREE = build_xgft(2, [4, 4], [1, 2])
PORTS = ftree_tables(TREE)


def found(seed: int, large: int, small: int) -> tuple[Reconstruction, dict[tuple[int, int], float]]:
    """A reconstruction of a few large pairs above many small ones; and what was sent."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 4, (16, 16)).astype(np.int8)
    np.fill_diagonal(levels, -1)
    pairs = pairs_of([np.arange(16)], levels)
    size = np.zeros(len(pairs))
    chosen = rng.permutation(len(pairs))
    size[chosen[:large]] = rng.uniform(1e9, 5e9, large)
    size[chosen[large : large + small]] = rng.uniform(1e5, 1e6, small)
    lanes = [random_lanes(TREE, 4, 4, rng) for _ in range(2)]
    counted = counters_of(TREE, PORTS, lanes, pairs, size)
    made = reconstruct_matrix(TREE, PORTS, lanes, pairs, counted, Options("od", time_limit_s=20))
    sent = {(a, b): s for a, b, s in zip(pairs.src.tolist(), pairs.dst.tolist(), size.tolist(), strict=True)}
    return made, sent


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_largest_come_first_and_their_intervals_hold_what_was_sent(seed: int) -> None:
    made, sent = found(seed, 6, 120)
    told = rank_pairs(TREE, made, 6)
    number = {str(name): n for n, name in enumerate(TREE.endpoints.node)}
    sizes = [pair["bytes"] for pair in told["largest"]]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == 6
    truly = sorted(sent, key=lambda at: -sent[at])[:6]
    assert [(number[pair["src"]], number[pair["dst"]]) for pair in told["largest"]] == truly
    for pair, at in zip(told["largest"], truly, strict=True):
        assert pair["low"] is not None and pair["high"] is not None
        assert pair["low"] - 1 <= sent[at] <= pair["high"] + 1
    assert told["pairs"] <= told["possible_pairs"] <= told["allowed_pairs"] == 240
    assert told["certain_pairs"] is not None and told["certain_share"] is not None and 0 < told["certain_share"] <= 1


def test_an_error_of_everything_guides_nobody() -> None:
    made, _ = found(1, 3, 0)
    assert told_error(made) == (made.estimated_error, made.unknown)
    error, unknown = told_error(replace(made, estimated_error=1.0))
    assert error is None and "use the largest pairs" in unknown["estimated_error"]


def test_unknown_intervals_are_unknown() -> None:
    made, _ = found(1, 3, 0)
    nothing = np.full(len(made.size), np.nan)
    told = rank_pairs(TREE, replace(made, low=nothing, high=nothing), 2)
    assert [(pair["low"], pair["high"]) for pair in told["largest"]] == [(None, None)] * 2
    assert told["certain_pairs"] is None and told["certain_share"] is None
