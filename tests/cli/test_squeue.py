"""Pending jobs as `squeue --json` of several versions of Slurm tells them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flitwatch_domain.errors import Unavailable
from flitwatch_slurm.cluster import read_pending

OLD: dict[str, Any] = {
    "job_id": 7,
    "job_state": "PENDING",
    "user_name": "u",
    "node_count": 4,
    "state_reason": "Resources",
    "deadline": 0,
    "name": "n",
    "partition": "batch",
    "admin_comment": "flitwatch delay since=1700000000",
    "comment": "x flitwatch_app=milc,flitwatch=off",
    "excluded_nodes": "",
    "prefer": "",
}
NEW = OLD | {
    "job_state": ["PENDING", "REQUEUED"],
    "node_count": {"set": True, "infinite": False, "number": 4},
    "comment": {"job": "flitwatch_app=amg"},
    "deadline": {"set": False, "infinite": False, "number": 0},
    "admin_comment": "",
}


def test_old_and_new_forms_tell_the_same_things() -> None:
    ended = OLD | {"job_id": 8, "job_state": "COMPLETED"}
    old, new = read_pending(json.dumps({"jobs": [OLD, ended, NEW]}))
    assert (old.job_id, old.nodes, old.deadline_s, old.mark, old.since_s) == ("7", 4, None, "delay", 1_700_000_000)
    assert (old.application, old.off, new.application, new.off, new.mark) == ("milc", True, "amg", False, None)


@pytest.mark.parametrize(
    "told",
    [
        "",
        "error: none",
        "[]",
        "{}",
        '{"jobs": 3}',
        '{"jobs": [3]}',
        json.dumps({"jobs": [{"job_state": "PENDING"}]}),
        json.dumps({"jobs": [OLD | {"node_count": "many"}]}),
    ],
)
def test_what_is_no_list_of_jobs_says_what_it_needs(told: str) -> None:
    with pytest.raises(Unavailable, match=r"Slurm 21\.08"):
        read_pending(told)


def test_arrays_and_begin_times_are_read_in_both_forms() -> None:
    old = OLD | {"array_job_id": 50, "eligible_time": 1_700_000_000}
    unset = {"set": False, "infinite": False, "number": 0}
    new = NEW | {
        "array_job_id": unset | {"set": True},
        "het_job_id": unset,
        "eligible_time": {"set": True, "number": 5},
    }
    part = OLD | {"het_job_id": 12}
    found = read_pending(json.dumps({"jobs": [old, new, part]}))
    assert [(job.of_several, job.eligible_s) for job in found] == [(True, 1_700_000_000), (False, 5), (True, 0)]


def test_a_mark_that_is_no_time_is_none() -> None:
    (job,) = read_pending(json.dumps({"jobs": [OLD | {"admin_comment": f"flitwatch delay since={'1' * 5000}"}]}))
    assert job.mark is None and job.since_s == 0
