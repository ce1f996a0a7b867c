"""The time limit of a reconstruction, by a clock that ticks where it is read: it holds for all that is done, and says what is unknown for lack of time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from flitwatch_domain.errors import BadInput, BadRequest, Cancelled
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.local_text import LocalText
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction import dives, files
from flitwatch_routing.reconstruction.limit import Watch
from flitwatch_routing.reconstruction.reach import compute_intervals
from flitwatch_routing.reconstruction.recover import Options, Reconstruction, build_program, reconstruct_matrix
from flitwatch_routing.reconstruction.refine import refine_support
from flitwatch_routing.reconstruction.study import Study, build_study

FABRIC = build_xgft(3, [4, 4, 2], [1, 2, 2])
PORTS = ftree_tables(FABRIC)
PHASES = ["reading counters", "bounding pairs", "reconstructing", "fitting the support", "estimating the error"]


class Ticks:
    """A clock on which every reading lasts a second."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def irregular(folder: Path) -> Study:
    """What one epoch leaves open, so that no solution ends by itself early."""
    rng = np.random.default_rng(1)
    src, dst, size = rng.integers(0, 32, 160), rng.integers(0, 32, 160), rng.lognormal(0, 1, 160)
    rows = "".join(f"{a},{b},{s}\n" for a, b, s in zip(src, dst, size, strict=True) if a != b)
    (folder / "t.csv").write_text("src,dst,bytes\n" + rows)
    return build_study(FABRIC, PORTS, LocalText(folder / "t.csv"), 4, 4, 1, seed=2)


def found(
    known: Study, ticks: Ticks, limit_s: float, watch: Watch | None = None, noise: float | None = None
) -> Reconstruction:
    m = known.measured
    # The sizes are some bytes.
    options = Options(time_limit_s=limit_s, noise=noise, floor=0.0)
    return reconstruct_matrix(FABRIC, PORTS, m.lanes, m.pairs, m.counters, options, watch, ticks)


@pytest.mark.parametrize("limit_s", [60, 300, 900])
def test_all_of_a_reconstruction_holds_the_limit(tmp_path: Path, limit_s: float) -> None:
    ticks = Ticks()
    made = found(irregular(tmp_path), ticks, limit_s)
    assert not made.converged and 0.3 * limit_s < ticks.now <= limit_s + 8
    assert made.estimated_error is not None and made.estimated_error > 0.03


def test_what_there_was_no_time_for_is_unknown_and_says_so(tmp_path: Path) -> None:
    known, ticks = irregular(tmp_path), Ticks()
    made = found(known, ticks, 26)
    assert ticks.now <= 26 + 8
    assert made.estimated_error is None and "time limit" in made.unknown["estimated_error"]
    assert np.isnan(made.low).all() and np.isnan(made.high).all() and "time limit" in made.unknown["intervals"]
    files.write_matrix(tmp_path / "x.csv", made.pairs, made.size, made.low, made.high)
    assert all(line.endswith(",,") for line in (tmp_path / "x.csv").read_text().splitlines()[1:])
    with pytest.raises(BadRequest, match="time limit ended while a program of 992 pairs was written"):
        found(known, Ticks(), 3)


def contradicting(folder: Path) -> Study:
    """A cable between switches counted ten times what its neighbours say."""
    known = irregular(folder)
    counted = known.measured.counters[0]
    between = (FABRIC.links.src < len(FABRIC.routers)) & (FABRIC.links.dst < len(FABRIC.routers))
    counted[np.flatnonzero(between)[np.argmax(counted[between].sum(axis=1))]] *= 10
    return known


@pytest.mark.system("numeric")
def test_counters_that_were_not_explained_in_time_are_not_said_to_contradict_the_routes(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the time limit ended before any traffic explained the counters") as told:
        found(contradicting(tmp_path), Ticks(), 10_000, noise=0.0)
    assert "--time-limit" in told.value.advice


def test_counters_that_nothing_explains_contradict_the_routes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dives, "MOST_ITERATIONS", 3_000)
    with pytest.raises(BadInput, match="counters contradict the routes: no traffic explains them"):
        found(contradicting(tmp_path), Ticks(), 10_000_000, noise=0.0)


@pytest.mark.parametrize("last", PHASES)
def test_it_can_be_cancelled_in_every_phase(tmp_path: Path, last: str) -> None:
    seen: list[str] = []

    def watch(phase: str, iterations: int, residual: float, gap: float) -> bool:
        seen.append(phase)
        return phase != last

    with pytest.raises(Cancelled):
        found(irregular(tmp_path), Ticks(), 400, watch)
    assert list(dict.fromkeys(seen)) == PHASES[: PHASES.index(last) + 1] and seen.count(last) == 1


def test_an_answer_of_zero_is_wrong_by_all_that_was_counted(tmp_path: Path) -> None:
    known = irregular(tmp_path)
    made = found(known, Ticks(), 300, noise=1.0)
    assert not made.size.any() and made.estimated_error == 1.0 and made.residual == pytest.approx(1.0)
    m = known.measured
    nothing = [np.zeros_like(m.counters[0])]
    silent = reconstruct_matrix(FABRIC, PORTS, m.lanes, m.pairs, nothing, Options())
    assert not len(silent.pairs) and silent.estimated_error is None and silent.unknown
    sent_nothing = m.counters[0].copy()
    sent_nothing[FABRIC.links.src >= len(FABRIC.routers)] = 0
    lost = reconstruct_matrix(FABRIC, PORTS, m.lanes, m.pairs, [sent_nothing], Options(noise=1.0))
    assert not len(lost.pairs) and lost.estimated_error == 1.0 and lost.residual == 1.0 and not lost.converged


def test_fewer_steps_are_a_poorer_answer_and_not_a_wrong_one(tmp_path: Path) -> None:
    known = irregular(tmp_path)
    m = known.measured
    posed = build_program(FABRIC, PORTS, m.lanes, m.pairs, m.counters, Options())
    assert posed is not None
    truth = known.size[np.searchsorted(m.pairs.key, posed.pairs.key)] / posed.scale
    slack = torch.zeros_like(posed.target)
    whole, one = (
        compute_intervals(posed.sensing, posed.target, slack, lambda step, most=most: step < most) for most in (4, 1)
    )
    assert (
        whole is not None
        and one is not None
        and compute_intervals(posed.sensing, posed.target, slack, lambda _: False) is None
    )
    assert float((whole[1] - whole[0]).sum()) <= float((one[1] - one[0]).sum())
    for low, high in (whole, one):
        assert (low.numpy() <= truth + 1e-6).all() and (truth <= high.numpy() + 1e-6).all()
    start = torch.from_numpy(truth * np.random.default_rng(3).uniform(0.8, 1.2, len(truth)))
    wrong = [
        float(
            torch.linalg.vector_norm(
                posed.sensing(refine_support(posed.sensing, start, posed.target, slack, go)) - posed.target
            )
        )
        for go in (lambda _: False, lambda step: step < 3, lambda _: True)
    ]
    assert wrong[0] > wrong[1] > wrong[2]
