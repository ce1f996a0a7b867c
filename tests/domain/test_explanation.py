"""The rules of an explanation, each with its planted cause and without any planted cause."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from html import escape

import numpy as np
import pytest
from domain.scenes import CURVE, JOB, T0, link, made, neighbour, scene, scenery, scores, steps

from flitwatch_domain.explanation import answer, case, slowdown
from flitwatch_domain.explanation.candidates import Blamed, rank_jobs
from flitwatch_domain.explanation.carriers import Count, select_carrying_links
from flitwatch_domain.explanation.chain import minutes_and_seconds
from flitwatch_domain.explanation.onset_context import OnsetContext

# Slow or not


@pytest.mark.parametrize("factor", [1.15, 1.5, 4.0])
@pytest.mark.parametrize(("first", "last"), [(20, 60), (20, 40), (50, 60), (3, 57)])
def test_a_planted_stretch_is_found_with_its_onset(factor: float, first: int, last: int) -> None:
    watched = steps(factor, first, last)
    found = slowdown.of_steps(watched)
    assert found is not None and found.basis == "earlier runs"
    assert found.factor == pytest.approx(factor, rel=0.05)
    began = T0 + watched.time_s[:first].sum()
    assert found.low_s <= began <= found.high_s
    assert found.high_s - found.low_s < 40
    assert (found.end_s is None) == (last == 60)
    assert not found.from_start


def explain_step_by_step(watched: slowdown.Steps) -> list[slowdown.Slowdown | None]:
    """What is said after each step, as a page that is kept open shows it."""
    return [
        slowdown.of_steps(slowdown.Steps(watched.step[:count], watched.time_s[:count], T0, watched.earlier_s))
        for count in range(1, len(watched.step) + 1)
    ]


@pytest.mark.parametrize("usual", [(30,), (30, 31), (26, 33, 40)], ids=["one", "two at once", "three by themselves"])
def test_steps_near_usual_among_slow_ones_do_not_end_the_slow_stretch(usual: tuple[int, ...]) -> None:
    watched = steps(1.8, 20, 50)
    watched.time_s[list(usual)] /= 1.8
    explanation = explain_step_by_step(watched)
    began = T0 + watched.time_s[:20].sum()
    for after in range(23, 50):
        found = explanation[after]
        assert found is not None and found.end_s is None, after
        assert found.first_step == 20 and found.low_s <= began <= found.high_s


@pytest.mark.parametrize("factor", [1.2, 1.8, 4.0])
def test_a_slow_stretch_that_ended_is_over_three_steps_later_and_ended_when_it_did(factor: float) -> None:
    watched = steps(factor, 20, 40)
    explanation = explain_step_by_step(watched)
    ended = T0 + watched.time_s[:40].sum()
    assert [one is not None and one.end_s is not None for one in explanation] == [False] * 42 + [True] * 18
    for one in explanation[42:]:
        assert one is not None and one.end_s == pytest.approx(ended) and one.last_step == 39


def test_a_slow_step_after_the_end_does_not_begin_it_again() -> None:
    watched = steps(1.8, 20, 40)
    watched.time_s[45] *= 1.8
    explanation = explain_step_by_step(watched)
    ended = T0 + watched.time_s[:40].sum()
    assert [one.end_s for one in explanation[42:] if one] == [pytest.approx(ended)] * 18


def test_two_long_steps_near_usual_are_enough_and_one_never_is() -> None:
    def ended(step_s: float, after: int) -> bool:
        taken = np.full(20 + after, step_s)
        taken[10:20] *= 2
        usual = np.full((5, 40), step_s)
        found = slowdown.of_steps(slowdown.Steps(np.arange(20 + after), taken, T0, usual))
        assert found is not None and found.end_s in (None, pytest.approx(T0 + 30 * step_s))
        return found.end_s is not None

    assert [ended(5.0, after) for after in range(5)] == [False, False, False, True, True]
    assert [ended(60.0, after) for after in range(5)] == [False, False, True, True, True]
    assert [ended(59.0, after) for after in range(5)] == [False, False, False, True, True]
    assert not ended(3600.0, 1)


def test_a_run_that_has_ended_was_slow_until_its_last_slow_step() -> None:
    """No step to come can show that it went on; a run that was slow to its end has no such moment."""
    for last in (57, 58, 59, 60):
        watched = replace(steps(1.5, 20, last), ended=True)
        found = slowdown.of_steps(watched)
        assert found is not None and found.last_step == last - 1
        assert found.end_s == (None if last == 60 else pytest.approx(T0 + watched.time_s[:last].sum()))


def test_quiet_runs_never_begin_to_be_slow() -> None:
    assert all(one is None for seed in range(20) for one in explain_step_by_step(steps(seed=seed)))


def test_quiet_runs_are_not_slow() -> None:
    assert [slowdown.of_steps(steps(seed=seed)) for seed in range(200)] == [None] * 200


def test_less_than_a_tenth_is_not_slow() -> None:
    assert slowdown.of_steps(steps(1.06, 20)) is None


def test_a_spike_of_one_step_is_not_slow() -> None:
    assert slowdown.of_steps(steps(3.0, 20, 21)) is None


def test_a_slow_minority_of_earlier_runs_does_not_move_what_is_usual() -> None:
    watched = steps(1.5, 20)
    past = watched.earlier_s.copy()
    past[:4, 10:50] *= 3
    found = slowdown.of_steps(slowdown.Steps(watched.step, watched.time_s, T0, past))
    assert found is not None and found.first_step in (20, 21)


def test_slow_from_the_first_step_is_said() -> None:
    found = slowdown.of_steps(steps(1.5, 0))
    assert found is not None and found.from_start


def test_steps_that_are_missing_widen_the_interval() -> None:
    watched = steps(1.5, 30)
    kept = np.setdiff1d(np.arange(60), np.arange(10, 20))
    found = slowdown.of_steps(slowdown.Steps(kept, watched.time_s[kept], T0, watched.earlier_s))
    assert found is not None and found.first_step == 30
    began = T0 + watched.time_s[:30].sum()
    assert found.low_s <= began <= found.high_s
    assert found.high_s - found.low_s > CURVE[10:20].sum()


def test_the_rise_of_a_figure_is_found_and_noise_has_none() -> None:
    rng = np.random.default_rng(3)
    at = T0 + np.arange(200.0)
    noise = np.exp(rng.normal(0, 0.3, 200))
    risen = np.where(at >= T0 + 90, 5.0, 1.0) * noise
    found = slowdown.find_rise_s(slowdown.Series(at, risen, 1.0), T0 + 60, T0 + 120)
    assert found is not None and abs(found - (T0 + 90)) <= 2
    quiet = [
        slowdown.find_rise_s(slowdown.Series(at, np.exp(rng.normal(0, 0.3, 200)), 1.0), T0 + 60, T0 + 120)
        for _ in range(200)
    ]
    assert quiet == [None] * 200


# Who


def test_who_started_at_the_onset_comes_before_who_ran_long_before_or_came_later() -> None:
    made = scores(neighbour(1, T0 + 100), neighbour(2, T0 - 1000, sent=(1e12, 1e12), most=1e12), neighbour(3, T0 + 150))
    assert made == {"1": 1.0, "2": 0.0, "3": 0.0}


def test_of_several_that_started_within_seconds_the_load_decides() -> None:
    made = scores(
        neighbour(1, T0 + 99, sent=(0, 1e10)),
        neighbour(2, T0 + 100, sent=(0, 1e12)),
        neighbour(3, T0 + 101, sent=(0, 2e10)),
    )
    assert max(made, key=made.__getitem__) == "2" and made["2"] > 0.9


def test_a_burst_like_those_before_is_no_change_and_a_new_phase_is() -> None:
    made = {
        one.job.job_id: one
        for one in rank_jobs(
            [
                neighbour(1, T0 - 900, sent=(1e11, 1e12), most=9e11),
                neighbour(2, T0 - 900, sent=(1e11, 1e12), most=2e11),
            ],
            scene(),
        )
    }
    assert made["1"].change == "none" and made["1"].why_not
    assert made["2"].change == "sends more" and made["2"].score == 1.0


def test_a_job_that_ran_before_is_no_candidate_where_its_network_cards_are_not_counted() -> None:
    assert scores(neighbour(1, T0 - 900, sent=None)) == {"1": 0.0}


def test_who_was_gone_while_it_stayed_slow_loses_weight() -> None:
    made = scores(neighbour(1, T0 + 100, end_s=T0 + 130), neighbour(2, T0 + 100))
    assert made["1"] < made["2"] / 3


def test_blame_raises_and_never_decides_alone() -> None:
    found = Blamed(1, 0.001, "named")
    made = scores(
        neighbour(1, T0 + 100, sent=(0, 1e12)),
        neighbour(2, T0 + 100, sent=(0, 1e12), blamed=found),
        neighbour(3, T0 - 900, sent=(1e12, 1e12), most=1e12, blamed=found),
    )
    assert made["2"] == pytest.approx(2 * made["1"]) and made["3"] == 0.0


def test_without_network_cards_nodes_stand_for_load() -> None:
    made = scores(neighbour(1, T0 + 100, sent=None), neighbour(2, T0 + 100, routers=np.array([9]), sent=None))
    assert made["1"] > 0.9


# Links


def test_links_whose_stalls_rose_come_by_what_they_gained() -> None:
    assert [
        one.link
        for one in select_carrying_links([link(1, 0.5, 0.5), link(2, 0.1, 1.0), link(3, 1.0, 5.0), link(4, 3.0, 1.0)])
    ] == [3, 2]


def test_what_is_not_counted_did_not_rise() -> None:
    assert Count(None, None, 1.0, 1.0).rose is None and Count(1.0, 1.0, None, None).rose is None


# The whole


def test_the_planted_job_is_named_with_what_would_help() -> None:
    explanation = made(
        steps(1.5, 20), scenery(neighbour(1, T0 + 100), neighbour(2, T0 - 900, sent=(1e11, 1e11), most=1e11))
    )
    assert (explanation["verdict"], explanation["named"], explanation["reasons"]) == ("named", "1", [])
    assert "when job 1 started on 20 nodes" in explanation["title"] and "50 % slower since" in explanation["title"]
    assert [one["job_id"] for one in explanation["candidates"] if one["named"]] == ["1"]
    hold = explanation["remedies"][0]
    assert hold["kind"] == "hold" and hold["minutes_saved"] == pytest.approx(0.0, abs=0.1)
    assert {one["kind"] for one in explanation["remedies"]} == {"hold", "tell", "move", "re-route"}


@pytest.mark.parametrize(
    ("scenic", "reason"),
    [
        (scenery(), "no other job"),
        (scenery(neighbour(1, T0 + 100), neighbour(2, T0 + 101)), "2 jobs changed"),
        (scenery(neighbour(1, T0 + 100), own=Count(None, None, None, None)), "no counters both before and after"),
        (scenery(neighbour(1, T0 + 100), own=Count(1e6, 1e6, 1e6, 1e6)), "did not rise"),
        (
            scenery(neighbour(1, T0 + 100, sent=(0, 1e9)), neighbour(2, T0 - 900, sent=(1e12, 1e12), most=1e12)),
            "added only",
        ),
        (scenery(neighbour(1, T0 - 500, sent=(1e12, 1e12), most=1e12)), "no job alongside it started"),
        (None, "nodes on a fabric"),
    ],
)
def test_where_something_is_missing_nobody_is_named(scenic: OnsetContext | None, reason: str) -> None:
    explanation = made(steps(1.5, 20), scenic)
    assert (explanation["verdict"], explanation["named"]) == ("cannot tell", None)
    assert reason in " ".join(explanation["reasons"])


def test_a_job_slow_from_its_first_step_names_nobody() -> None:
    explanation = made(steps(1.5, 0), scenery(neighbour(1, T0 - 5), onset_s=T0))
    assert explanation["verdict"] == "cannot tell" and "from its first step" in explanation["title"]


def test_without_earlier_runs_nobody_is_named() -> None:
    alone = slowdown.Steps(np.arange(60), np.where(np.arange(60) < 40, 5.0, 9.0), T0, np.full((0, 0), math.nan))
    explanation = made(alone, scenery(neighbour(1, T0 + 200), onset_s=T0 + 200))
    assert explanation["verdict"] == "cannot tell" and "earlier runs" in explanation["reasons"][0]
    assert explanation["slowdown"]["basis"] == "own steps"


def test_a_quiet_run_is_not_slow_whoever_starts() -> None:
    explanation = made(steps(), scenery(neighbour(1, T0 + 100)))
    assert (explanation["verdict"], explanation["named"], explanation["slowdown"], explanation["candidates"]) == (
        "not slow",
        None,
        None,
        [],
    )


@pytest.mark.parametrize(
    ("job", "past", "verdict"),
    [
        ({"state": "COMPLETED", "end_s": T0 + 100}, [100.0, 101, 99, 100], "not slow"),
        ({"state": "COMPLETED", "end_s": T0 + 200}, [100.0, 101, 99, 100], "cannot tell"),
        ({}, [1000.0, 1001, 999], "cannot tell"),
        ({}, None, "cannot tell"),
        ({"start_s": None, "state": "PENDING"}, None, "cannot tell"),
        ({"state": "FAILED", "end_s": T0 + 10}, [100.0, 101, 99], "cannot tell"),
        # Nobody knows when it ended: it is not slow because much time went by since it began.
        ({"state": "UNKNOWN"}, [100.0, 101, 99], "cannot tell"),
        ({"start_s": None, "state": "UNKNOWN"}, None, "cannot tell"),
    ],
)
def test_jobs_without_steps(job: dict, past: list[float] | None, verdict: str) -> None:
    held = None if past is None else answer.PastRunTimes(np.array(past))
    factor = answer.elapsed_factor({**JOB, **job}, held, T0 + 300)
    found = (
        None
        if factor is None or factor < 1.1
        else slowdown.Slowdown("counters", factor, 1.0, T0, T0, T0 + 300, None, True)
    )
    explanation = answer.build_explanation({**JOB, **job}, answer.JobProgress(None, None, held), found, None, T0 + 300)
    assert explanation["verdict"] == verdict and explanation["named"] is None
    assert bool(explanation["reasons"]) == (verdict == "cannot tell")
    if job.get("state") == "UNKNOWN":
        assert explanation["slowdown"] is None and explanation["reasons"][0].endswith(
            ("the scheduler's records have no end time", "the scheduler's records have no times for this job")
        )


def test_no_sentence_names_a_person() -> None:
    explanation = made(steps(1.5, 20), scenery(neighbour(1, T0 + 100)))
    assert "user1" not in explanation["title"] + explanation["detail"] + " ".join(
        one["text"] for one in [*explanation["remedies"], *explanation["chain"]]
    )


def test_the_chain_says_what_the_answer_holds() -> None:
    """Steps, links, jobs, onset, certainty and each remedy, with the answer's own figures; minutes or the reason why they are unknown."""
    explanation = made(steps(1.5, 20), scenery(neighbour(1, T0 + 100)))
    parts = [one["part"] for one in explanation["chain"]]
    assert parts == ["steps", "links", "jobs", "since", "certainty", *["help"] * len(explanation["remedies"])]
    text = {one["part"]: one["text"] for one in explanation["chain"]}
    assert "50 % longer than the median of 10 earlier runs" in text["steps"]
    for one in explanation["links"][:3]:
        assert f"{one['from_name']} to {one['to_name']}" in text["links"]
    assert "Job 1 started on 20 nodes" in text["jobs"] and "Job 1 is named" in text["certainty"]
    since = explanation["slowdown"]["since"].strftime("%H:%M:%S UTC")
    assert f"Since {since}" in text["since"] and since in explanation["title"]
    helps = [one["text"] for one in explanation["chain"] if one["part"] == "help"]
    for remedy, line in zip(explanation["remedies"], helps, strict=True):
        assert (remedy["minutes_saved"] is None) == (remedy["why_unknown"] is not None)
        assert line.startswith(remedy["text"])
        assert ("The time saved is unknown" in line) == (remedy["minutes_saved"] is None)


@pytest.mark.parametrize(
    ("last", "end", "lost"),
    [(60, None, " lost so far."), (60, {"end_s": T0 + 300, "state": "COMPLETED"}, " lost."), (40, None, " lost.")],
    ids=["slow now", "over, and slow to its end", "slow until"],
)
def test_only_a_job_that_is_slow_now_has_lost_time_so_far(last: int, end: dict | None, lost: str) -> None:
    explanation = made(steps(1.5, 20, last), scenery(neighbour(1, T0 + 100)), **(end or {}))
    assert (explanation["slowdown"]["until"] is None) == (last == 60)
    assert next(one["text"] for one in explanation["chain"] if one["part"] == "steps").endswith(lost)


def test_the_chain_of_a_job_without_a_culprit_names_none() -> None:
    explanation = made(steps(1.5, 20), None)
    text = {one["part"]: one["text"] for one in explanation["chain"]}
    assert text["certainty"].startswith("No job is named: ")
    assert "The affected links are unknown" in text["links"] and "No known job ran alongside" in text["jobs"]


def test_a_job_that_is_not_slow_has_no_chain() -> None:
    assert made(steps(1.0, 20), scenery(neighbour(1, T0 + 100)))["chain"] == []


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.6, "1 min"), (272, "4 min 32 s"), (3600, "1 h"), (3872, "1 h 05 min")]
)
def test_lengths_of_time_are_minutes_and_seconds(seconds: float, text: str) -> None:
    assert minutes_and_seconds(seconds) == text


# The evidence as a page


def page(explanation: dict) -> str:
    return case.render_page(case.Evidence(explanation, [], []), None, datetime.fromtimestamp(T0 + 300, UTC))


def test_the_evidence_shows_the_named_jobs_user_and_nobody_elses() -> None:
    shown = page(
        made(
            steps(1.5, 20),
            scenery(neighbour(1, T0 + 100), neighbour(2, T0 + 103, sent=(0, 2e11)), neighbour(3, T0 - 900)),
        )
    )
    assert "yes, user user1" in shown and "user2" not in shown and "user3" not in shown
    assert "Machine c; window" in shown


def test_the_evidence_that_cannot_tell_says_so_and_accuses_nobody() -> None:
    """Two jobs that changed within seconds of each other: neither is named, and no user is shown but the job's own."""
    explanation = made(steps(1.5, 20), scenery(neighbour(1, T0 + 100), neighbour(2, T0 + 101)))
    shown = page(explanation)
    assert (
        explanation["verdict"] == "cannot tell"
        and "cannot tell which job caused it" in shown
        and "No job is named" in shown
    )
    assert "None of these jobs is named" in shown and "user1" not in shown and "user2" not in shown
    assert "is named: its share" not in shown and "<td>yes" not in shown


def test_a_hostile_name_is_text_in_the_evidence() -> None:
    bad = "</main><script>alert(1)</script>\"'&"
    explanation = made(steps(1.5, 20), scenery(neighbour(1, T0 + 100)), name=bad, user=bad, cluster=bad)
    explanation["candidates"][0]["user"] = bad
    shown = page(explanation)
    assert "<script" not in shown and shown.count("</main>") == 1 and shown.count(escape(bad)) >= 3


@pytest.mark.parametrize(
    ("high_s", "until_s", "now_s", "window"),
    [
        (4, 300, 86_400, (10, 70)),
        (10, 600, 600, (10, 70)),
        (4, 40, 3600, (10, 40)),
        (4, 50, 45, (5, 45)),
        (4, 20, 20, None),
        (4, 23.9, 3600, None),
    ],
)
def test_the_root_is_looked_for_in_the_minute_after_the_onset(
    high_s: float, until_s: float, now_s: float, window: tuple[float, float] | None
) -> None:
    """However long ago the incident was, but no longer than it lasted, and not in less than two counts of the ports."""
    held = replace(scenery(), high_s=T0 + high_s, end_s=T0 + until_s)
    assert held.root_window(T0 + now_s) == (None if window is None else (T0 + window[0], T0 + window[1]))
