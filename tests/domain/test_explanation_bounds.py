"""The constants and edges of an explanation, at values where the smallest change gives another answer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from domain.scenes import CURVE, GROUP, JOB, OWN, T0, earlier, link, made, neighbour, scene, scenery, scores, steps

from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.candidates import Blamed, NeighbourJob, rank_jobs
from flitwatch_domain.explanation.carriers import Count, RouterCounts, select_carrying_links
from flitwatch_domain.explanation.incident import _sort_worst_first
from flitwatch_domain.explanation.remedies import list_remedies


def test_the_detail_gives_both_ratios_and_none_where_one_is_unknown() -> None:
    report = made(steps(1.5, 20), scenery(neighbour(1, T0 + 100)))
    assert "The stall ratio on its routers rose from 0.1 to 2." in report["detail"]
    for own in (Count(None, None, 1e6, 2e6), Count(1e6, 1e5, None, None)):
        assert "Stalls per flit" not in made(steps(1.5, 20), scenery(neighbour(1, T0 + 100), own=own))["detail"]


@pytest.mark.parametrize(
    ("count", "before", "after"),
    [
        (Count(10.0, 5.0, 4.0, 8.0), 0.5, 2.0),
        (Count(0.0, 0.0, 4.0, 0.0), None, 0.0),
        (Count(10.0, None, None, 8.0), None, None),
    ],
)
def test_a_ratio_needs_flits_and_stalls(count: Count, before: float | None, after: float | None) -> None:
    assert (count.before, count.after) == (before, after)


@pytest.mark.parametrize(
    ("before", "after", "rose"), [(1.0, 1.21, True), (1.0, 1.19, False), (0.001, 0.051, True), (0.001, 0.049, False)]
)
def test_a_rise_is_a_fifth_and_is_felt(before: float, after: float, rose: bool) -> None:
    assert Count(1e6, before * 1e6, 1e6, after * 1e6).rose is rose


def test_where_nothing_flowed_before_any_felt_stall_is_a_rise() -> None:
    assert Count(0.0, 0.0, 100.0, 6.0).rose is True and Count(0.0, 0.0, 100.0, 4.0).rose is False


def test_ten_links_are_listed_by_what_they_gained() -> None:
    report = select_carrying_links([link(number, 0.1, 1.0 + number) for number in range(15)])
    assert [one.link for one in report] == list(range(14, 4, -1))


def test_twenty_candidates_are_listed_and_all_are_counted() -> None:
    report = made(
        steps(1.5, 20), scenery(*(neighbour(number, T0 - 900, sent=(1e9, 1e9), most=1e9) for number in range(25)))
    )
    assert len(report["candidates"]) == 20 and report["candidates_total"] == 25


def test_a_start_counts_fully_within_five_seconds_and_nothing_beyond_ninety() -> None:
    at = {
        late: rank_jobs([neighbour(1, T0 + 95 - late, sent=(1e12, 1e12), most=1e12)], scene())[0]
        for late in (0.0, 5.0, 35.0, 90.0, 90.5)
    }
    assert at[0.0].timing == at[5.0].timing == 1.0
    assert at[35.0].timing == pytest.approx(math.exp(-1)) and at[90.0].timing == pytest.approx(math.exp(-85 / 30))
    assert at[90.0].change == "started" and at[90.5].change == "none"
    just, late = (rank_jobs([neighbour(1, T0 + 110 + after)], scene())[0] for after in (5.0, 5.5))
    assert just.change == "started" and late.change == "none" and "after the slowdown had begun" in str(late.why_not)


def test_a_change_is_twice_the_most_before() -> None:
    changes = {
        sent: rank_jobs([neighbour(1, T0 - 900, sent=(1e9, sent), most=2e9)], scene())[0].change
        for sent in (3.9e9, 4.0e9)
    }
    assert changes == {3.9e9: "none", 4.0e9: "sends more"}
    assert rank_jobs([neighbour(1, T0 - 900, sent=(1e9, 9e9), most=1e9)], scene())[0].timing == 0.3


def test_presence_is_the_share_of_the_slow_stretch() -> None:
    whole, half, gone = (
        rank_jobs([neighbour(1, T0 + 100, end_s=end)], scene())[0] for end in (T0 + 300, T0 + 205, T0 + 110)
    )
    assert (whole.presence, half.presence, gone.presence) == (1.0, 0.5, 0.0)
    assert gone.why_not == "it ended when the slowdown began" and half.why_not is None


def test_what_a_job_shares_is_counted() -> None:
    one = rank_jobs([neighbour(1, T0 + 100, routers=np.array([6, 7, 8, 12, 12]))], scene())[0]
    assert (one.shared_routers, one.shared_groups, one.shared_links) == (2, 1, 0)
    # Three of its five nodes are in the group that holds all of the slow job's.
    assert one.exposure == pytest.approx(3.0) and one.reach == pytest.approx(0.6)
    far = rank_jobs([neighbour(1, T0 + 100, routers=np.array([15]))], scene())[0]
    assert (far.shared_groups, far.exposure, far.reach) == (0, 0.0, 0.1)


def test_the_load_is_the_share_of_what_was_added_and_reaches() -> None:
    near, far = (
        neighbour(1, T0 + 100, routers=OWN, sent=(0, 1e12)),
        neighbour(2, T0 + 100, routers=np.arange(10, 20), sent=(0, 1e12)),
    )
    loads = {one.job.job_id: one.load for one in rank_jobs([near, far], scene())}
    assert loads["1"] == pytest.approx(1 / 1.1) and loads["2"] == pytest.approx(0.1 / 1.1)
    assert GROUP[OWN].max() == 0


@pytest.mark.parametrize(
    "aside",
    [neighbour(2, T0 + 150, sent=(0, 1e12)), neighbour(2, T0 + 100, end_s=T0 + 110, sent=(0, 1e12))],
    ids=["late", "gone"],
)
def test_what_is_gone_or_came_later_takes_no_part_of_the_load(aside: NeighbourJob) -> None:
    loads = {one.job.job_id: one.load for one in rank_jobs([neighbour(1, T0 + 100, sent=(0, 1e12)), aside], scene())}
    assert loads == {"1": 1.0, "2": 0.0}


def test_only_a_named_user_is_blamed() -> None:
    for verdict, factor in (("named", 2.0), ("cannot tell", 1.0), (None, 1.0)):
        assert rank_jobs([neighbour(1, T0 + 100, blamed=Blamed(1, 1e-9, verdict))], scene())[0].blame == factor


def test_scores_are_shares() -> None:
    assert sum(
        scores(neighbour(1, T0 + 100), neighbour(2, T0 + 60), neighbour(3, T0 + 108, end_s=T0 + 200)).values()
    ) == pytest.approx(1.0)


def test_missing_first_steps_move_the_onset_by_their_usual_time() -> None:
    watched = steps(1.5, 30)
    late = slowdown.Steps(watched.step[10:], watched.time_s[10:], T0, watched.earlier_s)
    line = slowdown.build_timeline(late, slowdown.usual_steps(watched.earlier_s)[0])
    usual = np.median(watched.earlier_s, axis=0)
    assert line.begin_s[0] == pytest.approx(T0 + usual[:10].sum(), abs=1e-6)
    assert line.end_s[0] - line.begin_s[0] == pytest.approx(late.time_s[0]) and line.guessed_s[-1] == pytest.approx(
        usual[:10].sum()
    )
    unknown = slowdown.build_timeline(
        slowdown.Steps(np.array([2, 3]), np.array([4.0, 6.0]), T0, np.full((0, 0), np.nan)), np.full(0, np.nan)
    )
    assert unknown.begin_s[0] == pytest.approx(T0 + 10.0)


def test_two_steps_are_slow_where_they_take_half_again_and_three_from_a_tenth() -> None:
    quiet = np.zeros(30)
    for length, factor, slow in (
        (2, 1.55, True),
        (2, 1.45, False),
        (3, 1.45, True),
        (12, 1.12, True),
        (12, 1.08, False),
    ):
        ratio = quiet.copy()
        ratio[10 : 10 + length] = math.log(factor)
        found = slowdown.find_elevated_stretch(ratio, 0.02)
        assert (found is not None) == slow, (length, factor)
        assert found is None or found[:2] == (10, 10 + length - 1)


def test_the_score_of_a_stretch_is_its_mean_by_its_standard_error() -> None:
    ratio = np.zeros(40)
    ratio[10:26] = 0.3
    found = slowdown.find_elevated_stretch(ratio, 0.1)
    assert found is not None and found[2] == pytest.approx(0.3 * 4 / 0.1)
    assert (
        slowdown.find_elevated_stretch(ratio, 0.19) is not None and slowdown.find_elevated_stretch(ratio, 0.21) is None
    )


def test_the_first_of_two_like_stretches_is_kept_apart_from_the_second() -> None:
    ratio = np.zeros(60)
    ratio[5:10], ratio[40:52] = 0.4, 0.4
    found = slowdown.find_elevated_stretch(ratio, 0.02)
    assert found is not None and found[:2] == (40, 51)
    assert slowdown.onset_steps(ratio, 40, 51, 0.02) == (40, 40)


def test_noise_without_earlier_runs_is_that_of_the_run() -> None:
    taken = 5 * np.exp(np.random.default_rng(4).normal(0, 0.2, 60))
    taken[40:] *= 1.4
    # By a fiftieth of noise this is many standard errors; by the run's own noise it is few.
    alone = slowdown.Steps(np.arange(60), taken, T0, np.full((0, 0), math.nan))
    spread = float(np.median(np.abs(np.log(taken / np.median(taken))))) / 0.6745
    ratio = np.log(taken / np.median(taken))
    assert (slowdown.of_steps(alone) is None) == (slowdown.find_elevated_stretch(ratio, spread) is None)
    assert slowdown.find_elevated_stretch(ratio, 0.02) is not None


def test_two_steps_say_nothing_and_two_earlier_runs_say_nothing_of_what_is_usual() -> None:
    watched = steps(4.0, 0)
    assert slowdown.of_steps(slowdown.Steps(watched.step[:2], watched.time_s[:2], T0, watched.earlier_s)) is None
    assert np.isnan(slowdown.usual_steps(earlier(2))[0]).all()
    usual, sigma = slowdown.usual_steps(earlier(200))
    assert np.allclose(usual, CURVE, rtol=0.01) and sigma == 0.02
    assert slowdown.usual_steps(CURVE * np.exp(np.random.default_rng(5).normal(0, 0.1, (200, 60))))[1] == pytest.approx(
        0.1, rel=0.03
    )


def test_lost_and_left_seconds() -> None:
    usual = np.tile(np.full(60, 10.0), (5, 1))
    taken = np.full(40, 10.0)
    taken[20:] = 15.0
    found = slowdown.of_steps(slowdown.Steps(np.arange(40), taken, T0, usual))
    assert found is not None and (found.factor, found.lost_s, found.left_s) == (1.5, 100.0, 200.0)
    assert (found.first_step, found.last_step, found.runs, found.end_s, found.onset_s) == (20, 39, 5, None, T0 + 200)
    assert (found.low_s, found.high_s) == (T0 + 190, T0 + 215)


def test_a_rise_needs_six_values_and_a_fifth() -> None:
    at = T0 + 10 * np.arange(12.0)
    for factor, found in ((1.25, True), (1.15, False), (0.5, False)):
        value = np.where(at >= T0 + 60, factor, 1.0)
        assert (slowdown.find_rise_s(slowdown.Series(at, value, 10.0), T0 + 40, T0 + 80) is not None) == found
    value = np.where(at >= T0 + 60, 4.0, 1.0)
    assert slowdown.find_rise_s(slowdown.Series(at[3:9], value[3:9], 10.0), T0 + 50, T0 + 70) == T0 + 60
    assert slowdown.find_rise_s(slowdown.Series(at[4:9], value[4:9], 10.0), T0 + 50, T0 + 70) is None
    # A fall within the interval is no rise, and one outside it is not looked at.
    assert slowdown.find_rise_s(slowdown.Series(at, value, 10.0), T0 + 85, T0 + 100) is None


def named_of(*jobs, nics: bool = True, first: int = 20) -> tuple[str | None, str]:
    report = made(steps(1.5, first), scenery(*jobs, nics=nics))
    return report["named"], " ".join(report["reasons"])


def test_a_job_that_sends_more_is_named_where_next_to_nothing_else_changed() -> None:
    def more(number: int, sent: float):
        return neighbour(number, T0 - 900, sent=(1e9, sent), most=1e9)

    assert named_of(more(1, 9.1e11), more(2, 1e11))[0] == "1"
    name, reasons = named_of(more(1, 8e11), more(2, 2e11))
    assert name is None and "several that ran before sent more" in reasons


def test_a_score_of_exactly_the_least_is_enough() -> None:
    jobs = [
        neighbour(number, T0 + 100, routers=OWN, sent=(0, sent)) for number, sent in ((1, 6e11), (2, 2e11), (3, 2e11))
    ]
    assert named_of(*jobs)[0] == "1"
    assert (
        named_of(
            neighbour(1, T0 + 100, routers=OWN, sent=(0, 5.9e11)),
            *jobs[1:],
            neighbour(4, T0 + 100, routers=OWN, sent=(0, 1e10)),
        )[0]
        is None
    )


def test_without_network_cards_the_named_job_holds_a_tenth_of_the_exposure() -> None:
    new = neighbour(1, T0 + 100, routers=OWN[:1], sent=None)
    assert named_of(new, neighbour(2, T0 - 900, routers=np.repeat(OWN[:3], 3), sent=None), nics=False)[0] == "1"
    name, reasons = named_of(new, neighbour(2, T0 - 900, routers=np.repeat(OWN[:5], 2), sent=None), nics=False)
    assert name is None and "too few nodes" in reasons


def test_links_that_touch_a_job_are_counted() -> None:
    from dataclasses import replace

    held = replace(scene(), links=[(0, 10), (6, 17), (15, 16), (1, 2)])
    one = rank_jobs([neighbour(1, T0 + 100, routers=np.array([6, 10]))], held)[0]
    assert one.shared_links == 2


def test_the_moment_is_the_middle_of_the_narrowed_interval() -> None:
    report = made(steps(1.5, 20), scenery(neighbour(1, T0 + 100)))
    assert report["slowdown"]["since"].timestamp() == T0 + 102.5 and report["slowdown"]["since_by"] == "counters"
    assert (report["slowdown"]["since_low"].timestamp(), report["slowdown"]["since_high"].timestamp()) == (
        T0 + 95,
        T0 + 110,
    )


def test_holding_saves_what_the_steps_to_come_would_take_longer() -> None:
    usual = np.tile(np.full(60, 10.0), (5, 1))
    taken = np.where(np.arange(40) < 20, 10.0, 15.0)
    running = slowdown.Steps(np.arange(40), taken, T0, usual)
    report = made(running, scenery(neighbour(1, T0 + 200), onset_s=T0 + 200))
    hold = report["remedies"][0]
    assert (hold["kind"], hold["in_past"]) == ("hold", False) and hold["minutes_saved"] == pytest.approx(200 * 0.5 / 60)
    assert hold["minutes_saved_low"] < hold["minutes_saved"] < hold["minutes_saved_high"]
    [text] = [one["text"] for one in report["chain"] if one["text"].startswith(hold["text"])]
    assert "(95 %: " in text and report["remedies"][1]["minutes_saved_low"] is None
    for job in ({"state": "COMPLETED", "end_s": T0 + 500}, {"state": "SUSPENDED"}):
        past = made(running, scenery(neighbour(1, T0 + 200), onset_s=T0 + 200), **job)["remedies"]
        assert (
            past[0]["kind"] == "delay"
            and past[0]["minutes_saved"] == pytest.approx(100 / 60)
            and all(one["in_past"] for one in past if one["kind"] != "tell")
        )
    gone = made(running, scenery(neighbour(1, T0 + 200, end_s=T0 + 299), onset_s=T0 + 200))
    assert all(one["kind"] != "hold" for one in gone["remedies"])


def test_of_several_named_jobs_the_largest_is_held_and_none_alone_cost_the_whole() -> None:
    """The first cause is hidden by a second one that joined later, and has a small part of the present waiting."""
    found = slowdown.of_steps(steps(2.0, 20))
    first, joined = rank_jobs([neighbour(1, T0 + 100), neighbour(4, T0 + 200)], scene())
    blamed = [replace(first, part=0.16), replace(joined, part=0.76)]
    job = {"job_id": "9", "end_s": None, "state": "RUNNING"}
    hold = list_remedies(job, found, blamed, T0 + 300, True)[0]
    assert (hold["kind"], hold["job_id"]) == ("hold", joined.job.job_id)
    delay = list_remedies({**job, "end_s": T0 + 400}, found, blamed, T0 + 500, True)[0]
    assert (delay["job_id"], delay["minutes_saved"]) == (joined.job.job_id, None)
    assert delay["text"].endswith("would have been slowed less.") and delay["why_unknown"] == "other jobs slowed it too"
    alone = list_remedies({**job, "end_s": T0 + 400}, found, blamed[1:], T0 + 500, True)[0]
    assert alone["minutes_saved"] is not None and alone["text"].endswith("would not have been slowed.")


def test_three_steps_are_enough_and_may_all_be_slow() -> None:
    watched = steps(2.0, 0)
    found = slowdown.of_steps(slowdown.Steps(watched.step[:3], watched.time_s[:3], T0, watched.earlier_s))
    assert found is not None and found.from_start and found.first_step == 0


def test_few_draws_have_the_wide_intervals_of_students_t() -> None:
    from scipy.stats import t

    assert [slowdown.student_quantile(freedom) for freedom in range(1, 9)] == pytest.approx(
        t.ppf(0.975, range(1, 9)), rel=3e-4
    )
    assert slowdown.student_quantile(20) == pytest.approx(t.ppf(0.975, 20), rel=0.01)
    rng = np.random.default_rng(4)
    for runs in (2, 3, 4, 6, 10, 30):
        times_s = rng.normal(100, 5, (2000, runs + 1))
        held = [abs(one[0] - np.median(one[1:])) <= slowdown.within_s(one[1:]) for one in times_s]
        assert 0.92 <= np.mean(held) <= 0.99, (runs, np.mean(held))


def test_the_onset_may_be_a_step_that_was_half_slow_on_either_side() -> None:
    ratio = np.zeros(30)
    ratio[10:20] = 0.4
    assert slowdown.onset_steps(ratio, 10, 19, 0.05) == (10, 10)
    before, within = ratio.copy(), ratio.copy()
    before[9] = 0.2
    assert slowdown.onset_steps(before, 10, 19, 0.05) == (9, 10)
    within[10] = 0.2
    low, high = slowdown.onset_steps(within, 10, 19, 0.05)
    assert low == 10 and high == 11


def test_the_rise_is_looked_for_half_an_interval_to_either_side() -> None:
    at = T0 + np.arange(200.0)
    value = np.select([at < T0 + 60, at < T0 + 102], [1.0, 2.0], 0.05)
    assert slowdown.find_rise_s(slowdown.Series(at, value, 1.0), T0 + 40, T0 + 80) == T0 + 60


def elapsed(seconds: float, past: list[float], **job: object) -> float | None:
    from flitwatch_domain.explanation import answer

    return answer.elapsed_factor({**JOB, **job}, answer.PastRunTimes(np.array(past)), T0 + seconds)


def test_elapsed_time_is_long_beyond_nine_in_ten_and_a_running_job_only_above_usual() -> None:
    past = [100.0, 100.0, 100.0, 120.0, 120.0]
    assert elapsed(110, past) == 1.0 and elapsed(130, past) == 1.3 and elapsed(105, past) == 1.05
    assert elapsed(100, past) is None and elapsed(90, past, state="COMPLETED", end_s=T0 + 90) == 0.9
    assert elapsed(500, past, state="FAILED", end_s=T0 + 500) is None


def test_a_stretch_below_a_tenth_is_no_slowness_whatever_found_it() -> None:
    from flitwatch_domain.explanation import answer

    held = answer.PastRunTimes(np.array([100.0, 101, 99, 100]))
    job = {**JOB, "state": "COMPLETED", "end_s": T0 + 105}
    found = slowdown.Slowdown("counters", 1.05, 5.0, T0, T0, T0 + 10, None, False)
    report = answer.build_explanation(
        job, answer.JobProgress(None, None, held), found, scenery(neighbour(1, T0 + 100)), T0 + 300
    )
    assert (report["verdict"], report["named"], report["slowdown"], report["links"], report["groups"]) == (
        "not slow",
        None,
        None,
        [],
        [],
    )


def test_groups_are_those_of_the_job_summed_over_their_routers() -> None:
    from dataclasses import replace

    figures = [np.full(20, value) for value in (1e6, 1e6, 1e5, 2e6)]
    scenic = replace(scenery(neighbour(1, T0 + 100)), counted=RouterCounts(*figures))
    report = made(steps(1.5, 20), scenic)
    (group,) = report["groups"]
    assert (group["group"], group["nodes"], group["rose"]) == (0, 8, True)
    assert group["stall_ratio_after"] == pytest.approx(2.0) and group["stall_ratio_before"] == pytest.approx(0.1)
    assert report["routers"] == {"routers": 8, "stall_ratio_before": 0.1, "stall_ratio_after": 2.0, "rose": True}
    assert made(steps(1.5, 20), scenery(neighbour(1, T0 + 100)))["groups"] == []


def gained_at(*routers: int) -> RouterCounts:
    """Stalls that rose at some routers of twenty only."""
    after = np.full(20, 1e5)
    after[list(routers)] = 1e8
    return RouterCounts(np.full(20, 1e6), np.full(20, 1e6), np.full(20, 1e5), after)


def test_of_two_that_start_together_the_one_that_sits_where_it_jams_is_named() -> None:
    """An incast sends little, for its own jam holds it up; a large harmless job alongside it sends as much in the slow job's group."""
    from dataclasses import replace

    there, here = np.arange(12, 18), np.arange(6)
    jobs = neighbour(1, T0 + 100, routers=there, sent=(0, 1e11)), neighbour(2, T0 + 101, routers=here, sent=(0, 1e11))
    assert replace(scenery(*jobs), counted=None) and named_of(*jobs)[0] == "2"
    for gained, name in ((gained_at(*there), "1"), (gained_at(*here), "2"), (gained_at(*range(20)), None)):
        report = made(steps(1.5, 20), replace(scenery(*jobs), counted=gained))
        assert report["named"] == name
    report = made(steps(1.5, 20), replace(scenery(*jobs), counted=gained_at(*there)))
    assert [round(one["footprint"], 2) for one in report["candidates"]] == [pytest.approx(20 / 6, abs=0.01), 0.0]


def test_stalls_that_rose_where_its_links_lead_are_a_rise() -> None:
    from dataclasses import replace

    even, rose = Count(1e6, 1e6, 1e6, 1e6), Count(1e6, 1e5, 1e6, 1e6)
    held = scenery(neighbour(1, T0 + 100), own=even)
    assert made(steps(1.5, 20), replace(held, onward=even))["verdict"] == "cannot tell"
    assert made(steps(1.5, 20), replace(held, onward=rose))["named"] == "1"


def test_a_footprint_is_unknown_where_nothing_was_counted_or_gained() -> None:
    from flitwatch_domain.explanation.candidates import measure_footprint

    assert measure_footprint(OWN, None) is None and measure_footprint(OWN, np.zeros(20)) is None
    assert measure_footprint(OWN, np.full(20, np.nan)) is None and measure_footprint(OWN[:0], np.ones(20)) is None
    assert measure_footprint(OWN, np.ones(20)) == 1.0


def test_of_slow_jobs_the_one_that_wastes_most_nodes_comes_first() -> None:
    """Nodes times what the job takes longer; one node where nobody knows how many."""

    def slow(job: str, nodes: int | None, factor: float) -> Any:
        return {"job_id": job, "nodes": nodes, "slowdown": {"factor": factor}}

    report = [slow("a", None, 1.5), slow("b", 1, 1.6), slow("c", 8, 1.2), slow("d", 1, 1.9), slow("e", 2, 1.45)]
    assert [one["job_id"] for one in _sort_worst_first(report)] == ["c", "d", "e", "b", "a"]


# What is not known, and where an interval ends


def test_steps_whose_usual_time_is_unknown_are_neither_slow_nor_an_onset() -> None:
    quiet = np.zeros(30)
    quiet[10:16] = np.nan
    assert slowdown.find_elevated_stretch(quiet, 0.02) is None
    slow = np.where(np.arange(30) < 15, 0.0, 0.4)
    slow[14] = np.nan
    found = slowdown.find_elevated_stretch(slow, 0.02)
    assert found is not None and found[:2] == (15, 29)
    assert slowdown.onset_steps(slow, 15, 29, 0.02) == (15, 15)


def test_of_a_stretch_with_a_step_unknown_the_others_are_compared() -> None:
    usual = np.tile(np.full(30, 10.0), (5, 1))
    usual[:, 20] = np.nan
    taken = np.where(np.arange(30) < 15, 10.0, 15.0)
    found = slowdown.of_steps(slowdown.Steps(np.arange(30), taken, T0, usual))
    assert found is not None and (found.first_step, found.last_step) == (15, 29)
    assert (found.factor, found.lost_s) == (1.5, 14 * 5.0)


@pytest.mark.parametrize(("risen", "found"), [(0.45, True), (0.38, False)])
def test_a_rise_of_counters_is_six_standard_errors(risen: float, found: bool) -> None:
    """Values go up and down by a tenth about their means, so the noise of a difference is 0.2 / 0.6745 / sqrt(2) = 0.21."""
    at = T0 + np.arange(40.0)
    logs = np.where(np.arange(40) % 2, 0.1, -0.1) + np.where(np.arange(40) >= 20, risen, 0.0)
    score = risen / (0.2 / 0.6745 / math.sqrt(2) * math.sqrt(2 / 20))
    assert (score > 6) == found, "the figures of this test"
    assert (slowdown.find_rise_s(slowdown.Series(at, np.exp(logs), 1.0), T0, T0 + 40) is not None) == found


@pytest.mark.parametrize(("off", "found"), [(10.0, True), (10.5, False)])
def test_a_rise_may_lie_one_bucket_outside_the_interval(off: float, found: bool) -> None:
    at = T0 + 10 * np.arange(40.0)
    series = slowdown.Series(at, np.where(at >= T0 + 200, 4.0, 1.0), 10.0)
    assert (slowdown.find_rise_s(series, T0 + 200 + off, T0 + 260) == T0 + 200) == found
    assert (slowdown.find_rise_s(series, T0 + 140, T0 + 200 - off) == T0 + 200) == found


def test_buckets_without_a_value_or_with_zero_are_left_out_of_a_rise() -> None:
    at = T0 + 10 * np.arange(40.0)
    value = np.where(at >= T0 + 200, 4.0, 1.0)
    value[::7], value[5] = 0.0, np.nan
    assert slowdown.find_rise_s(slowdown.Series(at, value, 10.0), T0 + 180, T0 + 230) == T0 + 200


def test_counters_narrow_the_interval_to_ten_seconds_and_never_widen_it() -> None:
    assert slowdown.narrow_onset(T0, T0 + 100, T0 + 50) == (T0 + 40, T0 + 60)
    assert slowdown.narrow_onset(T0, T0 + 100, T0 + 5) == (T0, T0 + 15)
    assert slowdown.narrow_onset(T0, T0 + 100, T0 + 98) == (T0 + 88, T0 + 100)


def test_two_jobs_on_routers_of_no_group_share_none() -> None:
    """Some fabrics have no groups: nobody is near by them, and nothing breaks."""
    from dataclasses import replace

    nowhere = replace(scene(), group=np.full(20, -1))
    one = rank_jobs([neighbour(1, T0 + 100, routers=OWN)], nowhere)[0]
    assert (one.shared_routers, one.shared_groups, one.exposure) == (8, 0, 0.0)
    assert one.score == 1.0


def test_a_step_before_three_earlier_runs_had_it_has_no_usual_time() -> None:
    past = np.full((4, 5), 10.0)
    past[:2, 3], past[:1, 4] = np.nan, np.nan
    usual, _ = slowdown.usual_steps(past)
    assert np.isnan(usual).tolist() == [False, False, False, True, False] and usual[4] == 10.0
    assert np.isfinite(slowdown.usual_steps(past[:3, :3])[0]).all()


def test_the_spread_of_a_log_step_counts_what_is_known_alone() -> None:
    past = np.full((4, 6), np.nan)
    usual, sigma = slowdown.usual_steps(past)
    assert np.isnan(usual).all() and sigma == 0.02


def test_a_stretch_of_a_second_and_a_half_is_held_against_its_length() -> None:
    from dataclasses import replace

    short = replace(scene(), end_s=T0 + 111.5)
    half = rank_jobs([neighbour(1, T0 + 100, end_s=T0 + 110.75)], short)[0]
    assert half.presence == pytest.approx(0.5) and rank_jobs([neighbour(1, T0 + 100)], short)[0].presence == 1.0
    # Of a shorter one a second is taken: clocks do not agree better.
    shorter = replace(scene(), end_s=T0 + 110.2)
    assert rank_jobs([neighbour(1, T0 + 100, end_s=T0 + 110.1)], shorter)[0].presence == pytest.approx(0.1)


def test_bytes_are_load_where_every_job_that_started_is_counted() -> None:
    """Where one of them has no counted card, nodes stand for load, of those that started alone."""
    small, large = np.arange(2), np.arange(8)
    counted = [
        neighbour(1, T0 + 100, routers=small, sent=(0, 3e12)),
        neighbour(2, T0 + 100, routers=large, sent=(0, 1e12)),
        neighbour(3, T0 - 900, routers=large, sent=None),
    ]
    loads = {one.job.job_id: one.load for one in rank_jobs(counted, scene())}
    assert loads == pytest.approx({"1": 0.75, "2": 0.25, "3": 0.0})
    lacking = [
        counted[0],
        neighbour(2, T0 + 100, routers=large, sent=None),
        neighbour(3, T0 - 900, sent=(1e9, 9e12), most=1e9),
    ]
    loads = {one.job.job_id: one.load for one in rank_jobs(lacking, scene())}
    assert loads == pytest.approx({"1": 0.2, "2": 0.8, "3": 0.0})


def test_a_hundredth_of_what_changed_is_reported_and_three_jobs_are() -> None:
    def jobs(sent: list[float]) -> list[str]:
        near_it = [neighbour(at, T0 + 100, routers=OWN, sent=(0, one)) for at, one in enumerate(sent, 1)]
        report = made(steps(1.5, 20), scenery(*near_it))
        text = next(one["text"] for one in report["chain"] if one["part"] == "jobs")
        return [str(at) for at in range(1, len(sent) + 1) if f"Job {at} started" in text]

    assert jobs([985e9, 15e9]) == ["1", "2"] and jobs([995e9, 5e9]) == ["1"]
    assert jobs([4e11, 3e11, 2e11, 1e11]) == ["1", "2", "3"]
