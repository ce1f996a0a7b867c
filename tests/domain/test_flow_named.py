"""Who may be named for what a job waits for: nobody without waiting, nobody who came later as the first, nobody who does not stand out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from domain.scenes import T0, beside, made, scenery, steps
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.explanation.flow import LEAST_PART, MOST_NAMED, Flow, name_jobs, slows_itself

OWN = 0


def flow(
    part: dict[int, float],
    *,
    waiting: float = 1.0,
    quiet: float = 0.02,
    moments: list[tuple[float, dict[int, float]]] | None = None,
) -> Flow:
    return Flow(waiting, quiet, 1.0, part, part.get(OWN, 0.0), 0.0, [60.0], 60, moments or [(waiting, part)])


@pytest.mark.parametrize(
    ("part", "before", "after", "told"),
    [
        ({1: 0.8, 2: 0.05}, [1, 2], [], [1]),
        ({1: 0.52, 2: 0.2}, [1, 2], [], [1]),
        ({1: 0.45, 2: 0.4, 3: 0.05}, [1, 2, 3], [], [1, 2]),
        ({1: 0.25, 2: 0.2, 3: 0.2, 4: 0.05}, [1, 2, 3, 4], [], [1, 2, 3]),
        ({1: 0.45, 2: 0.1}, [1, 2], [], []),
        ({1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2}, [1, 2, 3, 4], [], []),
        ({1: 0.9}, [], [1], []),
        ({1: 0.3, 2: 0.55}, [1], [2], [1, 2]),
        ({OWN: 0.5, 1: 0.45}, [1], [], []),
        ({}, [], [], []),
    ],
)
def test_who_stands_out_is_named(part: dict[int, float], before: list[int], after: list[int], told: list[int]) -> None:
    assert name_jobs(flow(part), OWN, before, after) == told


def test_who_stands_out_in_one_minute_alone_is_named_too() -> None:
    """Two culprits, one after the other: over all minutes the second hides the first."""
    early, late = {1: 0.8, 2: 0.0}, {1: 0.02, 2: 0.9}
    assert name_jobs(flow({1: 0.3, 2: 0.6}, moments=[(0.8, early), (1.5, late)]), OWN, [1], [2]) == [1, 2]
    # A minute in which the job hardly waits says nothing, and neither does a job that is of next to no account over all.
    assert name_jobs(flow({1: 0.3, 2: 0.6}, moments=[(0.3, early), (1.5, late)]), OWN, [2], [1]) == [2]
    assert name_jobs(flow({1: 0.05, 2: 0.8}, moments=[(0.8, early), (1.5, late)]), OWN, [2], [1]) == [2]


@pytest.mark.parametrize(("waiting", "quiet"), [(0.0, 0.0), (0.019, 0.0), (0.3, 0.7)])
def test_where_the_links_stall_no_more_than_usual_nobody_is_named(waiting: float, quiet: float) -> None:
    told = flow({1: 0.95, OWN: 0.9}, waiting=waiting, quiet=quiet)
    assert not told.carried and name_jobs(told, OWN, [1], []) == [] and not slows_itself(told)


def test_a_job_whose_own_traffic_is_half_slows_itself() -> None:
    assert slows_itself(flow({OWN: 0.5, 1: 0.3})) and not slows_itself(flow({OWN: 0.49, 1: 0.3}))


@given(
    st.dictionaries(st.integers(0, 12), st.floats(0, 1), max_size=12),
    st.sets(st.integers(1, 12)),
)
def test_every_name_stands_out_and_the_first_was_there_before(part: dict[int, float], later: set[int]) -> None:
    whole = sum(part.values())
    part = {job: share / max(whole, 1.0) for job, share in part.items()}
    before, after = [job for job in part if job != OWN and job not in later], [job for job in part if job in later]
    told = name_jobs(flow(part), OWN, before, after)
    assert len(told) <= MOST_NAMED and len(set(told)) == len(told) and OWN not in told
    if told:
        assert told[0] in before and min(part[job] for job in told) >= LEAST_PART
        assert sum(part.values()) - sum(part[job] for job in told) - part.get(OWN, 0.0) <= 0.85


@pytest.mark.parametrize(
    ("part", "told"),
    [
        # One that has half and leads; or several that have nearly all.
        ({1: 0.55, 2: 0.25}, [1]),
        ({1: 0.55, 2: 0.44}, [1, 2]),
        ({1: 0.55, 2: 0.3}, [1, 2]),
        ({1: 0.5, 2: 0.26}, []),
        ({1: 0.46, 2: 0.44, 3: 0.02}, [1, 2]),
        ({1: 0.4, 2: 0.3, 3: 0.02}, []),
        # Waiting grows faster than load: a job with 42 % of the waiting has two thirds of the load.
        ({1: 0.58, OWN: 0.42}, []),
        ({1: 0.65, OWN: 0.3}, [1]),
    ],
)
def test_where_the_sending_port_counts_less_is_said(part: dict[int, float], told: list[int]) -> None:
    assert name_jobs(replace(flow(part), several=False), OWN, [1, 2, 3], []) == told


@given(
    st.lists(st.floats(0.9, 1.1), min_size=1, max_size=3),
    st.floats(0.85, 1.0),
    st.lists(st.floats(0, 0.05), max_size=3),
    st.booleans(),
)
def test_all_that_cause_it_are_named_and_nobody_else(
    weights: list[float], whole: float, others: list[float], several: bool
) -> None:
    """One, two or three with about equal shares, beside jobs of little account."""
    planted = {1 + at: whole * weight / sum(weights) for at, weight in enumerate(weights)}
    rest = {10 + at: (1 - whole) * share / max(sum(others), 1e-9) for at, share in enumerate(others)}
    little = {job: min(share, 0.05) for job, share in rest.items()}
    part = planted | little
    told = name_jobs(replace(flow(part), several=several), OWN, list(part), [])
    assert told == sorted(planted, key=lambda job: -planted[job])
    # Waiting that nobody feels accuses nobody.
    assert name_jobs(replace(flow(part, waiting=0.019), several=several), OWN, list(part), []) == []


@given(st.floats(0.5, 0.75), st.floats(0, 0.25), st.booleans())
def test_a_fellow_victim_is_not_named_beside_the_one_that_leads(first: float, fellow: float, several: bool) -> None:
    part = {1: first, 2: min(fellow, first / 2)}
    assert name_jobs(replace(flow(part), several=several), OWN, [1, 2], []) == [1]


@given(st.lists(st.floats(0, 0.19), max_size=5), st.booleans())
def test_where_nobody_is_planted_nobody_is_named(shares: list[float], several: bool) -> None:
    part = dict(enumerate(shares, 1))
    assert name_jobs(replace(flow(part), several=several), OWN, list(part), []) == []


@pytest.mark.parametrize(
    ("part", "between", "told"),
    [
        ({1: 0.9}, {}, [1]),
        ({1: 0.55, 2: 0.44}, {2: 0.6, 3: 0.2}, [2]),
        ({1: 0.55, 2: 0.44}, {1: 0.5, 2: 0.4}, [1, 2]),
        ({1: 0.55, 2: 0.44}, {}, []),
        ({1: 0.55, 2: 0.44}, {3: 0.9}, []),
    ],
)
def test_of_several_on_the_way_to_the_file_system_those_are_named_that_are_in_the_way_of_other_traffic_too(
    part: dict[int, float], between: dict[int, float], told: list[int]
) -> None:
    found = replace(flow(part), several=False, to_file_system=True, between=between)
    assert name_jobs(found, OWN, [1, 2, 3], []) == told


def test_a_larger_part_that_is_not_named_is_explained() -> None:
    part = {1: 0.55, 2: 0.44}
    for between, said in (({2: 0.6}, True), ({1: 0.5, 2: 0.4}, False)):
        found = replace(
            flow(part), several=False, to_file_system=True, between=between, minutes_s=[T0 + 120.0], quiet_s=T0
        )
        told = made(steps(1.5, 20), replace(scenery(beside(1, T0 - 900), beside(2, T0 - 900)), flow=found))
        assert told["verdict"] == "named" and told["named"] == ("2" if said else "1"), told["title"]
        assert ("A job with a larger part was not in the way" in told["detail"]) == said
