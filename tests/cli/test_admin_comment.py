"""Our mark beside other tools' text in an admin comment: nothing of theirs is lost, whatever it holds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_slurm.admin_comment import MOST_BYTES, merge_mark, read_mark
from flitwatch_slurm.cluster import read_pending

JOB = {
    "job_id": 7, "job_state": ["PENDING"], "user_name": "u", "node_count": {"set": True, "number": 4}, "state_reason": "Resources",
    "deadline": 0, "name": "n", "partition": "batch", "comment": "", "excluded_nodes": "", "prefer": "",
}  # fmt: skip


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200), st.text(max_size=400))
def test_what_others_wrote_stays_through_every_change(theirs: str, why: str) -> None:
    first = merge_mark(theirs, "delay", 1_700_000_000, why)
    assert first is not None and first.startswith(theirs) and read_mark(first) == ("delay", 1_700_000_000)
    appended = first + "jobperf: cpu=98%"
    second = merge_mark(appended, "released", 1_700_000_100, why)
    assert second is not None and read_mark(second) == ("released", 1_700_000_100)
    assert second.startswith(theirs) and second.endswith("jobperf: cpu=98%")
    assert second.count("[flitwatch ") == theirs.count("[flitwatch ") + 1
    assert merge_mark(second, "released", 1_700_000_100, why) == second


def test_a_long_comment_loses_the_reason_first_and_then_the_advice() -> None:
    assert (
        merge_mark("x" * 980, "delay", 1_700_000_000, "why " * 50) == "x" * 980 + " [flitwatch delay since=1700000000]"
    )
    assert merge_mark("x" * MOST_BYTES, "delay", 1_700_000_000, "why") is None
    assert merge_mark("a\0b", "delay", 1, "why") is None


def test_an_older_versions_mark_is_read_and_stays() -> None:
    old = "flitwatch delay since=1700000000 5.00 stall cycles per flit"
    assert read_mark(old) == ("delay", 1_700_000_000)
    new = merge_mark(old, "released", 1_700_000_100, "advice changed")
    assert new == f"{old} [flitwatch released since=1700000100 advice changed]"
    assert read_mark(new) == ("released", 1_700_000_100)


@pytest.mark.parametrize("theirs", [b'{"xdmod":1}', b"caf\xe9 \xff\xfe", "µ≥".encode()])
def test_bytes_come_back_as_they_were(theirs: bytes) -> None:
    """Slurm 22.05 writes what is no UTF-8 as it is; `scontrol` gets the same bytes again."""
    told = json.dumps({"jobs": [{**JOB, "admin_comment": "HERE"}]}).encode()
    (job,) = read_pending(told.replace(b"HERE", theirs.replace(b'"', b'\\"')))
    made = merge_mark(job.admin_comment, "delay", 1_700_000_000, "why")
    assert (
        made is not None
        and made.encode(errors="surrogateescape") == theirs + b" [flitwatch delay since=1700000000 why]"
    )
