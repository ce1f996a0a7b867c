"""The incident of a machine: the most blamed job, its victims, its start, and the text if no job is named."""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from flitwatch_domain.explanation.incident import find_incident
from flitwatch_domain.mails import GAP, INKS, ROW, WIDTH, describe_rows, draw_timeline, list_rows

AT = datetime(2026, 9, 21, 14, 0, tzinfo=UTC)

NOW_S = (AT + timedelta(minutes=30)).timestamp()


def minutes(number: float) -> datetime:
    return AT + timedelta(minutes=number)


def link(number: int, after: float | None) -> dict[str, Any]:
    return {"link": number, "stall_ratio_after": after}


def slow(
    job: str,
    named: str | None,
    nodes: int | None = 4,
    factor: float = 1.5,
    since: float = 0,
    until: float | None = None,
    links: tuple[dict[str, Any], ...] = (),
    **more: Any,
) -> Any:
    """The explanation of a job that is slow, since so many minutes after AT."""
    candidates = [
        {"job_id": name, "named": name == named, "nodes": 20, "change": "started", "part": None}
        for name in ("90", "91", "92")
    ]
    return {
        "job_pk": int(job), "job_id": job, "user": "ann", "account": None, "name": "app", "nodes": nodes, "state": "RUNNING", "simulated": True,
        "verdict": "cannot tell" if named is None else "named", "reasons": [] if named else [f"reason {job}"], "named": named, "end": None,
        "slowdown": {"factor": factor, "lost_s": 60.0, "since": minutes(since), "until": None if until is None else minutes(until)},
        "links": list(links), "candidates": candidates, "remedies": [{"kind": "hold", "job_id": job}], **more,
    }  # fmt: skip


def quiet(verdict: str = "not slow") -> Any:
    return {"slowdown": None, "verdict": verdict, "named": None, "reasons": [], "links": [], "remedies": []}


def test_the_job_that_costs_most_nodes_in_all_is_the_incident() -> None:
    """Two jobs lose 3 nodes each by 91, one loses 4 by 90: 91, whoever comes first."""
    explanations = [
        slow("1", "90", 8, 1.5, since=5),
        slow("2", "91", 6, 1.5, since=7, links=(link(1, 2.0), link(2, 0.5))),
        slow("3", "91", 3, 2.0, since=6, links=(link(1, 3.0), link(3, None))),
        slow("4", None, 100),
        slow("5", "91", 200, until=9),
        quiet(),
        quiet("cannot tell"),
    ]
    for order in (explanations, explanations[::-1]):
        found = find_incident("f", order, 9, NOW_S)
        assert (found["verdict"], found["aggressor"]["job_id"], found["reasons"]) == ("incident", "91", [])
        assert [one["job_id"] for one in found["victims"]] == ["2", "3"]
        assert [one["job_id"] for one in found["others"]] == ["4", "1"]
        assert (found["since"], found["until"]) == (minutes(6), None)
        assert [(one["link"], one["stall_ratio_after"]) for one in found["links"]] == [(1, 3.0), (2, 0.5), (3, None)]
        assert found["remedies"] == [{"kind": "hold", "job_id": "2"}]
        assert found["title"] == "Job 91 has been slowing 2 jobs since 14:06:00 UTC"
    assert found["judged"] == {"running": 9, "slow": 4, "not_slow": 2, "unknown": 3}, "job 5 recovered"
    assert found["as_of"] == minutes(30)
    assert found["detail"] == (
        "It started on 20 nodes. Job 2 is 50 % slower, job 3 is 2.0x slower. Based on traffic and timing; not proof of cause."
    )


def test_a_job_whose_nodes_nobody_knows_counts_as_one() -> None:
    explanations = [slow("1", "90", None, 1.5), slow("2", "91", 1, 1.6)]
    assert find_incident("f", explanations, 2, NOW_S)["aggressor"]["job_id"] == "91"
    assert find_incident("f", [explanations[0], slow("2", "91", 1, 1.4)], 2, NOW_S)["aggressor"]["job_id"] == "90"


def test_of_two_that_cost_the_same_the_answer_is_the_same_every_time() -> None:
    explanations = [slow("1", "91"), slow("2", "90")]
    assert {
        find_incident("f", order, 2, NOW_S)["aggressor"]["job_id"] for order in (explanations, explanations[::-1])
    } == {"90"}


def test_a_link_that_was_counted_once_is_shown_as_counted_and_six_are_shown() -> None:
    explanations = [
        slow("1", "90", links=(link(1, None), *(link(number, number / 10) for number in range(2, 9)))),
        slow("2", "90", links=(link(1, 0.75), link(8, 0.1))),
    ]
    for order in (explanations, explanations[::-1]):
        shown = find_incident("f", order, 2, NOW_S)["links"]
        assert [(one["link"], one["stall_ratio_after"]) for one in shown] == [
            (8, 0.8), (1, 0.75), (7, 0.7), (6, 0.6), (5, 0.5), (4, 0.4),
        ]  # fmt: skip


def test_a_link_that_one_job_did_not_count_keeps_what_the_other_counted() -> None:
    explanations = [slow("1", "90", links=(link(1, 0.75),)), slow("2", "90", links=(link(1, None),))]
    assert find_incident("f", explanations, 2, NOW_S)["links"] == [link(1, 0.75)]


def test_where_nobody_is_named_slow_jobs_are_reported_with_their_reasons() -> None:
    explanations = [slow("1", None, 1, since=5), slow("2", None, 9, since=3), quiet()]
    found = find_incident("f", explanations, 3, NOW_S)
    assert (found["verdict"], found["aggressor"], found["victims"]) == ("cannot tell", None, [])
    assert found["reasons"] == ["reason 2", "reason 1"] and found["since"] == minutes(3)
    assert [one["job_id"] for one in found["others"]] == ["2", "1"]
    assert found["title"] == "2 jobs are slow; cannot tell which job caused it"
    assert found["detail"] == "Job 2 is 50 % slower, job 1 is 50 % slower. Reason 2; reason 1."
    assert found["remedies"] == [{"kind": "hold", "job_id": "2"}]
    assert find_incident("f", explanations[:1], 1, NOW_S)["title"] == "1 job is slow; cannot tell which job caused it"


def test_four_slow_jobs_are_three_and_one_more() -> None:
    explanations = [slow(str(number), None, number) for number in range(1, 5)]
    detail = find_incident("f", explanations, 4, NOW_S)["detail"]
    assert detail.startswith("Job 4 is 50 % slower, job 3 is 50 % slower, job 2 is 50 % slower, and 1 more. Reason 4;")
    assert "more" not in find_incident("f", explanations[:3], 3, NOW_S)["detail"]


def test_quiet_machines_say_what_is_known_of_them() -> None:
    empty = find_incident("f", [], 0, NOW_S)
    assert (empty["verdict"], empty["title"], empty["detail"]) == ("none", "No incident", "No job is running.")
    assert (empty["since"], empty["links"], empty["others"], empty["remedies"]) == (None, [], [], [])
    blind = find_incident("f", [], 0, NOW_S, counted=False)
    assert (blind["verdict"], blind["title"]) == ("cannot tell", "Cannot tell whether a job is slow")
    assert blind["detail"] == "No running jobs and no counters are stored for this time."
    one = find_incident("f", [quiet()], 1, NOW_S)
    assert (one["verdict"], one["detail"]) == ("none", "1 running job keeps its usual speed.")
    after = find_incident("f", [slow("1", "90", until=9)], 1, NOW_S)
    assert after["detail"] == "1 running job keeps its usual speed.", "it recovered"
    two = find_incident("f", [quiet(), quiet(), quiet("cannot tell")], 3, NOW_S)
    assert two["detail"] == ("2 running jobs keep their usual speed. 1 more cannot be compared with earlier runs.")
    unknown = find_incident("f", [quiet("cannot tell")], 3, NOW_S)
    assert unknown["verdict"] == "cannot tell" and unknown["title"] == "Cannot tell whether a job is slow"
    assert "none of the 3 running jobs" in unknown["reasons"][0] and unknown["detail"].startswith("None of the 3")
    sample = find_incident("f", [], 3, NOW_S, snapshot=True)
    assert (
        sample["reasons"] == ["the machine has only one sample, without a time"] and sample["verdict"] == "cannot tell"
    )


def test_a_job_that_ran_before_began_to_send_more() -> None:
    explanations = slow("1", "90")
    explanations["candidates"][0] |= {"change": "sends more", "nodes": None}
    assert find_incident("f", [explanations], 1, NOW_S)["detail"].startswith(
        "It began to send more. Job 1 is 50 % slower."
    )


def test_a_job_that_slows_itself_is_no_incident_and_nothing_that_nobody_can_tell() -> None:
    itself = slow("1", None) | {"verdict": "slows itself", "reasons": []}
    found = find_incident("f", [itself, quiet()], 2, NOW_S)
    assert (found["verdict"], found["title"], found["aggressor"]) == ("none", "Job 1 slows itself", None)
    assert found["detail"] == "Job 1 is 50 % slower. Their waiting is due to their own traffic."
    assert [one["job_id"] for one in found["others"]] == ["1"]
    both = find_incident("f", [itself, slow("2", None) | {"verdict": "slows itself", "reasons": []}], 2, NOW_S)
    assert both["title"] == "2 jobs slow themselves"
    # With a job among them that has no verdict, that is what is reported.
    assert find_incident("f", [itself, slow("3", None)], 2, NOW_S)["verdict"] == "cannot tell"


# The picture of a mail: its pixels are the rows, and nothing is drawn of a job that was not slow.


SLOW: dict[str, Any] = {
    "job_id": "7", "start": "2026-11-01T10:00:00Z", "end": "2026-11-01T11:00:00Z", "as_of": "2026-11-01T12:00:00Z",
    "slowdown": {"since": "2026-11-01T10:30:00Z", "until": None},
    "candidates": [
        {"job_id": "8", "named": True, "start": "2026-11-01T09:00:00Z", "end": "2026-11-01T10:15:00Z"},
        {"job_id": "9", "named": False, "start": "2026-11-01T10:30:00Z", "end": None},
    ],
}  # fmt: skip


def pixels(png: bytes) -> list[bytes]:
    """The lines of a PNG without filters."""
    width, height = struct.unpack(">II", png[16:24])
    data = png[png.index(b"IDAT") + 4 : png.index(b"IEND") - 8]
    raw = zlib.decompress(data)
    assert len(raw) == height * (1 + 3 * width)
    return [raw[at + 1 : at + 1 + 3 * width] for at in range(0, len(raw), 1 + 3 * width)]


def test_rows_are_the_slow_job_and_those_that_are_named() -> None:
    rows = list_rows(SLOW)
    assert [row["job_id"] for row in rows] == ["7", "8"]
    assert [span["kind"] for span in rows[0]["spans"]] == ["usual", "slow"]
    assert rows[1]["spans"][0]["to_s"] - rows[1]["spans"][0]["from_s"] == 900
    assert "job 7 (grey: usual speed, red: slow)" in describe_rows(rows) and "9" not in describe_rows(rows)


@pytest.mark.parametrize("change", [{"slowdown": None}, {"start": None}])
def test_a_job_that_was_not_slow_has_no_rows(change: dict[str, Any]) -> None:
    assert list_rows(SLOW | change) == []


def test_pixels_have_the_colours_of_their_moments() -> None:
    lines = pixels(draw_timeline(list_rows(SLOW)))
    assert len(lines) == 2 * (ROW + GAP)

    def ink(line: int, share: float) -> tuple[int, ...]:
        at = 3 * int(share * WIDTH)
        return tuple(lines[line][at : at + 3])

    assert ink(0, 0.25) == INKS["usual"] and ink(0, 0.75) == INKS["slow"]
    assert ink(ROW + GAP, 0.1) == INKS["named"] and ink(ROW + GAP, 0.5) == (255, 255, 255)
