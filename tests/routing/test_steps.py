"""Steps by the core and by torch are the same step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.generators import build_xgft
from flitwatch_routing.baselines import random_tables
from flitwatch_routing.reconstruction.bases import Basis
from flitwatch_routing.reconstruction.lanes import random_lanes
from flitwatch_routing.reconstruction.pairs import pairs_of
from flitwatch_routing.reconstruction.program import Program
from flitwatch_routing.reconstruction.sensing import LinkCounters, groups_of
from flitwatch_routing.reconstruction.steps import CoreSteps, TorchSteps

FABRIC = build_xgft(3, [4, 4, 2], [1, 2, 2])


def program_of(seed: int, bases: tuple[str, ...], everywhere: bool, dtype: torch.dtype) -> Program:
    """Random routes, jobs, pairs that are left, counters, and a base that a dive has explained."""
    rng = np.random.default_rng(seed)
    at = rng.permutation(32)
    pairs = pairs_of([at[:16], at[16:24]], rng.integers(0, 3, (32, 32), dtype=np.int8))
    whole = pairs.key
    pairs = pairs.kept(rng.random(len(pairs)) < 0.7)
    counters = LinkCounters(
        groups_of(FABRIC, random_tables(FABRIC, seed), [random_lanes(FABRIC, 3, 4, rng) for _ in range(2)], pairs)
    )
    key = whole if everywhere else pairs.key
    place_of = torch.from_numpy(np.searchsorted(key, pairs.key)) if everywhere else None
    target = torch.from_numpy(rng.random(len(counters.row))).to(dtype)
    made = [Basis(name, pairs.sizes, key).to(dtype) for name in bases]
    program = Program(counters, made, place_of, len(key), target, 0.1 * target)
    program.least.copy_(torch.from_numpy(-rng.random(len(pairs))))
    program.shift = [torch.from_numpy(rng.normal(size=basis.coefficients)).to(dtype) for basis in made]
    return program


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([("i",), ("s",), ("cd",), ("cs",), ("scs",), ("scd", "s"), ("scd", "scs"), ("cd", "i")]),
    st.booleans(),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_the_core_steps_as_torch_does(seed: int, bases: tuple[str, ...], everywhere: bool, dtype: torch.dtype) -> None:
    program = program_of(seed, bases, everywhere, dtype)
    generator = torch.Generator().manual_seed(seed)
    x, y = (
        [torch.randn(part.shape, generator=generator, dtype=dtype) for part in vectors] for vectors in program.start()
    )
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    torch_steps, core_steps = TorchSteps(program), CoreSteps(program)
    for _ in range(3):
        before = [part.clone() for part in (*x, *y)]
        (xt, yt), (xc, yc) = (steps.step(x, y, 0.3, 0.2) for steps in (torch_steps, core_steps))
        for a, b in zip([*xt, *yt], [*xc, *yc], strict=True):
            torch.testing.assert_close(a, b, **close)
        for a, b in zip([*x, *y], before, strict=True):
            assert torch.equal(a, b)
        assert core_steps.squared_distance(xc, x) == pytest.approx(torch_steps.squared_distance(xt, x), rel=1e-4)
        other = [part.clone() for part in x]
        torch_steps.reflect(x, xt, [0.5 * part for part in x], 0.75)
        core_steps.reflect(other, xc, [0.5 * part for part in other], 0.75)
        for a, b in zip(x, other, strict=True):
            torch.testing.assert_close(a, b, **close)
        y = [part.clone() for part in yt]
