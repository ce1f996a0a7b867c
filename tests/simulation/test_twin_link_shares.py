"""Estimated shares of jobs on links against the twin's truth, the traffic of each link by job, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from support.planted_flows import BY_PORT, FABRIC, FLIT, MACHINE, ROUTER, Job, by_class, four_jobs, moment

from flitwatch_domain.attribution import Attribution, Places, attribute_waiting
from flitwatch_domain.generators import build_dragonfly, build_torus, build_xgft
from flitwatch_domain.link_shares import DragonflyRoutes, JobTraffic, Shares, compute_shares
from flitwatch_domain.routes import routes_of
from flitwatch_domain.tree_routes import TreeRoutes
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.paths import DragonflyPaths
from flitwatch_twin.spec import load_spec

WINDOW_S = 60

HOTTEST = 20


@dataclass
class Watched:
    """A minute of the twin: what each link carried, of whom (truth), its stalls, and what the network cards counted of each job."""

    cluster: Cluster
    carried: NDArray[np.float64]
    stalls: NDArray[np.float64]
    truth: dict[int, NDArray[np.float64]]
    traffic: dict[int, JobTraffic]

    def hottest(self) -> NDArray[np.int64]:
        between = np.flatnonzero(self.cluster.fabric.router_links())
        ratio = self.stalls[between] / np.maximum(self.carried[between], 1.0)
        return between[np.argsort(-ratio, kind="stable")[:HOTTEST]]

    def true_shares(self, links: NDArray[np.int64]) -> NDArray[np.float64]:
        """(links, jobs)"""
        of = np.stack([self.truth.get(job, np.zeros(len(self.carried)))[links] for job in self.traffic], axis=1)
        return of / np.maximum(self.carried[links], 1.0)[:, None]

    def estimated(self, links: NDArray[np.int64]) -> Shares:
        return compute_shares(DragonflyRoutes(self.cluster.fabric), list(self.traffic.values()), links, self.carried)


def watch(scenario: str, seed: int, from_s: int) -> Watched:
    cluster = Cluster(load_spec(scenario), seed)
    fabric = cluster.fabric
    for _ in range(from_s):
        cluster.advance()
    paths = DragonflyPaths(fabric, cluster.machine)
    kept: dict[int, tuple] = {}
    carried, stalls = np.zeros(len(fabric.links)), np.zeros(len(fabric.links))
    truth: dict[int, NDArray[np.float64]] = {}
    nodes: dict[int, NDArray[np.int64]] = {}
    counted: dict[int, NDArray[np.float64]] = {}
    for _ in range(WINDOW_S):
        before = cluster.counters.nic[3:5].copy()
        second = cluster.advance()
        owner = {pattern: number for number, job in cluster.running.items() for _, pattern in job.patterns}
        moved = cluster.counters.nic[3:5] - before
        for number, job in cluster.running.items():
            held = nodes.setdefault(number, cluster.machine.node_endpoint[job.allocation.nodes].astype(np.int64))
            counted[number] = counted.get(number, 0.0) + moved[:, held]
        carried += second.state.link_bytes
        stalls += second.state.link_wait * second.state.link_bytes
        for pattern, rate, taken in zip(second.flows.patterns, second.flows.rate, second.state.accepted, strict=True):
            if id(pattern) not in kept:
                kept[id(pattern)] = (
                    pattern,
                    paths.loads(pattern.src, pattern.dst, pattern.share, fabric.endpoints.router),
                )
            links, unit = kept[id(pattern)][1]
            truth.setdefault(owner[pattern], np.zeros(len(fabric.links)))[links] += unit * (rate * taken)
    router = fabric.endpoints.router.astype(np.int64)
    traffic = {number: JobTraffic(router[nodes[number]], *counted[number]) for number in nodes}
    return Watched(cluster, carried, stalls, truth, traffic)


#: Mean error of shares of a tenth or more: where somebody congests the machine, and where nobody does.
INCIDENT_ERROR, QUIET_ERROR = 0.06, 0.2


def check(seen: Watched) -> tuple[float, float, float]:
    """Over the hottest links: how many are known; mean error of large shares; how often the largest user is the true one."""
    links = seen.hottest()
    estimate, true = seen.estimated(links).share, seen.true_shares(links)
    said = np.isfinite(estimate).all(axis=1)
    estimate, true = estimate[said], true[said]
    large = (true >= 0.1) | (estimate >= 0.1)
    same = (estimate.argmax(axis=1) == true.argmax(axis=1)).mean()
    return float(said.mean()), float(np.abs(estimate - true)[large].mean()), float(same)


@pytest.mark.parametrize(("scenario", "seed", "from_s"), [("demo", 1, 100), ("demo", 7, 90), ("small", 3, 50)])
def test_an_incidents_hottest_links_have_the_shares_of_the_twin(scenario: str, seed: int, from_s: int) -> None:
    share, error, same = check(watch(scenario, seed, from_s))
    assert share >= 0.9 and error <= INCIDENT_ERROR and same == 1


@pytest.mark.system("numeric")
def test_without_an_incident_shares_are_rougher_and_the_largest_user_is_mostly_right() -> None:
    """From second 400 of the demo, when the planted job is over."""
    right = links = 0.0
    for seed in (3, 4, 5, 6):
        share, error, same = check(watch("demo", seed, 400))
        assert share >= 0.25 and error <= QUIET_ERROR, seed
        right, links = right + same * share, links + share
    assert right >= 0.75 * links


def test_nobody_is_given_what_no_known_job_sent() -> None:
    """The aggressor's job is unknown: links that it fills are not given to the jobs alongside it."""
    seen = watch("demo", 1, 100)
    links = seen.hottest()
    culprit = max(seen.truth, key=lambda job: seen.truth[job][links].sum())
    filled = links[seen.truth[culprit][links] >= 0.7 * seen.carried[links]]
    assert len(filled) >= 5
    del seen.traffic[culprit]
    found = compute_shares(DragonflyRoutes(seen.cluster.fabric), list(seen.traffic.values()), filled, seen.carried)
    assert not (found.share >= 0.5).any()


def test_loads_are_conserved_on_the_way() -> None:
    """What must cross between groups crosses once, and what takes a third group twice."""
    fabric = build_dragonfly(4, blue_routers=12)
    routes, routers = DragonflyRoutes(fabric), np.array([0, 100, 200, 300])
    job = JobTraffic(routers, np.full(4, 4e9), np.full(4, 4e9))
    between = np.flatnonzero(fabric.router_links())
    group = fabric.routers.group
    blue = between[group[fabric.links.src[between]] != group[fabric.links.dst[between]]]
    must = routes.crossing([job])
    assert must == pytest.approx(16e9 * 3 / 4)
    assert routes.loads([job], blue, 0.0).sum() == pytest.approx(must)
    assert routes.loads([job], blue, 0.4).sum() == pytest.approx(1.4 * must)
    # Loads of two moments are those of each, with its own detour; the router of an endpoint that is not counted may be unknown.
    partial = JobTraffic(np.append(routers, 10**6), np.append(job.sent, np.nan), np.append(job.received, np.nan))
    carried = np.where(np.isin(np.arange(routes.links), blue), 1.4 * must / len(blue), np.nan)
    first, second = routes.loads_as_carried([([job, partial], None), ([job], carried)], blue)
    np.testing.assert_allclose(first[:, 0], routes.loads([job], blue, 0.0)[:, 0])
    np.testing.assert_allclose(first[:, 1], 1.25 * first[:, 0])
    np.testing.assert_allclose(second[:, 0], routes.loads([job], blue, 0.4)[:, 0])
    # Whatever enters a router leaves it, at both ends of the job as well: each sends what it receives.
    load = routes.loads([job], between, 0.4)[:, 0]
    into = np.bincount(fabric.links.dst[between], load, len(group))
    out = np.bincount(fabric.links.src[between], load, len(group))
    np.testing.assert_allclose(into, out, rtol=1e-9, atol=1)
    assert (into[routers] >= 4e9 * 3 / 4 * (1 - 1e-9)).all()


def test_a_machine_without_known_routes_has_no_estimate() -> None:
    assert "neither a dragonfly nor a tree" in (routes_of(build_torus([4, 4])).reason or "")
    for fabric, kind in (
        (build_dragonfly(3, blue_routers=12), DragonflyRoutes),
        (build_xgft(2, [4, 4], [1, 2]), TreeRoutes),
    ):
        routes = routes_of(fabric)
        assert routes.reason is None and isinstance(routes, kind) and routes.known_by == "assumed"


def test_a_job_whose_cards_are_not_counted_has_no_share_and_the_rest_is_not_given_to_others() -> None:
    fabric = build_dragonfly(3, blue_routers=12)
    routes = DragonflyRoutes(fabric)
    seen = JobTraffic(np.array([0, 50]), np.full(2, 1e9), np.full(2, 1e9))
    unseen = JobTraffic(np.array([1, 51]), np.full(2, np.nan), np.full(2, np.nan))
    links = np.flatnonzero(fabric.router_links())
    carried = np.full(len(fabric.links), np.nan)
    carried[links] = routes.loads([seen], links, 0.0)[:, 0] * 1.5
    used = links[carried[links] > 0]
    found = compute_shares(routes, [seen, unseen], used, carried)
    assert np.isnan(found.share[:, 1]).all()
    np.testing.assert_allclose(found.share[:, 0], 1 / 1.5)
    assert np.isnan(compute_shares(routes, [unseen], used, carried).share).all()


# Attribution by flow against planted traffic: the twin routes it pair by pair, the attribution knows network cards and sums of links alone.


ROUTES = DragonflyRoutes(FABRIC)


def answer(
    jobs: Sequence[Job],
    quiet: Sequence[float],
    slow: Sequence[Sequence[float]],
    places: Places = BY_PORT,
    cards: NDArray[np.bool_] | None = None,
) -> Attribution:
    """The attribution of what the first job waits for."""
    own = jobs[0]
    alike = JobTraffic(ROUTER[own.ends], np.ones(len(own.ends)), np.ones(len(own.ends)))
    weight = places.sums(ROUTES.loads([alike], places.links, 0.0))[:, 0]
    moments = [moment(jobs, rates, places, cards) for rates in (quiet, *slow)]
    return attribute_waiting(ROUTES, places, weight / weight.sum(), moments[1:], moments[0], 0, FLIT)


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    return four_jobs()


@pytest.mark.parametrize("places", [BY_PORT, by_class()], ids=["ports", "routers by link class"])
def test_the_job_that_fills_the_links_has_most_of_the_waiting(jobs: list[Job], places: Places) -> None:
    found = answer(jobs, [1, 0, 1, 0], [[1, 1, 1, 1], [0.8, 1, 1, 1]], places)
    assert found.reason is None and found.waiting > 5 * found.quiet and found.counted == pytest.approx(1)
    assert found.part[1] >= 0.7 and found.part[[0, 2, 3]].max() <= 0.1
    assert found.part.sum() <= 1 + 1e-9 and found.moments.shape == (2, 4)


def test_a_job_that_starts_inside_the_congestion_waits_for_the_same_job(jobs: list[Job]) -> None:
    found = answer(jobs, [0, 0, 1, 0], [[1, 1, 1, 1]], by_class())
    assert found.part[1] >= 0.6 and found.part[0] <= 0.1


def test_who_sends_as_it_did_when_it_was_quiet_has_no_part(jobs: list[Job]) -> None:
    found = answer(jobs, [1, 0, 1, 0], [[1, 1, 1, 0]], by_class())
    assert found.part[2] <= 0.05 and found.part[3] == 0


def test_a_burst_of_a_job_that_always_ran_is_its_part(jobs: list[Job]) -> None:
    found = answer(jobs, [1, 0.1, 1, 0], [[1, 1, 1, 1]], by_class())
    assert found.part[1] >= 0.7


def test_two_jobs_share_what_they_both_add(jobs: list[Job]) -> None:
    order = np.random.default_rng(3).permutation(MACHINE.nodes)
    same = [jobs[0], Job(np.sort(order[:160]), 8e9, seed=2), Job(np.sort(order[160:320]), 8e9, seed=3)]
    both = answer(same, [1, 0, 0], [[1, 1, 1]], by_class()).part
    assert both[1:].sum() >= 0.8 and abs(both[1] - both[2]) <= 0.15
    assert answer(same, [1, 0, 1], [[1, 1, 1]], by_class()).part[1] > both[1]


def test_a_job_alone_that_sends_more_waits_for_itself(jobs: list[Job]) -> None:
    found = answer(jobs, [1, 0, 1, 0], [[8, 0, 1, 0]], by_class())
    assert found.part[0] >= 0.7 and found.part[1:].max() <= 0.1


def test_where_nothing_changes_nobody_waits(jobs: list[Job]) -> None:
    found = answer(jobs, [1, 0.2, 1, 1], [[1, 0.2, 1, 1]], by_class())
    assert found.waiting == 0 and not found.part.any()


@pytest.mark.parametrize("counted", [0.9, 0.65])
def test_some_network_cards_without_counters_change_nothing(jobs: list[Job], counted: float) -> None:
    cards = np.random.default_rng(4).random(len(ROUTER)) < counted
    found = answer(jobs, [1, 0, 1, 0], [[1, 1, 1, 1]], by_class(), cards)
    assert found.part[1] >= 0.65 and found.part[[0, 2, 3]].max() <= 0.1


def test_without_the_culprits_cards_nobody_else_is_given_its_part(jobs: list[Job]) -> None:
    cards = np.ones(len(ROUTER), bool)
    cards[jobs[1].ends] = False
    found = answer(jobs, [1, 0, 1, 0], [[1, 1, 1, 1]], by_class(), cards)
    assert found.reason is not None and "does not explain" in found.reason and not found.part.any()


def test_parts_are_shares_of_whatever_was_counted(jobs: list[Job]) -> None:
    """Any mixture: no part is negative, and all of them come to one at most."""
    rng = np.random.default_rng(11)
    for _ in range(10):
        quiet, slow = rng.random((2, 4)) * (rng.random((2, 4)) < 0.7) * 1.5
        quiet[0], slow[0] = 1, max(slow[0], 0.2)
        found = answer(jobs, quiet.tolist(), [slow.tolist()], by_class())
        assert (found.part >= 0).all() and found.part.sum() <= 1 + 1e-9
        assert np.isfinite([found.waiting, found.quiet]).all()
