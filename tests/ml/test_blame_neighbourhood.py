"""Who was beside a run, and by how much, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flitwatch_domain.neighbourhood import (
    Jobs,
    Windows,
    compute_neighbourhood,
    large_job_nodes,
    measure_circumstances,
    nodes_near,
)


def _jobs(*rows: tuple[int, float, float, float, list[float]]) -> Jobs:
    name, begin, end, nodes, groups = zip(*rows, strict=True)
    return Jobs(np.array(name), np.array(begin), np.array(end), np.array(nodes), np.array(groups))


def test_circumstances_of_a_run_by_hand() -> None:
    jobs = _jobs(
        (0, 0.0, 10.0, 4.0, [3.0, 1.0, 0.0]), (1, 10.0, 20.0, 2.0, [0, 0, 2.0]), (2, -5.0, 0.0, 2.0, [1, 1, 0]), (-1, 9.0, math.inf, 1.0, [0, 0, 0])
    )  # fmt: skip
    windows = Windows(np.array([0.0, 0.0, 0.0]), np.array([10.0, 10.0, 10.1]), np.array([0, 3, -1]))
    found = measure_circumstances(windows, jobs)
    assert found[0].tolist() == [2, 0.75, 2] and found[1, 2] == 2 and found[2, 2] == 3
    assert np.isnan(found[1:, :2]).all()  # a run whose place is not known
    assert nodes_near(np.array([[2.0, 4, 0]]), np.array([3.0, 1, 0])).tolist() == [2.5]
    assert nodes_near(np.array([[2.0, 4, 0]]), np.zeros(3)).tolist() == [0]


def test_overlap_is_a_union_of_large_jobs_and_exposure_a_sum_of_all() -> None:
    nowhere = [0.0]
    jobs = _jobs(
        (0, 0.0, 4.0, 8.0, nowhere), (0, 2.0, 6.0, 8.0, nowhere), (0, 9.0, 99.0, 7.0, nowhere), (1, -9.0, 0.0, 8.0, nowhere), (1, 10.0, 12.0, 8.0, nowhere),
        (2, -3.0, math.inf, 8.0, nowhere), (-1, 0.0, 10.0, 8.0, nowhere), (3, 0.0, 10.0, 8.0, nowhere),
    )  # fmt: skip
    found = compute_neighbourhood(Windows(np.array([0.0]), np.array([10.0]), np.array([7])), jobs, 4, 8)
    assert found.overlap[0].tolist() == pytest.approx([0.6, 0, 1, 0])
    assert found.exposure[0].tolist() == pytest.approx([0.4 * 8 + 0.4 * 8 + 0.1 * 7, 0, 8, 0])


@pytest.mark.parametrize(
    ("machine", "nodes"), [(None, 129), (32, 2), (64, 2), (96, 3), (4096, 128), (4128, 129), (9688, 129), (1, 2)]
)
def test_a_large_job_has_more_than_128_nodes_or_a_share_of_a_small_machine(machine: int | None, nodes: int) -> None:
    assert large_job_nodes(machine) == nodes
