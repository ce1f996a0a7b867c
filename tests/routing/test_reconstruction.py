"""Reconstruction from counters: adjoints, an LP oracle, known patterns, and impossible counters."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.secret_file import LocalText
from flitwatch_research.papers_routes import routes_and_bases
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.reconstruction import files
from flitwatch_routing.reconstruction.bases import BASES, Basis
from flitwatch_routing.reconstruction.lanes import random_lanes
from flitwatch_routing.reconstruction.pairs import pairs_of
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.sensing import LinkCounters, groups_of
from flitwatch_routing.reconstruction.study import Study, build_study, relative_error


def small_tree() -> Fabric:
    return build_xgft(3, [4, 4, 2], [1, 2, 2])


def measured(
    tmp_path: Path, src: np.ndarray, dst: np.ndarray, size: np.ndarray, epochs: int = 1
) -> tuple[Fabric, np.ndarray, Study]:
    fabric = small_tree()
    ports = ftree_tables(fabric)
    file = tmp_path / "t.csv"
    file.write_text("src,dst,bytes\n" + "".join(f"{a},{b},{s}\n" for a, b, s in zip(src, dst, size, strict=True)))
    return fabric, ports, build_study(fabric, ports, LocalText(file), 4, 4, epochs, seed=2)


def solve(fabric: Fabric, ports: np.ndarray, known: Study, **options: object):  # type: ignore[no-untyped-def]
    """With a clock on which every reading lasts a second, about one an iteration."""
    m = known.measured
    chosen = Options(**{"time_limit_s": 30_000.0, **options})  # type: ignore[arg-type]
    return reconstruct_matrix(fabric, ports, m.lanes, m.pairs, m.counters, chosen, clock=itertools.count().__next__)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 5))
def test_sensing_is_adjoint_and_counts_as_the_paths_say(seed: int, epochs: int, vls: int) -> None:
    fabric, rng = small_tree(), np.random.default_rng(seed)
    ports = random_tables(fabric, seed)
    pairs = pairs_of([rng.permutation(32)[:20]], rng.integers(0, 3, (32, 32), dtype=np.int8))
    sensing = LinkCounters(groups_of(fabric, ports, [random_lanes(fabric, 3, vls, rng) for _ in range(epochs)], pairs))
    x, y = torch.rand(len(pairs), dtype=torch.float64), torch.rand(len(sensing.row), dtype=torch.float64)
    assert float(sensing(x) @ y) == pytest.approx(float(x @ sensing.adjoint(y)), rel=1e-12)
    leaf = np.asarray(fabric.endpoints.router)
    same = leaf[pairs.src] == leaf[pairs.dst]
    hops = sensing.adjoint(torch.ones_like(y)).numpy() / epochs
    assert (hops[same] == 2).all() and np.isin(hops[~same], [4, 6]).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(BASES)), st.booleans())
def test_bases_are_adjoint_and_lose_nothing(seed: int, name: str, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.array([8, 4])
    key = np.array([k for k in range(80) if (k // 8 != k % 8 if k < 64 else (k - 64) // 4 != (k - 64) % 4)])
    key = key if whole else np.sort(rng.choice(key, 30, replace=False))
    basis = Basis(name, sizes, key).double()
    x, w = torch.from_numpy(rng.normal(size=len(key))), torch.from_numpy(rng.normal(size=basis.coefficients))
    assert float(basis(x) @ w) == pytest.approx(float(x @ basis.adjoint(w)), rel=1e-9, abs=1e-9)
    matrix = torch.stack([basis(one) for one in torch.eye(len(key), dtype=torch.float64)], dim=1)
    assert torch.linalg.matrix_rank(matrix) == len(key)


@pytest.mark.parametrize("basis", ["s", "scd", "od"])
def test_regular_patterns_come_back(tmp_path: Path, basis: str) -> None:
    at = np.arange(32)
    fabric, ports, known = measured(tmp_path, at, (at + 16) % 32, np.ones(32))
    found = solve(fabric, ports, known, basis=basis)
    assert found.converged
    assert relative_error(known, found) < 1e-3
    assert found.estimated_error is not None and found.estimated_error < 0.02
    truth = known.size[np.searchsorted(known.measured.pairs.key, found.pairs.key)]
    assert (found.low <= truth + 1e-6).all() and (truth <= found.high + 1e-6).all()


def test_the_objective_is_that_of_an_exact_solver(tmp_path: Path) -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 32, 90), rng.integers(0, 32, 90)
    keep = src != dst
    fabric, ports, known = measured(tmp_path, src[keep], dst[keep], rng.uniform(1, 2, int(keep.sum())))
    found = solve(fabric, ports, known, basis="s", estimate=False, tolerance=1e-6)
    sensing = LinkCounters(groups_of(fabric, ports, known.measured.lanes, found.pairs))
    rows = torch.stack([sensing(one) for one in torch.eye(len(found.pairs), dtype=torch.float64)], dim=1).numpy()
    basis = Basis("s", found.pairs.sizes, found.pairs.key).double()
    w = torch.stack([basis(one) for one in torch.eye(len(found.pairs), dtype=torch.float64)], dim=1).numpy()
    n, m = w.shape[1], w.shape[0]
    exact = linprog(
        np.r_[np.zeros(n), np.ones(m)],
        A_ub=np.block([[w, -np.eye(m)], [-w, -np.eye(m)]]),
        b_ub=np.zeros(2 * m),
        A_eq=np.hstack([rows, np.zeros((len(rows), m))]),
        b_eq=known.measured.counters[0].reshape(-1)[sensing.row],
        bounds=(0, None),
    )
    assert np.abs(w @ found.size).sum() == pytest.approx(exact.fun, rel=2e-3)


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**30])
def test_a_factor_on_all_counters_is_one_on_the_matrix(tmp_path: Path, factor: float) -> None:
    """Taffet 2021, figure 5.14: there the solver ended early on small numbers, and scaling them by hand improved its answer."""
    at = np.arange(32)
    fabric, ports, known = measured(tmp_path, at, (at + 16) % 32, 1.0 + at % 3)
    scaled = replace(
        known, measured=replace(known.measured, counters=[factor * one for one in known.measured.counters])
    )
    plain, found = (solve(fabric, ports, one, basis="od", estimate=False) for one in (known, scaled))
    assert found.iterations == plain.iterations
    assert found.size == pytest.approx(factor * plain.size, rel=1e-9)


def test_the_synthesis_form_is_the_analysis_form_and_needs_its_constraint(tmp_path: Path) -> None:
    """Equations 4.3.2 and 4.3.3: with no traffic below zero both have one least sum; without that constraint the sum is less, by traffic that cannot be."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 32, 90), rng.integers(0, 32, 90)
    keep = src != dst
    fabric, ports, known = measured(tmp_path, src[keep], dst[keep], rng.uniform(1, 2, int(keep.sum())))
    pairs = known.measured.pairs
    sensing = LinkCounters(groups_of(fabric, ports, known.measured.lanes, pairs))
    one = torch.eye(len(pairs), dtype=torch.float64)
    rows = torch.stack([sensing(each) for each in one], dim=1).numpy()
    basis = Basis("s", pairs.sizes, pairs.key).double()
    inverse = torch.stack([basis(each) for each in one], dim=1).numpy()
    psi = np.linalg.inv(inverse)
    counted = known.measured.counters[0].reshape(-1)[sensing.row]
    n = len(pairs)
    whole = np.r_[np.zeros(n), np.ones(n)]
    analysis = linprog(
        whole,
        A_ub=np.block([[inverse, -np.eye(n)], [-inverse, -np.eye(n)]]),
        b_ub=np.zeros(2 * n),
        A_eq=np.hstack([rows, np.zeros((len(rows), n))]),
        b_eq=counted,
        bounds=(0, None),
    )
    sensed = np.hstack([rows @ psi, -rows @ psi])  # y as two parts without a sign
    free, bound = (
        linprog(np.ones(2 * n), A_eq=sensed, b_eq=counted, A_ub=below, b_ub=None if below is None else np.zeros(n))
        for below in (None, np.hstack([-psi, psi]))
    )
    assert analysis.fun == pytest.approx(bound.fun, rel=1e-6)
    assert free.fun < bound.fun * (1 - 1e-3)
    assert (psi @ (free.x[:n] - free.x[n:])).min() < -1e-3


@pytest.mark.system("numeric")
def test_a_bad_reconstruction_says_so_and_epochs_mend_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 32, 160), rng.integers(0, 32, 160)
    keep = src != dst
    size = rng.lognormal(0, 1, int(keep.sum()))
    fabric, ports, known = measured(tmp_path, src[keep], dst[keep], size)
    bad = solve(fabric, ports, known, time_limit_s=6000)
    assert relative_error(known, bad) > 0.1
    assert bad.estimated_error is not None and bad.estimated_error > 0.03
    fabric, ports, known = measured(tmp_path, src[keep], dst[keep], size, epochs=8)
    good = solve(fabric, ports, known, time_limit_s=6000)
    assert relative_error(known, good) < 0.5 * relative_error(known, bad)


def test_counters_that_cannot_be(tmp_path: Path) -> None:
    at = np.arange(32)
    fabric, ports, known = measured(tmp_path, at, (at + 16) % 32, np.ones(32))
    m = known.measured

    def with_counters(counted: np.ndarray) -> Study:
        return replace(known, measured=replace(m, counters=[counted]))

    negative = m.counters[0].copy()
    negative[0, 0] = -1
    with pytest.raises(BadInput, match="negative"):
        solve(fabric, ports, with_counters(negative))
    with pytest.raises(BadInput, match="shape"):
        solve(fabric, ports, with_counters(m.counters[0][:-1]))
    lost = m.counters[0].copy()
    lost[int(np.argmax(lost.sum(axis=1)))] = 0
    with pytest.raises(BadInput, match="counters conflict"):
        solve(fabric, ports, with_counters(lost), floor=0.0)
    with pytest.raises(BadInput, match="too little traffic to tell: the busiest link"):
        solve(fabric, ports, with_counters(lost))
    holed = ports.copy()
    holed[int(fabric.endpoints.router[0]), 31] = -1
    with pytest.raises(BadInput, match="hole: leaf0 has no path to endpoint 31"):
        solve(fabric, holed, known)
    with pytest.raises(BadRequest, match="power of two"):
        Basis("cs", np.array([6]), np.arange(1, 6))


def test_files_come_back_as_they_were_written(tmp_path: Path) -> None:
    at = np.arange(32)
    fabric, _, known = measured(tmp_path, at, (at + 16) % 32, np.linspace(1, 2, 32))
    m = known.measured
    files.write_counters(tmp_path / "c.csv", fabric, m.counters[0])
    files.write_lanes(tmp_path / "l.csv", fabric, m.lanes[0])
    files.write_pairs(tmp_path / "p.csv", m.pairs)
    assert (files.read_counters(tmp_path / "c.csv", fabric, 4) == m.counters[0]).all()
    (lanes,) = files.read_lanes([tmp_path / "l.csv"], fabric)
    assert (lanes.host == m.lanes[0].host).all()
    assert (files.read_pairs(tmp_path / "p.csv", 32)[m.pairs.src, m.pairs.dst] == m.pairs.sl).all()
    text = (tmp_path / "c.csv").read_text().replace(",0,", ",-1,", 1)
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(BadInput, match=r"c\.csv:"):
        files.read_counters(tmp_path / "c.csv", fabric, 4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(BASES)))
def test_coefficients_give_the_matrix_back_and_the_threshold_is_the_highest(seed: int, name: str) -> None:
    rng, sizes = np.random.default_rng(seed), np.array([8, 4])
    key = np.array([k for k in range(80) if (k // 8 != k % 8 if k < 64 else (k - 64) // 4 != (k - 64) % 4)])
    basis, x = Basis(name, sizes, key).double(), torch.from_numpy(rng.random(len(key)) * (rng.random(len(key)) < 0.5))
    y = basis(x)
    assert torch.allclose(routes_and_bases.restore_matrix(basis, y), x, atol=1e-12)
    _, by_error, by_power = routes_and_bases.count_coefficients(basis, x)
    size, norm = np.sort(y.abs().numpy())[::-1], float(x.norm())
    for count, holds in (
        (by_error, lambda kept: float((x - routes_and_bases.restore_matrix(basis, kept)).norm()) <= 0.1 * norm),
        (by_power, lambda kept: float(kept.norm()) >= 0.9 * float(y.norm())),
    ):
        least = size[count - 1] if count else 0.0
        larger = y.abs() > least * (1 + 1e-8)
        assert holds(torch.where(y.abs() >= least, y, 0.0))
        assert not (bool(larger.any()) and holds(torch.where(larger, y, 0.0)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that PyTorch can use")
@pytest.mark.parametrize("basis", sorted(BASES))
def test_a_gpu_finds_the_same_matrix(tmp_path: Path, basis: str) -> None:
    at = np.arange(32)
    fabric, ports, known = measured(
        tmp_path, np.r_[at, at], np.r_[(at + 16) % 32, (at + 5) % 32], np.r_[np.ones(32), np.full(32, 3.0)]
    )
    of_cpu, of_gpu = (solve(fabric, ports, known, basis=basis, device=device) for device in ("cpu", "cuda"))
    assert of_gpu.converged == of_cpu.converged
    assert np.array_equal(of_gpu.pairs.key, of_cpu.pairs.key)
    assert np.abs(of_gpu.size - of_cpu.size).sum() < 1e-2 * np.abs(of_cpu.size).sum()
    assert np.allclose(of_gpu.low, of_cpu.low, rtol=1e-3, atol=1e-6) and np.allclose(
        of_gpu.high, of_cpu.high, rtol=1e-3, atol=1e-6
    )
    assert of_gpu.estimated_error == pytest.approx(of_cpu.estimated_error, abs=0.02)
