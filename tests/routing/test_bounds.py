"""Bounds of routes, and the limits of a reconstruction, compared with exact solvers."""

from __future__ import annotations

import itertools
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from routing.exact_bounds import TREES, demands, exact, ways
from routing.lft_dumps import keeping, without
from scipy.optimize import Bounds, LinearConstraint, milp

from flitwatch_domain.errors import BadInput, BadRequest, Cancelled
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_domain.secret_file import LocalText
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import compute_bounds, whole_loads
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.packing import least_busiest, longest_first
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.reconstruction import dives, files
from flitwatch_routing.reconstruction.dives import DivingSolver, solve_with_dives
from flitwatch_routing.reconstruction.limit import Limit, Watch
from flitwatch_routing.reconstruction.pdhg import solve_program
from flitwatch_routing.reconstruction.recover import Options, Problem, Reconstruction, build_program, reconstruct_matrix
from flitwatch_routing.reconstruction.refine import compute_intervals, refine_support
from flitwatch_routing.reconstruction.settle import CounterFit, _Nested
from flitwatch_routing.reconstruction.study import Study, build_study
from flitwatch_routing.tree import as_tree


def optimum(sizes: np.ndarray, ports: int) -> float:
    """The busiest port's bytes when every entry takes one port, at least."""
    count = len(sizes)
    width = count * ports + 1
    once, loads = np.zeros((count, width)), np.zeros((ports, width))
    for entry in range(count):
        once[entry, entry * ports : (entry + 1) * ports] = 1
        loads[np.arange(ports), entry * ports + np.arange(ports)] = sizes[entry]
    loads[:, -1] = -1
    rules = [LinearConstraint(once, 1, 1), LinearConstraint(loads, -np.inf, 0)]
    box = Bounds(np.zeros(width), np.r_[np.ones(width - 1), np.inf])
    cost, whole = np.r_[np.zeros(width - 1), 1.0], np.r_[np.ones(width - 1), 0.0]
    return float(milp(cost, constraints=rules, integrality=whole, bounds=box).fun)


@pytest.mark.system("numeric")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 11), st.booleans())
def test_the_bound_never_passes_the_optimum(seed: int, ports: int, entries: int, few_sizes: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1.0, 1.7, 2.4, 0.1], entries) if few_sizes else rng.uniform(0.1, 3, entries)
    best = optimum(sizes, ports)
    known = max(sizes.sum() / ports, sizes.max())
    found = least_busiest([(sizes, ports)], known, lambda: True)
    assert known <= found <= best * (1 + 1e-6)
    assert best <= longest_first(sizes, ports) * (1 + 1e-9)


def test_entries_that_fill_no_port_evenly_force_more_than_an_even_share() -> None:
    """Ten entries of 3 on four ports: two to a port leave two over. Pigeonholes and packing say 9, an even share 7.5."""
    found = least_busiest([(np.full(10, 3.0), 4)], 7.5, lambda: True)
    assert found == pytest.approx(9, rel=1e-3)


def test_two_sizes_are_packed_together() -> None:
    """Sixteen ports, 16 entries of 6 and 24 of 4 (an even share is 12): 6 + 6 and 4 + 4 + 4 fill ports, so 12 it is; with one entry of 6 more it is above."""
    sizes = np.r_[np.full(16, 6.0), np.full(24, 4.0)]
    assert least_busiest([(sizes, 16)], 12.0, lambda: True) == 12.0
    assert least_busiest([(np.r_[sizes, 6.0], 16)], sizes.sum() / 16 + 6 / 16, lambda: True) == pytest.approx(
        14, rel=1e-2
    )


def test_the_busiest_leaf_counts_and_a_stop_keeps_what_was_known() -> None:
    leaves = [(np.full(9, 2.0), 4), (np.full(10, 3.0), 4), (np.full(0, 1.0), 0)]
    assert least_busiest(leaves, 1.0, lambda: True) == pytest.approx(9, rel=1e-3)
    assert least_busiest(leaves, 1.0, lambda: False) == 1.0


# Dives of the reconstruction: what spans orders of magnitude comes back whole, and nothing is left behind in the program.


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


@pytest.mark.system("numeric")
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


# Bounds of broken trees against exact solvers that know nothing of levels: all ways of every pair, written down.


@pytest.mark.parametrize("tree", [one for one in TREES if one[0] == 3])
def test_a_core_whose_cable_lost_one_direction_is_no_leaf(tree: tuple) -> None:
    fabric = build_xgft(*tree)
    links = np.arange(len(fabric.links))
    shapes = {as_tree(keeping(fabric, links != lost)).shape for lost in np.flatnonzero(fabric.router_links())}
    assert shapes == {as_tree(fabric).shape}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TREES), st.integers(0, 10_000), st.integers(0, 4), st.integers(1, 7), st.booleans())
def test_bounds_never_pass_the_optimum_and_z_ar_is_exact(
    tree: tuple, seed: int, cables: int, flows: int, one_way: bool
) -> None:
    rng = np.random.default_rng(seed)
    fabric = without(build_xgft(*tree), cables, seed)
    if one_way:  # one direction of a cable alone
        between = np.flatnonzero(fabric.router_links())
        fabric = keeping(fabric, np.arange(len(fabric.links)) != rng.choice(between))
    n = len(fabric.endpoints)
    src, dst, size = rng.integers(0, n, flows), rng.integers(0, n, flows), rng.choice([1.0, 2.0, 3.5], flows)
    items = demands(fabric, src, dst, size)
    assume(items)
    spread = exact(fabric, items, one_port=False)
    try:
        found = compute_bounds(fabric, (src, dst, size))
    except BadInput:
        assume(False)  # no tree any more: a spine lost its cores
    if spread is None:
        assert found.z_ar == np.inf
        return
    assert found.exact
    assert found.z_ar == pytest.approx(spread, rel=1e-6)
    best = exact(fabric, items, one_port=True)
    assert best is not None and found.z_ar <= found.fixed * (1 + 1e-9) and found.fixed <= best * (1 + 1e-6)


def test_what_a_failed_cable_forces_is_in_the_bound() -> None:
    """A leaf with one of its two cables left sends all that it sends over it, where the intact tree would send half."""
    fabric = build_xgft(2, [3, 3], [1, 2])
    links = fabric.links
    spine = 3
    broken = keeping(fabric, ~(((links.src == 0) & (links.dst == spine)) | ((links.src == spine) & (links.dst == 0))))
    demand = np.array([0, 1, 2]), np.array([3, 4, 5]), np.ones(3)
    assert compute_bounds(fabric, demand).z_ar == 1.5
    found = optimise_routes(broken, demand, time_limit_s=0.5)
    assert found.z == pytest.approx(3) and found.z_ar == pytest.approx(3, rel=1e-6) and found.proven
    assert found.ar_gap == pytest.approx(0, abs=1e-6)


def test_a_missing_switch_counts() -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    links, spine = fabric.links, 5
    broken = keeping(fabric, (links.src != spine) & (links.dst != spine))
    found = compute_bounds(broken, load_traffic("bisection", 16, 1))
    assert found.z_ar == pytest.approx(4 / 3, rel=1e-6) and found.fixed == pytest.approx(2)


@pytest.mark.parametrize(
    ("sizes", "bound", "raised"),
    [
        ([4, 6, 10], 7.5, 8),
        ([4, 6, 10], 8.0, 8),
        ([4, 6, 10], 8 * (1 + 1e-9), 8),
        ([4.5, 6], 7.5, 7.5),
        ([3], np.inf, np.inf),
        ([], 0, 0),
        ([0, 0], 0, 0),
        ([2.0**60], 3, 3),
    ],
)
def test_whole_bytes_add_up_to_whole_loads(sizes: list, bound: float, raised: float) -> None:
    assert whole_loads(np.array(sizes, float), bound) == pytest.approx(raised, rel=1e-8)


def test_a_bound_without_time_still_holds() -> None:
    fabric = without(build_quartz1(), 31, 1)
    src, dst, size = load_traffic("bisection-shuffle", 3072, 1)
    near = src < 1536
    found = compute_bounds(fabric, (src[near], dst[near], size[near]), time_limit_s=0.0)
    assert not found.exact and 0 < found.z_ar <= found.fixed


def test_a_bound_that_is_stopped_still_holds() -> None:
    fabric, demand = without(build_xgft(3, [8, 6, 4], [1, 6, 6]), 6, 1), load_traffic("noisy-shuffle", 192, 1)
    asked: list[float] = []

    def watch(seconds: float, largest: float, moves: int) -> bool:
        asked.append(seconds)
        return False

    whole, stopped = compute_bounds(fabric, demand), compute_bounds(fabric, demand, watch=watch)
    assert whole.exact and not stopped.exact and asked and min(asked) >= 0
    assert 0 < stopped.z_ar <= whole.z_ar * (1 + 1e-6)


def test_ways_are_what_the_oracle_says() -> None:
    """The oracle itself: as many ways as the tree has, each from leaf to leaf."""
    fabric = build_xgft(3, [2, 2, 2], [1, 2, 2])
    leaf, links = fabric.endpoints.router, fabric.links
    found = ways(fabric, int(leaf[0]), int(leaf[-1]))
    assert len(found) == 4 and all(links.dst[a] == links.src[b] for way in found for a, b in pairwise(way))


# The time limit of a reconstruction, by a clock that ticks where it is read: it holds for all that is done, and says what is unknown for lack of time.


SMALL_FABRIC = build_xgft(3, [4, 4, 2], [1, 2, 2])

PORTS = ftree_tables(SMALL_FABRIC)

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
    return build_study(SMALL_FABRIC, PORTS, LocalText(folder / "t.csv"), 4, 4, 1, seed=2)


def found(
    known: Study, ticks: Ticks, limit_s: float, watch: Watch | None = None, noise: float | None = None
) -> Reconstruction:
    m = known.measured
    # The sizes are some bytes.
    options = Options(time_limit_s=limit_s, noise=noise, floor=0.0)
    return reconstruct_matrix(SMALL_FABRIC, PORTS, m.lanes, m.pairs, m.counters, options, watch, ticks)


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
    between = (SMALL_FABRIC.links.src < len(SMALL_FABRIC.routers)) & (
        SMALL_FABRIC.links.dst < len(SMALL_FABRIC.routers)
    )
    counted[np.flatnonzero(between)[np.argmax(counted[between].sum(axis=1))]] *= 10
    return known


@pytest.mark.system("numeric")
def test_counters_that_were_not_explained_in_time_are_not_said_to_contradict_the_routes(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the time limit ended before any traffic explained the counters") as error:
        found(contradicting(tmp_path), Ticks(), 10_000, noise=0.0)
    assert "--time-limit" in error.value.advice


@pytest.mark.system("numeric")
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
    silent = reconstruct_matrix(SMALL_FABRIC, PORTS, m.lanes, m.pairs, nothing, Options())
    assert not len(silent.pairs) and silent.estimated_error is None and silent.unknown
    sent_nothing = m.counters[0].copy()
    sent_nothing[SMALL_FABRIC.links.src >= len(SMALL_FABRIC.routers)] = 0
    lost = reconstruct_matrix(SMALL_FABRIC, PORTS, m.lanes, m.pairs, [sent_nothing], Options(noise=1.0))
    assert not len(lost.pairs) and lost.estimated_error == 1.0 and lost.residual == 1.0 and not lost.converged


def test_fewer_steps_are_a_poorer_answer_and_not_a_wrong_one(tmp_path: Path) -> None:
    known = irregular(tmp_path)
    m = known.measured
    posed = build_program(SMALL_FABRIC, PORTS, m.lanes, m.pairs, m.counters, Options())
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
