"""Job ids, runs and units."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job, kept_job_id, split_job_id
from flitwatch_domain.runs import RunStep
from flitwatch_domain.units import infiniband_bandwidth_bps


@pytest.mark.parametrize(
    ("job_id", "task", "offset"),
    [("42", None, None), ("3_4", 4, None), ("10+1", None, 1), ("3_[5-9%2]", None, None), ("7_2+3", 2, 3)],
)
def test_job_ids(job_id: str, task: int | None, offset: int | None) -> None:
    job = Job("c", job_id, "RUNNING")
    assert (job.array_task, job.het_offset) == (task, offset)


@pytest.mark.parametrize("text", ["", "x", "3_", "3+", "-1", "3_4_5", "4.batch", " 4"])
def test_what_is_no_job_id(text: str) -> None:
    with pytest.raises(BadInput):
        split_job_id(text)


@pytest.mark.parametrize(
    ("text", "kept", "server"),
    [
        ("13.srv", "13", "srv"),
        ("13.pbs01.example.org", "13", "pbs01"),
        ("7[3].srv", "7_3", "srv"),
        ("7[04].srv", "7_4", "srv"),
        # An array as a whole is no job that is kept.
        ("7[].srv", "7[].srv", "srv"),
        ("13", "13", None),
        ("3_4", "3_4", None),
        ("10+1", "10+1", None),
        ("3_[5-9%2]", "3_[5-9%2]", None),
        ("x.srv", "x.srv", None),
        ("13.", "13.", None),
    ],
)
def test_a_job_id_of_pbs_means_the_number_that_is_kept(text: str, kept: str, server: str | None) -> None:
    assert kept_job_id(text) == (kept, server)


def test_a_step_takes_as_long_as_its_slowest_rank() -> None:
    assert RunStep(0, np.array([1_500_000_000, 2_000_000_000])).time_s == 2.0


@pytest.mark.parametrize(
    ("text", "gbps"),
    [("4xHDR", 200), ("2xHDR", 100), ("4xEDR", 100), ("4xQDR", 32), ("4xFDR10", 40), ("1xSDR", 2), ("4xNDR", 400)],
)
def test_infiniband_rates(text: str, gbps: float) -> None:
    assert infiniband_bandwidth_bps(text) == pytest.approx(gbps * 1e9)


@pytest.mark.parametrize("text", ["", "4x", "HDR", "4xABC", "3xHDR", "4 x HDR"])
def test_unknown_rates_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        infiniband_bandwidth_bps(text)
