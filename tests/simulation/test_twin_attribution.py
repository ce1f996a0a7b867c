"""Attribution by flow against planted traffic: the twin routes it pair by pair, the attribution knows network cards and sums of links alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from support.planted_flows import BY_PORT, FABRIC, FLIT, MACHINE, ROUTER, Job, by_class, four_jobs, moment

from flitwatch_domain.attribution import Attribution, Places, attribute_waiting
from flitwatch_domain.link_shares import DragonflyRoutes, JobTraffic

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
