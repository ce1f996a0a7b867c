"""Incidents as objects: duration, cost, and text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.flow import Flow
from flitwatch_domain.incidents import (
    Factor,
    LostTime,
    Minute,
    Pause,
    causes_of,
    find_busy_interval,
    find_longest_calm,
    find_pause,
    find_share,
    make_detail,
    make_title,
    node_hours,
    parts_of,
    sum_losses,
)

#: The slow stretch: from minute 10 to minute 20.
BEGAN_S, UNTIL_S = 600.0, 1200.0


def minutes(held: dict[int, tuple[float, float | None]]) -> list[Minute]:
    """By minute the waiting, and the causes' part."""
    return [Minute(60.0 * at, waiting, part) for at, (waiting, part) in held.items()]


def spans(
    first: int, last: int, waiting: float = 2.0, part: float | None = 0.9
) -> dict[int, tuple[float, float | None]]:
    return dict.fromkeys(range(first, last), (waiting, part))


def test_it_lasts_for_as_long_as_its_cause_keeps_the_links_busy() -> None:
    """From before the slow job began until after it ended."""
    assert find_busy_interval(minutes(spans(4, 31)), 0.1, BEGAN_S, UNTIL_S) == (240, 1860)
    # Where nothing is counted the slow stretch is all that is known.
    assert find_busy_interval([], 0.1, BEGAN_S, UNTIL_S) == (BEGAN_S, UNTIL_S)


@pytest.mark.parametrize("calm", [{}, dict.fromkeys((22, 23, 24), (0.1, 0.9)), dict.fromkeys((22, 23, 24), (2.0, 0.1)), dict.fromkeys((22, 23, 24), (2.0, None))])  # fmt: skip
def test_minutes_without_the_cause_end_it_and_a_short_pause_does_not(
    calm: dict[int, tuple[float, float | None]],
) -> None:
    """Not counted, calm, busy with others' traffic, or nobody knows whose."""
    held = spans(10, 22) | calm
    assert find_busy_interval(minutes(held | spans(26, 40)), 0.1, BEGAN_S, UNTIL_S)[1] == 22 * 60
    assert find_busy_interval(minutes(held | spans(25, 40)), 0.1, BEGAN_S, UNTIL_S)[1] == 40 * 60
    back = {30 - at: value for at, value in (held | spans(26, 40)).items()}
    assert find_busy_interval(minutes(back), 0.1, BEGAN_S, UNTIL_S)[0] == 9 * 60


def sent(*lengths: int, rate: float = 100.0, between: float = 0.1) -> list[tuple[float, float]]:
    """Minutes of a job that sends for so many minutes, then for so many only this part, and so on."""
    rates = [
        rate if number % 2 == 0 else rate * between for number, length in enumerate(lengths) for _ in range(length)
    ]
    return [(60.0 * at, rate) for at, rate in enumerate(rates)]


@pytest.mark.parametrize(
    ("lengths", "calm_s"),
    [((), 180), ((30,), 180), ((10, 20), 180), ((1, 1, 1, 1, 1), 360), ((2, 5, 2), 21 * 60), ((2, 5, 2, 3, 2), 18 * 60), ((10, 20, 10), 1800), ((0, 9, 3, 9), 180)],
)  # fmt: skip
def test_how_long_a_calm_may_be_follows_from_the_bursts_of_the_cause(lengths: tuple[int, ...], calm_s: float) -> None:
    """Three periods, three minutes at least and half an hour at most; one burst, or none, is no period."""
    assert find_longest_calm(sent(*lengths)) == calm_s
    assert find_longest_calm(sent(*lengths, rate=0.0)) == 180
    # Between its bursts a job may send a good deal; one that sends more than half of its most sends steadily.
    assert find_longest_calm(sent(*lengths, between=0.4)) == calm_s
    assert find_longest_calm(sent(*lengths, between=0.6)) == 180


def test_bursts_that_fill_no_minute_show_in_the_waiting() -> None:
    waited = [(60.0 * at, waiting) for at, waiting in enumerate((1.4, 1.8, 0.0, 1.6, 0.9, 0.0, 0.0, 0.0, 1.9, 0.0))]
    assert find_longest_calm(waited) == 3 * 240
    assert find_longest_calm([(at, 0.0) for at, _ in waited]) == 180


def test_a_cause_that_bursts_holds_it_for_three_periods_and_no_longer() -> None:
    held = spans(10, 20) | spans(30, 32) | spans(53, 55)
    assert find_busy_interval(minutes(held), 0.1, BEGAN_S, UNTIL_S, 1200)[1] == 32 * 60
    assert find_busy_interval(minutes(held), 0.1, BEGAN_S, UNTIL_S, 1260)[1] == 55 * 60


@pytest.mark.parametrize(
    ("bursts", "last", "pause"),
    [
        ([(10, 20)], 21, None),
        ([(10, 20)], 22, Pause(1200, None)),
        ([(10, 20), (30, 32)], 33, None),
        ([(10, 20), (30, 32)], 40, Pause(32 * 60, 20 * 60)),
        ([(10, 20), (30, 32), (34, 36)], 40, Pause(36 * 60, 12 * 60)),
        ([(10, 18)], 25, Pause(UNTIL_S, None)),
        ([], 25, None),
    ],
)
def test_a_pause_is_distinguished_from_three_calm_minutes_on(
    bursts: list[tuple[int, int]], last: int, pause: Pause | None
) -> None:
    held = spans(10, last + 1, 0.1)
    for first, end in bursts:
        held |= spans(first, end)
    assert find_pause(minutes(held), 0.1, BEGAN_S, UNTIL_S) == pause
    # Others' traffic on the same links is no burst of the cause.
    assert find_pause(minutes(held | spans(36, last + 1, 2.0, 0.1)), 0.1, BEGAN_S, UNTIL_S) == pause


def test_a_tenth_of_the_worst_keeps_it_and_less_does_not() -> None:
    """If one of two causes ends, flits wait much less than half as long for the other."""
    held = spans(10, 20, 4.1)
    assert find_busy_interval(minutes(held | spans(20, 25, 0.6)), 0.1, BEGAN_S, UNTIL_S)[1] == 1500
    assert find_busy_interval(minutes(held | spans(20, 25, 0.4)), 0.1, BEGAN_S, UNTIL_S)[1] == UNTIL_S


@given(
    st.dictionaries(st.integers(0, 60), st.tuples(st.floats(0, 10), st.none() | st.floats(0, 1)), max_size=40),
    st.floats(0, 1),
)
def test_it_never_begins_after_its_slow_job_nor_ends_before(
    held: dict[int, tuple[float, float | None]], quiet: float
) -> None:
    low, high = find_busy_interval(minutes(held), quiet, BEGAN_S, UNTIL_S)
    assert low <= BEGAN_S and high >= UNTIL_S
    # Each end is that of a minute that counts, or of the slow stretch.
    ends = {60.0 * at for at in held}
    assert low in ends | {BEGAN_S} and high - 60 in ends | {UNTIL_S - 60}


def test_node_hours_add_up_and_their_errors_as_squares() -> None:
    lost = node_hours([LostTime(3600, 3000, 4200, 10), LostTime(1800, 1000, 2600, 4)])
    assert lost is not None
    total, low, high = lost
    assert total == pytest.approx(12)
    assert total - low == pytest.approx(math.hypot(600 * 10, 800 * 4) / 3600) == pytest.approx(high - total)
    assert node_hours([]) == (0, 0, 0)
    assert node_hours([LostTime(3600, 3000, 4200, 10), LostTime(1800, 1000, 2600, None)]) is None
    assert (node_hours([LostTime(10, -500, 520, 1)]) or (1, 1))[1] == 0, "nobody loses less than nothing"


def test_parts_are_weighted_by_what_each_slow_job_lost() -> None:
    made = parts_of([{7: 0.9}, {7: 0.5, 8: 0.4}, {9: None}], [100.0, 300.0, 0.0])
    assert made == {7: pytest.approx(0.6), 8: pytest.approx(0.3), 9: None} and list(made) == [7, 8, 9]


def test_the_parts_do_not_vanish_while_nothing_is_lost_yet() -> None:
    assert parts_of([{7: 0.9}, {7: 0.5, 8: 0.4}], [0.0, 0.0]) == {7: pytest.approx(0.7), 8: pytest.approx(0.2)}


def test_a_cause_has_a_tenth_of_the_whole_and_is_not_slowed_itself() -> None:
    assert causes_of({7: 0.6, 8: 0.1, 9: 0.09}, {1: [7]}) == [7, 8]
    assert causes_of({7: 0.08, 9: 0.05}, {1: [7]}) == [7], "the largest always is one"
    assert causes_of({7: 0.6, 8: 0.3}, {8: [7]}) == [7] and causes_of({8: 0.3}, {8: []}) == [8]
    assert causes_of({7: None, 8: None}, {}) == [7, 8], "where only times and places name them"


def test_each_slowed_job_has_a_cause_that_ran_when_it_became_slow() -> None:
    """Job 9 slowed job 1 before job 7 started, and has little of the whole."""
    assert causes_of({7: 0.9, 8: 0.08, 9: 0.07}, {1: [9], 2: [7]}) == [7, 9]
    assert causes_of({7: 0.9, 9: 0.07}, {1: [7, 9], 2: [7]}) == [7], "job 7 ran too"
    assert causes_of({7: 0.9, 9: 0.07}, {1: [9], 2: [7], 9: [7]}) == [7, 9], "although slowed later"
    assert causes_of({7: 0.9, 9: 0.07}, {1: [], 2: [7]}) == [7], "none is known"


def test_what_is_said_names_jobs_by_number() -> None:
    at = 1_790_000_000.0
    assert make_title(["7"], ["1", "2"], 2, at, None, []) == "Job 7 has been slowing 2 jobs since 14:13:20 UTC"
    assert make_title(["7", "8"], ["1"], 1, at, None, []) == "Jobs 7 and 8 have been slowing job 1 since 14:13:20 UTC"
    assert (
        make_title(["7"], ["1"], 0, at, None, [])
        == "Job 7 slowed job 1 from 14:13:20 UTC and still keeps its links busy"
    )
    for pause, said in (
        (Pause(at + 60, 840.0), "in bursts, about every 14 minutes; the last burst ended at 14:14:20 UTC"),
        (Pause(at + 60, None), "; the last burst ended at 14:14:20 UTC"),
    ):
        title = make_title(["7"], ["1"], 0, at, None, [], pause)
        assert title.startswith("Job 7 slowed job 1 from 14:13:20 UTC") and title.endswith(said)
        assert make_title(["7", "8"], ["1"], 0, at, None, ["8"], pause).endswith(f"{said}; job 8 has ended")
    assert make_title(["7"], ["1"], 0, at, None, ["7"]) == "Job 7 slowed job 1 from 14:13:20 UTC and has ended"
    assert make_title(["7"], ["1"], 0, at, at + 60, ["7"]) == "Job 7 slowed job 1 from 14:13:20 UTC to 14:14:20 UTC"
    assert make_title([], [], 0, at, at, []) == "Withdrawn: the complete run of the slowed job does not confirm it"
    assert make_detail([("7", 0.9), ("8", None)], (4.2, 3.9, 4.5)) == (
        "90 % of the added waiting is due to the traffic of job 7. The slow jobs lost 4.2 node-hours (95 %: 3.9 to 4.5). Based "
        "on traffic and timing; not proof of cause."
    )
    assert "lost 12,346 node-hours (95 %: 999 to 23,000)" in make_detail([], (12345.6, 999.1, 23000.0))


def test_a_title_says_nothing_that_has_passed_and_nothing_that_no_counter_shows() -> None:
    at = 1_790_000_000.0
    both = "Jobs 7 and 8 have been slowing 2 jobs since 14:13:20 UTC"
    assert make_title(["7", "8"], ["1", "2"], 2, at, None, []) == both
    assert make_title(["7", "8"], ["1", "2"], 2, at, None, ["8"]) == f"{both}; job 8 has ended"
    assert make_title(["7", "8"], ["1", "2"], 1, at, None, []) == f"{both}; 1 is slow now"
    slowed = "Jobs 7 and 8 slowed job 1 from 14:13:20 UTC"
    assert make_title(["7", "8"], ["1"], 0, at, None, ["8"]) == f"{slowed}, and job 7 still keeps its links busy"
    assert make_title(["7", "8"], ["1"], 0, at, None, ["8", "7"]) == f"{slowed} and have ended"
    assert (
        make_title(["7", "8"], ["1"], 0, at, None, ["8"], counted=False)
        == f"{slowed}; whether job 7 still keeps its links busy is unknown"
    )
    assert (
        make_title(["7"], ["1"], 0, at, at + 90_000, ["7"])
        == "Job 7 slowed job 1 from 2026-09-21 14:13:20 UTC to 2026-09-22 15:13:20 UTC"
    )


@pytest.mark.parametrize(("runs", "of_runs"), [(3, 0.0), (5, 0.03), (20, 0.0), (20, 0.03)])
def test_the_interval_of_what_is_lost_holds_the_truth_in_nine_of_ten_runs(runs: int, of_runs: float) -> None:
    """Steps differ by 4 %, runs as a whole by `of_runs`; nine of ten at least, of an interval of 95 % by few runs."""
    rng = np.random.default_rng([runs, round(100 * of_runs)])
    held = found = 0
    for _ in range(300):
        usual = 10 * np.exp(rng.normal(0, 0.04, (runs + 1, 60)) + rng.normal(0, of_runs, (runs + 1, 1)))
        taken = usual[0].copy()
        taken[20:50] *= 1.5
        made = slowdown.of_steps(slowdown.Steps(np.arange(60), taken, 0.0, usual[1:], ended=True))
        if made is None or (made.first_step, made.last_step) != (20, 49):
            continue
        low, high = made.lost_interval_s
        found += 1
        held += low <= taken[20:50].sum() - usual[0, 20:50].sum() <= high
    assert found >= 280 and held / found >= 0.9, (held, found)


def named(parts: dict[int, float | None], within: float | None) -> list[dict[str, Any]]:
    return [{"job_pk": job, "part": part, "part_within": within} for job, part in parts.items()]


def test_a_share_may_be_what_its_traffic_shows_up_to_all_that_no_other_named_job_has() -> None:
    alone, two = find_share(named({1: 0.6}, 0.1), 1), find_share(named({1: 0.5, 2: 0.25}, 0.1), 1)
    assert alone == Factor(1, 0.6, 1, 0.1, 0) and two == Factor(2 / 3, 0.5, 0.75, 0.1, 0.1)
    assert find_share(named({1: 0.5, 2: 0.25}, 0.9), 1) == Factor(2 / 3, 0.5, 0.75, 0.5, 0.25), "no part is below 0"
    # Named only from times and places, by one minute, or by an older version.
    for unknown in (named({1: None, 2: None}, None), named({1: 0.4, 2: 0.4}, None), [{"job_pk": job, "part": 0.4} for job in (1, 2)]):  # fmt: skip
        assert find_share(unknown, 1) == Factor(0.5, 0, 1)


def cost(rng: np.random.Generator, share: float, rest: float, moments: int, victims: int) -> tuple[float, float, float]:
    """What a planted job cost, as reported, in units of the truth: each victim lost 100 s with an error of 10 s, of which it caused `share` and unnamed jobs `rest`."""
    errors, waits = 0.1 * rng.normal(size=moments), rng.uniform(0.5, 1.5, moments)
    losses = []
    for _ in range(victims):
        each = [{1: share + error, 2: 1 - share - rest - error} for error in errors]
        mean = {job: float(waits @ [part[job] for part in each] / waits.sum()) for job in (1, 2)}
        flow = Flow(1.0, 0.0, 1.0, mean, 0.0, 0.0, [], 60, list(zip(waits.tolist(), each, strict=True)))
        cause = [{"job_pk": job, "part": part, "part_within": flow.part_within(job)} for job, part in mean.items()]
        lost = 100 + 10 * float(rng.normal())
        losses.append((LostTime(lost, lost - 19.6, lost + 19.6, 1), find_share(cause, 1)))
    total, low, high = sum_losses(losses)
    return total / (100 * victims), low / (100 * victims), high / (100 * victims)


def test_the_interval_of_what_a_job_cost_holds_the_truth_in_few_draws_too() -> None:
    rng = np.random.default_rng(1)
    costs = [cost(rng, 0.5, 0.0, 3, 2) for _ in range(150)]
    assert 0.9 <= np.mean([low <= 0.5 <= high for _, low, high in costs]) <= 0.99
    # The errors of lost times alone are too small by far.
    assert np.mean([abs(total - 0.5) <= 0.5 * 0.196 / math.sqrt(2) for total, _, _ in costs]) < 0.85


@pytest.mark.system("numeric")
@pytest.mark.parametrize("moments", [3, 9])
@pytest.mark.parametrize("victims", [1, 3])
def test_the_interval_of_what_a_job_cost_holds_the_truth(moments: int, victims: int) -> None:
    rng = np.random.default_rng([moments, victims])
    for rest in (0.0, 0.2):
        intervals = np.array([cost(rng, 0.5, rest, moments, victims)[1:] for _ in range(1000)])
        # With unnamed jobs, their part may be its own: none of it, or all.
        for true in (0.5, 0.5 + rest):
            held = ((intervals[:, 0] <= true) & (true <= intervals[:, 1])).mean()
            assert 0.92 <= held <= (1.0 if rest else 0.98), (rest, true, held)
