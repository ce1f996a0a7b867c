"""Dives of the reconstruction: what spans orders of magnitude comes back whole, and nothing is left behind in the program."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from flitwatch_domain.generators import build_xgft
from flitwatch_domain.local_text import LocalText
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.dives import DivingSolver, solve_with_dives
from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.pdhg import solve_program
from flitwatch_routing.reconstruction.recover import Options, Problem, build_program
from flitwatch_routing.reconstruction.settle import CounterFit, _Nested
from flitwatch_routing.reconstruction.study import Study, build_study

FABRIC = build_xgft(3, [4, 4, 4], [1, 2, 2])
#: Bytes of a halo's faces, edges and corners, as LULESH's are to each other.
HALO = {1: 34.6, 2: 0.744, 3: 0.024}


def _halo(file: Path) -> None:
    """27-point halo of 4 x 4 x 4 ranks."""
    rows = ["src,dst,bytes"]
    for at in itertools.product(range(4), repeat=3):
        for step in itertools.product((-1, 0, 1), repeat=3):
            to = tuple(a + s for a, s in zip(at, step, strict=True))
            if any(step) and all(0 <= t < 4 for t in to):
                rank, other = (p[0] * 16 + p[1] * 4 + p[2] for p in (at, to))
                rows.append(f"{rank},{other},{HALO[sum(map(abs, step))]}")
    file.write_text("\n".join(rows) + "\n")


def _irregular(file: Path, ranks: int, messages: int, sigma: float, seed: int) -> None:
    """Random pairs with log-normal bytes."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, ranks, messages), rng.integers(0, ranks, messages)
    sizes = rng.lognormal(0, sigma, messages)
    rows = "".join(f"{a},{b},{s}\n" for a, b, s in zip(src, dst, sizes, strict=True) if a != b)
    file.write_text("src,dst,bytes\n" + rows)


def _posed(file: Path, lanes: int, seed: int) -> tuple[Study, Problem]:
    ports = ftree_tables(FABRIC)
    known = build_study(FABRIC, ports, LocalText(file), lanes, lanes, 1, seed)
    m = known.measured
    posed = build_program(FABRIC, ports, m.lanes, m.pairs, m.counters, Options())
    assert posed is not None
    return known, posed


def _error(known: Study, posed: Problem, x: torch.Tensor) -> float:
    true = known.size[np.searchsorted(known.measured.pairs.key, posed.pairs.key)] / posed.scale
    return float(np.linalg.norm(x.double().numpy() - true) / np.linalg.norm(true))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_faces_edges_and_corners_come_back_whole(tmp_path: Path, seed: int) -> None:
    _halo(tmp_path / "halo.csv")
    known, posed = _posed(tmp_path / "halo.csv", 6, seed)
    before = [part.clone() for part in (posed.program.target, posed.program.least)]
    dives = DivingSolver(posed.program, Limit(), None)
    early = dives._solved(1e-9, 1.0, None, 240)
    assert _error(known, posed, early.x[0]) > 1e-3
    fit = dives._dive_below(early, 240)
    assert fit is not None and fit.exact and fit.wrong < 1e-6
    assert _error(known, posed, torch.from_numpy(fit.x)) < 1e-6
    assert posed.program.shift is None
    for part, was in zip((posed.program.target, posed.program.least), before, strict=True):
        assert torch.equal(part, was)


def test_two_dives_agree_on_the_answer(tmp_path: Path) -> None:
    _halo(tmp_path / "halo.csv")
    known, posed = _posed(tmp_path / "halo.csv", 6, 1)
    found, estimate = solve_with_dives(posed.program, 1e-9)
    assert found.converged and _error(known, posed, found.x[0]) < 1e-6
    assert estimate is None or estimate < 1e-3


def test_what_explains_nothing_is_not_taken(tmp_path: Path) -> None:
    """Where counters leave the traffic open, a sparse fit of the most of them misses what it has not seen, and the solver's own iterate stands."""
    _irregular(tmp_path / "t.csv", 64, 900, 1, 4)
    _, posed = _posed(tmp_path / "t.csv", 2, 1)
    dives = DivingSolver(posed.program, Limit(), None)
    early = dives._solved(1e-9, 1.0, None, 240)
    assert dives._dive_below(early, 240) is None
    assert torch.equal(dives._end(early, 240)[0].x[0], early.x[0])


def test_a_limit_ends_a_look_and_lets_none_begin_that_would_not_end(tmp_path: Path) -> None:
    _halo(tmp_path / "t.csv")
    _, posed = _posed(tmp_path / "t.csv", 4, 1)
    program, seconds = posed.program, iter(range(10_000))
    settler, x = CounterFit(program), solve_program(program, 1e-9, most_iterations=120).x
    total = settler.coefficients(program, x)
    assert settler.best(total) is not None and settler.best(total, Limit(-1.0)) is None
    dives = DivingSolver(program, Limit(9_000.0, seconds.__next__), None)
    dives._longest = 9_000.0
    found, agreed = dives.run(1e-3)
    assert agreed is None and found.iterations == dives._done  # none but the solver's own


def test_a_level_has_the_objective_of_the_whole(tmp_path: Path) -> None:
    """Around any base, in any unit, the optimum of what is left and the base together is the optimum."""
    _irregular(tmp_path / "t.csv", 20, 60, 2, 5)
    _, posed = _posed(tmp_path / "t.csv", 4, 1)
    program = posed.program
    whole = solve_program(program, 1e-8)
    objective = sum(float(part.abs().sum()) for part in program(whole.x)[1:])
    base, unit = [torch.rand(len(part), generator=torch.Generator().manual_seed(2)).to(part) for part in whole.x], 0.5
    behind = program(base)
    program.target.copy_((program.target - behind[0]) / unit)
    program.least.copy_(-base[0] / unit)
    program.shift = [part / unit for part in behind[1:]]
    level = solve_program(program, 1e-8)
    together = [a + unit * b for a, b in zip(behind[1:], program(level.x)[1:], strict=True)]
    assert float(level.x[0].min()) >= float((-base[0] / unit).min()) - 1e-9
    assert sum(float(part.abs().sum()) for part in together) == pytest.approx(objective, rel=1e-5)


def test_nested_fits_are_least_squares(tmp_path: Path) -> None:
    _halo(tmp_path / "halo.csv")
    _, posed = _posed(tmp_path / "halo.csv", 3, 1)
    settler = CounterFit(posed.program)
    lengths = [basis.coefficients for basis in posed.program.bases]
    order = np.random.default_rng(3).choice(sum(lengths), 60, replace=False)
    fits = _Nested(settler, order, lengths)
    outside = fits._outside.toarray()
    for count in (1, 17, 60):
        c, wrong = fits.fit(count)
        system = np.vstack([fits._seen[:, :count], outside[:, :count]])
        target = np.concatenate([settler.target, np.zeros(len(outside))])
        best = np.linalg.lstsq(system, target, rcond=None)[0]
        assert wrong == pytest.approx(np.linalg.norm(system @ best - target) / np.linalg.norm(target), rel=1e-6)
        assert np.allclose(system @ c, system @ best, atol=1e-6 * np.linalg.norm(target))


def test_a_watch_ends_a_dive(tmp_path: Path) -> None:
    _halo(tmp_path / "halo.csv")
    _, posed = _posed(tmp_path / "halo.csv", 6, 1)
    seen: list[int] = []

    def watch(iterations: int, residual: float, gap: float) -> bool:
        seen.append(iterations)
        return iterations < 200

    found, _ = solve_with_dives(posed.program, 1e-9, Limit(), watch)
    assert found.stopped and seen == sorted(seen) and seen[-1] <= 280
    assert posed.program.shift is None
