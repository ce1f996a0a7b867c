"""The definition of overlap and exposure, against a plain implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput
from flitwatch_domain.neighbourhood import (
    LARGE_JOB_NODES,
    PAPER,
    THROUGHOUT,
    Jobs,
    Windows,
    compute_neighbourhood,
    is_present,
    large_job_nodes,
    measure_circumstances,
)


def jobs(*rows: tuple[int, float, float, float, list[float]]) -> Jobs:
    name, begin, end, nodes, groups = zip(*rows, strict=True)
    return Jobs(np.array(name), *(np.array(column, float) for column in (begin, end, nodes, groups)))


def met(table: Jobs, names: int, least_nodes: int = 129, own: int = 0):
    return compute_neighbourhood(
        Windows(np.array([0.0]), np.array([100.0]), np.array([own])), table, names, least_nodes
    )


def test_two_jobs_one_after_the_other_cover_the_run_and_neither_does_alone() -> None:
    own = (-1, 0.0, 100.0, 64.0, [64.0, 0.0])
    found = met(jobs(own, (0, -50, 60, 200, [0, 200]), (0, 50, np.inf, 200, [0, 200]), (1, 0, 60, 200, [0, 200])), 2)
    assert np.allclose(found.overlap, [[1.0, 0.6]])
    assert is_present(found.overlap, "throughout").tolist() == [[True, False]]
    assert is_present(found.overlap, "any").all()


def test_small_jobs_are_no_presence_but_exposure_and_the_papers_jobs_are_larger_than_128() -> None:
    own = (-1, 0.0, 100.0, 64.0, [64.0, 0.0])
    found = met(jobs(own, (0, 0, 50, 128, [100, 28]), (1, 0, 50, 129, [0, 129])), 2, PAPER.least_nodes)
    assert found.overlap.tolist() == [[0.0, 0.5]]
    assert found.exposure.tolist() == [[50.0, 0.0]]  # half of the run x the nodes in the run's group


def test_exposure_counts_nodes_by_the_runs_share_of_each_group() -> None:
    own = (-1, 0.0, 100.0, 4.0, [1.0, 3.0])
    assert met(jobs(own, (0, 0, 100, 30, [20, 10])), 1).exposure.tolist() == [[20 / 4 + 10 * 3 / 4]]


def test_a_run_on_one_node_has_a_place() -> None:
    own = (-1, 0.0, 100.0, 1.0, [1.0, 0.0])
    assert met(jobs(own, (0, 0, 100, 30, [20, 10])), 1).exposure.tolist() == [[20.0]]


def test_without_any_place_all_nodes_count_and_the_own_job_never_does() -> None:
    table = jobs((0, 0.0, 100.0, 64.0, [0.0]), (0, 0, 50, 10, [0]), (-1, 0, 100, 500, [0]))
    assert met(table, 1).exposure.tolist() == [[5.0]]
    assert met(table, 1, own=-1).exposure.tolist() == [[69.0]]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-20, 120), st.integers(1, 60), st.integers(100, 160)), max_size=12
    )
)
def test_overlap_is_the_share_of_seconds_with_a_large_job(rows) -> None:
    table = jobs((-1, 0.0, 100.0, 64.0, [1.0]), *((n, b, b + d, size, [size]) for n, b, d, size in rows))
    seconds = np.zeros((3, 100), bool)
    for name, begin, length, size in rows:
        if size >= LARGE_JOB_NODES:
            seconds[name, max(begin, 0) : max(begin + length, 0)] = True
    assert np.allclose(met(table, 3).overlap[0], seconds.mean(1))


def test_large_is_larger_than_128_nodes_or_a_share_of_a_small_machine() -> None:
    assert [large_job_nodes(n) for n in (None, 9688, 4128, 640, 10)] == [129, 129, 129, 20, 2]


def test_another_rule_is_refused() -> None:
    with pytest.raises(BadInput, match="throughout"):
        is_present(np.ones((1, 1)), "often")


def test_a_run_at_any_time_is_as_one_that_begins_at_nought() -> None:
    """Every second of every run counted one by one, with jobs that touch its ends, of several names at once."""
    rng = np.random.default_rng(4)
    for begin in (0.0, 1000.0, 1_790_000_000.0):
        rows = [(-1, begin - 50, begin + 250, 64.0, [48.0, 16.0, 0.0])]
        for _ in range(30):
            at, size = begin + float(rng.integers(-120, 240)), float(rng.integers(100, 160))
            spread = rng.multinomial(int(size), [0.5, 0.3, 0.2]).astype(float)
            rows.append((int(rng.integers(-1, 4)), at, at + float(rng.integers(1, 160)), size, spread.tolist()))
        rows += [(0, begin - 40, begin, 200.0, [200.0, 0, 0]), (1, begin + 200, begin + 300, 200.0, [200.0, 0, 0])]
        table = jobs(*rows)
        windows = Windows(np.array([begin, begin + 50]), np.array([begin + 200, begin + 90]), np.array([0, -1]))
        found = compute_neighbourhood(windows, table, 4, 129)
        for run, (first, last) in enumerate(((begin, begin + 200), (begin + 50, begin + 90))):
            seconds = np.arange(first, last)
            exposure, covered = np.zeros(4), np.zeros((4, len(seconds)), bool)
            share = np.array([0.75, 0.25, 0.0]) if run == 0 else np.zeros(3)
            for number, (name, start, end, size, spread) in enumerate(rows):
                during = (seconds >= start) & (seconds < end)
                if name < 0 or (run == 0 and number == 0):
                    continue
                exposure[name] += during.mean() * float(np.array(spread) @ share)
                covered[name] |= during & (size >= 129)
            assert np.allclose(found.exposure[run], exposure) and np.allclose(found.overlap[run], covered.mean(1))
        counts = [sum(start < last and end > first for _, start, end, _, _ in rows) for first, last in ((begin, begin + 200), (begin + 50, begin + 90))]  # fmt: skip
        assert np.array_equal(
            measure_circumstances(windows, table), [[2, 0.75, counts[0]], [np.nan, np.nan, counts[1]]], True
        )


def test_a_run_on_one_node_lies_in_one_group_also_where_it_is_the_first_of_the_jobs() -> None:
    table = jobs((-1, 0, 100, 1, [1, 0]), (-1, 0, 100, 2, [1, 1]))
    windows = Windows(np.zeros(2), np.full(2, 100.0), np.array([0, 1]))
    assert measure_circumstances(windows, table).tolist() == [[1, 1, 2], [2, 0.5, 2]]


def test_throughout_is_all_but_a_thousandth_of_a_run_and_any_is_any_part_of_it() -> None:
    overlap = np.array([[0.0, 1e-9, THROUGHOUT - 1e-9, THROUGHOUT, 1.0]])
    assert is_present(overlap, "throughout").tolist() == [[False, False, False, True, True]]
    assert is_present(overlap, "any").tolist() == [[False, True, True, True, True]]
