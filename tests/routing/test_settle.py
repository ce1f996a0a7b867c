"""The early end of a reconstruction: exact if few coefficients explain all counters, and otherwise never."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.generators import build_xgft
from flitwatch_domain.secret_file import LocalText
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.reconstruction.bases import BASES, Basis
from flitwatch_routing.reconstruction.lanes import random_lanes
from flitwatch_routing.reconstruction.pairs import pairs_of
from flitwatch_routing.reconstruction.program import Program
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.sensing import LinkCounters, groups_of
from flitwatch_routing.reconstruction.settle import counter_matrix, synthesis_matrix
from flitwatch_routing.reconstruction.steps import CoreSteps, TorchSteps
from flitwatch_routing.reconstruction.study import Study, build_study, relative_error

FABRIC = build_xgft(3, [4, 4, 4], [1, 2, 2])


@pytest.mark.parametrize("name", sorted(BASES))
def test_synthesis_undoes_the_basis(name: str) -> None:
    n = 16
    key = np.array([k for k in range(n * n) if k // n != k % n] + [n * n + k for k in range(64) if k // 8 != k % 8])
    basis = Basis(name, np.array([n, 8]), key).double()
    chosen = np.sort(np.random.default_rng(3).choice(len(key), 40, replace=False))
    for column, place in zip(synthesis_matrix(basis, chosen).toarray().T, chosen.tolist(), strict=True):
        one = torch.zeros(len(key), dtype=torch.float64)
        one[place] = 1
        assert torch.allclose(basis(torch.from_numpy(column)), one, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_the_sparse_matrix_is_the_operator(seed: int, epochs: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = pairs_of([rng.permutation(64)[:20]], rng.integers(0, 3, (64, 64), dtype=np.int8))
    lanes = [random_lanes(FABRIC, 3, 2, rng) for _ in range(epochs)]
    sensing = LinkCounters(groups_of(FABRIC, random_tables(FABRIC, seed), lanes, pairs))
    x = torch.rand(len(pairs), dtype=torch.float64)
    assert np.allclose(counter_matrix(sensing, len(pairs)) @ x.numpy(), sensing(x).numpy())


def _known(folder: Path, src: np.ndarray, dst: np.ndarray, size: np.ndarray, lanes: int) -> Study:
    file = folder / "t.csv"
    rows = "".join(f"{a},{b},{s}\n" for a, b, s in zip(src, dst, size, strict=True))
    file.write_text("src,dst,bytes\n" + rows)
    return build_study(FABRIC, ftree_tables(FABRIC), LocalText(file), lanes, lanes, 1, seed=2)


def _solved(known: Study, **options: object):  # type: ignore[no-untyped-def]
    m = known.measured
    chosen = Options(time_limit_s=20, **options)  # type: ignore[arg-type]
    return reconstruct_matrix(FABRIC, ftree_tables(FABRIC), m.lanes, m.pairs, m.counters, chosen)


def test_a_regular_pattern_ends_exact_long_before_the_last_digits(tmp_path: Path) -> None:
    at = np.arange(64)
    near, far = at[at < 63], at[at < 56]
    src = np.concatenate([near, near + 1, far, far + 8])
    dst = np.concatenate([near + 1, near, far + 8, far])
    known = _known(tmp_path, src, dst, np.repeat([3.0, 3.0, 0.01, 0.01], [63, 63, 56, 56]), 4)
    found = _solved(known, estimate=False)
    assert found.converged and found.iterations < 2000
    assert relative_error(known, found) < 1e-8


@pytest.mark.system("numeric")
def test_what_counters_leave_open_is_not_settled(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 64, 600), rng.integers(0, 64, 600)
    keep = src != dst
    known = _known(tmp_path, src[keep], dst[keep], rng.lognormal(0, 1, int(keep.sum())), 2)
    found = _solved(known)
    assert relative_error(known, found) > 0.2
    assert found.estimated_error is None or found.estimated_error > 0.03


# Steps by the core and by torch are the same step.


SMALL_FABRIC = build_xgft(3, [4, 4, 2], [1, 2, 2])


def program_of(seed: int, bases: tuple[str, ...], everywhere: bool, dtype: torch.dtype) -> Program:
    """Random routes, jobs, pairs that are left, counters, and a base that a dive has explained."""
    rng = np.random.default_rng(seed)
    at = rng.permutation(32)
    pairs = pairs_of([at[:16], at[16:24]], rng.integers(0, 3, (32, 32), dtype=np.int8))
    whole = pairs.key
    pairs = pairs.kept(rng.random(len(pairs)) < 0.7)
    counters = LinkCounters(
        groups_of(
            SMALL_FABRIC,
            random_tables(SMALL_FABRIC, seed),
            [random_lanes(SMALL_FABRIC, 3, 4, rng) for _ in range(2)],
            pairs,
        )
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
