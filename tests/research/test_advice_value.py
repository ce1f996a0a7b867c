"""The study of advice: an adviser with the truth finds planted savings, no adviser claims absent savings, and no served adviser sees the truth."""

from __future__ import annotations

import gzip
import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from click.testing import CliRunner

from flitwatch_domain.advice.pattern import Parts
from flitwatch_domain.errors import BadRequest
from flitwatch_research.advice_value import job_log, modes, network, variants
from flitwatch_research.advice_value.advisers import Answer, Question, Served
from flitwatch_research.advice_value.backfill import AGE_WEIGHT, OLDEST_S, SIZE_WEIGHT
from flitwatch_research.advice_value.closed_loop import Loop
from flitwatch_research.advice_value.mode_fit import PATTERNS, measure_case
from flitwatch_research.advice_value.modes import ALTERNATE, HIGH_BIAS, PLACINGS, Effect, load_effects
from flitwatch_research.advice_value.network import Network
from flitwatch_research.advice_value.oracle import Oracle
from flitwatch_research.advice_value.pieces import (
    POLICIES,
    JobsFile,
    Piece,
    make_adviser,
    simulate_month,
    summarize_month,
)
from flitwatch_research.advice_value.study import compare_policies, decide_verdict, mean_interval
from flitwatch_research.advice_value.variants import GROUPS, QUIET, make_month, small_machine
from flitwatch_research.commands.study import study
from flitwatch_simulation.application_aware import DEFAULT_MODE
from flitwatch_twin.users import Exchange

TICK_S = 600.0


@pytest.fixture(scope="module")
def strong():
    """Three days alongside aggressors that are always there and send all they can, and nobody else."""
    month = make_month("plain", 3, 3, TICK_S)
    users = month.users
    aggressor = np.isin(np.arange(len(users)), month.aggressors)
    rate, duty = np.where(aggressor, 2.0, 0.02), np.where(aggressor, 0.95, users.duty)
    jobs = tuple(job for job in month.jobs if job.application or job.user in month.aggressors)
    return replace(month, users=replace(users, rate=rate, duty=duty), jobs=jobs)


@pytest.mark.system("numeric")
def test_who_knows_a_strong_aggressor_saves_node_hours(strong) -> None:
    rows = [summarize_month(strong, policy, simulate_month(strong, policy)) for policy in ("none", "oracle")]
    none, oracle = (one["feeling_node_hours"] for one in rows)
    assert oracle < 0.99 * none
    assert rows[1]["preferred"] > 10


@pytest.mark.system("numeric")
def test_where_nothing_interferes_no_policy_saves_anything() -> None:
    month = make_month(QUIET, 1, 2, TICK_S)
    rows = {policy: summarize_month(month, policy, simulate_month(month, policy)) for policy in POLICIES}
    hours = [one["node_hours"] for one in rows.values()]
    assert hours == pytest.approx([hours[0]] * len(hours), rel=1e-9)
    # Three copies of a seed: the narrowest interval that there is, and still nothing is claimed.
    comparison = compare_policies([one for one in rows.values() for _ in range(3)])
    assert {one["verdict"] for policy, one in comparison.items() if policy != "none"} <= {"cannot tell", "does harm"}
    assert rows["counters"]["asked"] > 100


class Waits:
    """Delays every job for as long as it may."""

    def counted(self, *_) -> None:
        pass

    started = ended = carded = counted

    def answer(self, question, now_s) -> Answer:
        return Answer(again_s=now_s + 600.0)

    def routed(self, *_) -> None:
        return None


@pytest.mark.system("numeric")
def test_waiting_that_saves_nothing_is_harm() -> None:
    rows = []
    for seed in (1, 2, 3):
        month = make_month(QUIET, seed, 2, TICK_S)
        months = (("none", simulate_month(month, "none")), ("all", Loop(month, Waits()).run()))
        rows += [summarize_month(month, policy, outcome) for policy, outcome in months]
        assert rows[-1]["wait_mean_s"] > rows[-2]["wait_mean_s"]
    found = compare_policies(rows)["all"]
    assert found["verdict"] == "does harm"
    assert found["node_hours_saved_share"]["mean"] == pytest.approx(0.0, abs=1e-9)
    assert found["worst_user"]["wait_change_mean_s"] > 1000


@pytest.mark.system("numeric")
def test_every_job_runs_once_and_gives_back_its_nodes(strong) -> None:
    outcome = simulate_month(strong, "counters")
    submit = np.array([job.submit_s for job in strong.jobs])
    alone = np.array([job.alone_s for job in strong.jobs])
    assert (outcome.start_s >= submit).all()
    assert (outcome.end_s - outcome.start_s >= alone - 1e-6).all()
    nodes = np.array([job.nodes for job in strong.jobs])
    for at in np.linspace(0, strong.span_s, 200):
        assert nodes[(outcome.start_s <= at) & (outcome.end_s > at)].sum() <= strong.machine.nodes


class Tape:
    """An adviser that notes its input, its questions, and the answers of another one."""

    def __init__(self, inner: Served) -> None:
        self._inner = inner
        self.calls: list[tuple[str, tuple, object]] = []

    def _pass(self, name: str, *arguments):
        answer = getattr(self._inner, name)(*arguments)
        self.calls.append((name, arguments, answer))
        return answer

    def counted(self, *arguments):
        return self._pass("counted", *arguments)

    def started(self, *arguments):
        return self._pass("started", *arguments)

    def ended(self, *arguments):
        return self._pass("ended", *arguments)

    def carded(self, *arguments):
        return self._pass("carded", *arguments)

    def answer(self, *arguments):
        return self._pass("answer", *arguments)

    def routed(self, *arguments):
        return self._pass("routed", *arguments)


@pytest.mark.system("numeric")
def test_decisions_rest_on_what_is_seen_and_a_scrambled_truth_changes_none() -> None:
    month = make_month("plain", 2, 9, TICK_S)
    tape = Tape(make_adviser(month, "all"))
    Loop(month, tape).run()
    _scramble(month)
    again = make_adviser(month, "all")
    answers = [(getattr(again, name)(*arguments), answer) for name, arguments, answer in tape.calls]
    assert all(one == answer for one, answer in answers)
    asked = [answer for name, _, answer in tape.calls if name == "answer"]
    assert any(answer.preferred is not None for answer in asked), "no advice was given: the test asks nothing"
    assert again._modes == tape._inner._modes and again._modes, "no job alternated: the test asks nothing"
    assert again._blamed == tape._inner._blamed
    assert again._drivers == tape._inner._drivers and again._drivers, "no driver was found: the test asks nothing"
    assert again._renew_basis(1e6).residents == tape._inner._renew_basis(1e6).residents


def _scramble(month) -> None:
    """Everything that is true and that no site records, in place."""
    rng = np.random.default_rng(0)
    for name in (field.name for field in fields(month.users)):
        values = getattr(month.users, name)
        if isinstance(values, np.ndarray):
            rng.shuffle(values)
    for values in (
        month.level,
        month.counted,
        month.counted_apart,
        *(cause.sensitivity for cause in month.causes.values()),
    ):
        rng.shuffle(values)


@pytest.mark.system("numeric")
def test_the_scrambled_truth_would_have_changed_the_month() -> None:
    month = make_month("plain", 2, 2, TICK_S)
    before = simulate_month(month, "none").end_s
    _scramble(month)
    assert not np.allclose(before, simulate_month(month, "none").end_s)


@pytest.mark.system("numeric")
def test_the_same_seed_gives_the_same_month() -> None:
    first, second = (simulate_month(make_month("everything", 4, 3, TICK_S), "all") for _ in range(2))
    assert np.array_equal(first.end_s, second.end_s) and np.array_equal(first.start_s, second.start_s)
    assert first.delayed == second.delayed and first.preferred == second.preferred


@pytest.mark.system("numeric")
@pytest.mark.parametrize(
    "part", ["pattern", *(pytest.param(part, marks=pytest.mark.system("numeric")) for part in ("running", "drivers"))]
)
def test_each_new_part_acts_alone_once_it_knows_something(part: str) -> None:
    month = make_month("plain", 2, 9, TICK_S)
    outcome = simulate_month(month, part)
    assert outcome.asked > 300 and outcome.preferred > 0


@pytest.mark.system("numeric")
def test_regret_is_what_the_oracle_saves_beyond(strong) -> None:
    made = []
    for policy in ("none", "counters", "oracle"):
        outcome = simulate_month(strong, policy)
        made += [{**summarize_month(strong, policy, outcome), "seed": seed} for seed in (1, 2, 3)]
    found = compare_policies(made)
    for policy in ("none", "counters", "oracle"):
        saved, best = (found[name]["node_hours_saved_share"]["mean"] for name in (policy, "oracle"))
        assert found[policy]["regret"]["mean"] == pytest.approx(best - saved)
    assert found["none"]["regret"]["mean"] > 0.005 and found["oracle"]["regret"]["mean"] == 0


@pytest.mark.system("numeric")
def test_the_oracle_chooses_as_the_oracle_and_who_asks_nobody_does_not(strong) -> None:
    comparison = compare_policies(
        [summarize_month(strong, policy, simulate_month(strong, policy)) for policy in ("none", "oracle")]
    )
    none, oracle = (comparison[policy]["decisions"] for policy in ("none", "oracle"))
    assert none["count"] == oracle["count"] == sum(bool(job.application) for job in strong.jobs)
    assert oracle["place_as_the_oracle"]["mean"] == oracle["mode_as_the_oracle"]["mean"] == 1.0
    assert oracle["regret"]["mean"] == pytest.approx(0.0, abs=1e-9)
    assert none["place_as_the_oracle"]["mean"] < 0.9 and none["regret"]["mean"] > 0.005


@pytest.mark.system("numeric")
def test_a_judge_changes_nothing(strong) -> None:
    judged = Loop(strong, make_adviser(strong, "served"), Oracle()).run()
    alone = Loop(strong, make_adviser(strong, "served")).run()
    assert np.array_equal(judged.start_s, alone.start_s) and np.array_equal(judged.end_s, alone.end_s)
    assert judged.choices.count > 0 and alone.choices.count == 0


@pytest.mark.system("numeric")
def test_of_placement_and_delays_only_one_is_followed(strong) -> None:
    placement, delays = (simulate_month(strong, policy) for policy in ("placement", "delays"))
    assert placement.preferred > 0 and placement.delayed == 0
    assert delays.preferred == 0


def test_verdicts() -> None:
    def saved(*values):
        return mean_interval(np.array(values))

    calm = saved(0.0, 1.0, -1.0)
    assert decide_verdict(saved(0.02, 0.03, 0.025), calm) == "pays"
    assert decide_verdict(saved(-0.02, -0.03, -0.025), calm) == "does harm"
    assert decide_verdict(saved(0.02, -0.03, 0.0), calm) == "cannot tell"
    assert decide_verdict(saved(0.02, -0.03, 0.0), saved(600.0, 620.0, 610.0)) == "does harm"
    assert decide_verdict(saved(0.5, 0.5), saved(0.0, 0.0)) == "cannot tell", "two seeds are none"


# Jobs of a real log in the study of advice: read as the log has them, started as an independent EASY backfill starts them, drawn as the published figures say.


JOBS_TICK_S = 300.0


def line(number: int, submit: int, run: int, processors: int, limit: int, user: int = 1, wait: int = 0) -> str:
    return f"{number} {submit} {wait} {run} {processors} -1 -1 {processors} {limit} -1 1 {user} 1 -1 1 -1 -1 -1\n"


def written(path: Path, rows: list[str], nodes: int, begin: int = 1_770_100_000) -> Path:
    path.write_text(f"; UnixStartTime: {begin}\n; MaxNodes: {nodes}\n; MaxProcs: {nodes}\n" + "".join(rows))
    return path


def random_log(path: Path, seed: int, nodes: int) -> Path:
    rng = np.random.default_rng(seed)
    rows = []
    for number, at in enumerate(np.sort(rng.integers(0, 36 * 3600, 60)).tolist()):
        run = int(rng.integers(600, 6 * 3600))
        size = int(rng.integers(1, nodes // 2 if number % 5 else nodes + 1))
        rows.append(line(number + 1, at, run, size, int(run * rng.uniform(1.0, 3.0)), int(rng.integers(1, 9))))
    return written(path, rows, nodes)


def easy(jobs: list[job_log.LoggedJob], nodes: int) -> list[float]:
    """Starts by EASY backfill at every tick, written down a second time: no arrays, one list of (end by limit, nodes) a tick."""
    start: dict[int, float] = {}
    now = 0.0
    while len(start) < len(jobs):
        going = {n: at for n, at in start.items() if at + jobs[n].run_s > now}
        free = nodes - sum(jobs[n].nodes for n in going)
        queue = [n for n, job in enumerate(jobs) if n not in start and job.submit_s <= now]

        def rank(n: int, now: float = now) -> tuple[float, float, int]:
            age = min((now - jobs[n].submit_s) / OLDEST_S, 1.0)
            return -(AGE_WEIGHT * age + SIZE_WEIGHT * jobs[n].nodes / nodes), jobs[n].submit_s, n

        shadow: float | None = None
        spare = 0
        for n in sorted(queue, key=rank):
            job = jobs[n]
            if free == 0:
                break
            if job.nodes > free:
                if shadow is None:
                    # When the first that does not fit will fit, if everybody takes their whole limit.
                    ends = sorted((max(start[m] + jobs[m].limit_s, now), jobs[m].nodes) for m in going)
                    total = free
                    for end, count in ends:
                        total += count
                        if total >= job.nodes:
                            shadow = end
                            break
                    assert shadow is not None
                    spare = free + sum(count for end, count in ends if end <= shadow) - job.nodes
                continue
            if shadow is None or now + job.limit_s <= shadow:
                pass
            elif job.nodes <= spare:
                spare -= job.nodes
            else:
                continue
            start[n] = now
            going[n] = now
            free -= job.nodes
        now += JOBS_TICK_S
    return [start[n] for n in range(len(jobs))]


@pytest.mark.parametrize("seed", range(6))
def test_waits_are_those_of_an_independent_backfill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(variants, "FEELING_SHARE", 0.0)
    nodes = small_machine().nodes
    log = job_log.read_log(random_log(tmp_path / "log.swf", seed, nodes))
    month = make_month(QUIET, 1, 3, JOBS_TICK_S, log)
    assert [(job.submit_s, job.nodes, job.limit_s) for job in month.jobs] == [
        (one.submit_s, one.nodes, one.limit_s) for one in log.jobs
    ]
    outcome = Loop(month, None).run()
    expected = easy(list(log.jobs), nodes)
    assert outcome.start_s.tolist() == expected
    assert max(np.array(expected) - [one.submit_s for one in log.jobs]) > 3600, "nobody waited: the test asks nothing"
    again = Loop(make_month(QUIET, 1, 3, JOBS_TICK_S, log), None).run()
    assert again.start_s.tolist() == expected and again.end_s.tolist() == outcome.end_s.tolist()


def test_a_log_is_read_as_it_is(tmp_path: Path) -> None:
    rows = [
        line(1, 50, 600, 8, 1200, 3),
        line(2, 60, 700, 4, -1, -1),
        line(3, 70, 0, 4, 900),
        line(4, 80, 900, 16, 800),
        "5 90 1\n",
    ]
    log = job_log.read_log(written(tmp_path / "log.swf", rows, 16))
    assert log.nodes == 16 and log.rejected == 1
    assert log.jobs == (
        job_log.LoggedJob(0.0, 8, 600.0, 1200.0, "3"),
        job_log.LoggedJob(10.0, 4, 700.0, 700.0, ""),
        job_log.LoggedJob(30.0, 16, 900.0, 900.0, "1"),
    )
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress((tmp_path / "log.swf").read_bytes()))
    assert job_log.read_log(packed).jobs == log.jobs and JobsFile.of(packed).digest == log.digest
    # Times that count from 1970, under a begin of 0.
    old = written(tmp_path / "old.swf", [line(1, 1_641_021_254, 600, 8, 1200)], 16, begin=0)
    assert job_log.read_log(old).jobs == (job_log.LoggedJob(0.0, 8, 600.0, 1200.0, "1"),)
    for name, text, said in (("none.swf", "; UnixStartTime: 0\n", "no job"), ("gone.swf", None, "cannot be read")):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(BadRequest, match=said):
            job_log.read_log(tmp_path / name)


def test_sizes_are_shares_of_the_machine_and_a_seed_draws_the_days(tmp_path: Path) -> None:
    rows = [line(day + 1, day * 86_400 + 5, 600, 1 + day % 16, 1200) for day in range(40)]
    log = job_log.read_log(written(tmp_path / "log.swf", rows, 16))
    windows = [log.window(np.random.default_rng(seed), 5, 1472) for seed in range(12)]
    assert all(len(one) == 5 and one[0].submit_s >= 0 and one[-1].submit_s < 5 * 86_400 for one in windows)
    assert len({one[0].nodes for one in windows}) > 4
    assert {job.nodes for one in windows for job in one} <= {92 * size for size in range(1, 17)}


@pytest.mark.system("numeric")
def test_jobs_that_feel_the_network_take_the_place_of_others(tmp_path: Path) -> None:
    nodes = small_machine().nodes
    log = job_log.read_log(random_log(tmp_path / "log.swf", 3, nodes))
    month = make_month("plain", 1, 2, JOBS_TICK_S, log)
    feeling = [job for job in month.jobs if job.application]
    assert feeling and {job.application for job in feeling} <= set(variants.FEELING)
    work = sum(job.nodes * job.run_s for job in log.jobs)
    left = sum(job.nodes * job.alone_s for job in month.jobs if not job.application)
    assert left == pytest.approx((1 - variants.FEELING_SHARE) * work, rel=0.25)
    assert all(job.limit_s >= job.alone_s for job in month.jobs)
    served = [summarize_month(month, policy, simulate_month(month, policy)) for policy in ("none", "all")]
    assert served[0]["jobs"] == served[1]["jobs"] and served[1]["asked"] > 0


def test_a_kept_piece_belongs_to_its_log(tmp_path: Path) -> None:
    nodes = small_machine().nodes
    logs = [JobsFile.of(random_log(tmp_path / f"{seed}.swf", seed, nodes)) for seed in (1, 2)]
    kept = {Piece("plain", 1, "none", 2, log).kept for log in (*logs, None)}
    assert len(kept) == 3


def test_drawn_jobs_are_as_the_published_figures_say() -> None:
    published, rng = job_log.load_theta_figures(), np.random.default_rng(1)
    span = 400 * 86_400.0
    jobs = job_log.drawn_as_theta(rng, 4360, 0.5, span)
    work = sum(one.nodes * one.run_s for one in jobs)
    assert work == pytest.approx(0.5 * 4360 * span, rel=0.02)
    sizes = np.array([one.nodes for one in jobs])
    for share, one in zip(((sizes <= 129).mean(), (sizes > 257).mean()), published["sizes"][::2], strict=True):
        assert share == pytest.approx(one["share_of_jobs"], abs=0.02), one["nodes"]
    small = np.array([one.run_s for one in jobs if one.nodes <= 129])
    at = dict(zip(published["levels"], published["sizes"][0]["run_s"], strict=True))
    for level in (0.2, 0.5, 0.9):
        assert np.quantile(small, level) == pytest.approx(at[level], rel=0.1)
    assert all(one.limit_s >= one.run_s for one in jobs)
    hours = np.bincount([int(one.submit_s % 86_400 // 3600) for one in jobs], minlength=24) / len(jobs)
    assert np.abs(hours - published["submitted_by_hour_utc"]).max() < 0.012
    assert "licence" in published["source"] and "commit" in published["source"]


def test_the_variant_with_jobs_as_on_theta_asks_for_its_share_of_the_machine() -> None:
    month = make_month(variants.THETA, 101, 14, JOBS_TICK_S)
    usual = sum(
        job.nodes * job.alone_s * (variants.USUAL_OVER_ALONE if job.application else 1.0) for job in month.jobs
    ) / (month.machine.nodes * month.span_s)
    assert usual == pytest.approx(job_log.load_theta_figures()["utilisation"], abs=0.05)


# Routing modes in the study of advice: the effect is the packet engine's, the adviser sees network cards only, what helps is advised and what harms is not.


MODES_TICK_S = 300.0

FAST, SLOW = 0.6, 1.6


def planted(time: float, latency: float) -> dict[tuple[int, int, str, str], Effect]:
    """High bias takes `time` of the default's, and its network cards count `latency` of the default's latency."""
    one = np.ones(1)
    usual = Effect(0 * one, one, 1000 * one, 0.01 * one, 1.0)
    biased = Effect(0 * one, time * one, latency * 1000 * one, 0.01 * one, 0.2)
    spans = [
        (int(exchange), groups, placing)
        for exchange in Exchange
        for groups in range(1, GROUPS + 1)
        for placing in PLACINGS
    ]
    return {(*one, mode): made for one in spans for mode, made in ((DEFAULT_MODE, usual), (HIGH_BIAS, biased))}


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch):
    def plant(time: float, latency: float) -> None:
        table = planted(time, latency)
        monkeypatch.setattr(modes, "load_effects", lambda: table)

    return plant


def saved(variant: str = "plain") -> float:
    month = make_month(variant, 1, 4, MODES_TICK_S)
    none, routing = (
        summarize_month(month, policy, simulate_month(month, policy))["feeling_node_hours"]
        for policy in ("none", "routing")
    )
    return 1 - routing / none


@pytest.mark.system("numeric")
def test_a_mode_that_is_planted_as_fast_and_looks_fast_saves(plant) -> None:
    plant(FAST, FAST)
    assert saved() > 0.1


@pytest.mark.system("numeric")
def test_a_mode_that_looks_fast_and_is_slow_is_not_advised(plant) -> None:
    """Latency and stalls favour it, but the job gets on more slowly under it. A job of each application alternates once: that is all that it costs."""
    plant(SLOW, FAST)
    assert abs(saved()) < 0.05


@pytest.mark.system("numeric")
def test_who_insists_on_a_slow_mode_does_harm(plant) -> None:
    """The effect is the simulation's own: what network cards count does not make it true."""

    class Insists(Served):
        def routed(self, question: Question, now_s: float) -> str:
            return HIGH_BIAS

    plant(SLOW, FAST)
    month = make_month("plain", 1, 2, MODES_TICK_S)
    insists = Insists(Parts.of([]), month.machine.nodes, month.machine.groups)
    none, biased = (
        summarize_month(month, "x", Loop(month, one).run())["feeling_node_hours"] for one in (None, insists)
    )
    assert biased > 1.1 * none


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_mode_is_asked_for_where_the_job_stands_and_never_within_one_group(plant, groups: int) -> None:
    """A job over several groups alternates and teaches; then the next one gets the mode, unless it stands in one group."""
    adviser = Served(Parts.of(["routing"]), 1536, GROUPS)
    adviser._modes["milc-128"] = {
        "environment": f"MPICH_GNI_ROUTING_MODE={HIGH_BIAS}",
        "recommendation_id": 0,
        "reason": "",
        "groups": 2,
    }
    question = Question("ann", "milc-128", 128, (tuple(at % groups for at in range(128)),))
    first, then = (adviser.routed(question, float(now)) for now in (0, 300))
    assert (first, then) == ((ALTERNATE, HIGH_BIAS) if groups > 1 else (None, None))


@pytest.mark.system("numeric")
def test_a_mode_that_looks_slow_is_never_taken_however_fast_it_is(plant) -> None:
    plant(FAST, SLOW)
    # A job of each application alternates once: that is all.
    assert 0 <= saved() < 0.05


@pytest.mark.system("numeric")
def test_a_mode_changes_nothing_where_nothing_feels_the_network(plant) -> None:
    plant(SLOW, FAST)
    assert saved(QUIET) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.system("numeric")
def test_without_its_part_no_job_is_routed_otherwise(plant) -> None:
    plant(FAST, FAST)
    month = make_month("plain", 1, 2, MODES_TICK_S)
    none, counters = (simulate_month(month, policy) for policy in ("none", "counters"))
    hours = [summarize_month(month, "x", one)["feeling_node_hours"] for one in (none, counters)]
    assert hours[1] > 0.9 * hours[0], "two days have no past: places are all that differ"


@pytest.mark.system("numeric")
@pytest.mark.parametrize("groups", [1, 4])
def test_the_packet_engine_says_of_other_nodes_what_the_table_says(groups: int) -> None:
    """Slower within one group, faster over four on scattered nodes, without background and with it; no packet takes a detour."""
    again = measure_case(Exchange.NEIGHBOUR, groups, "scattered", (7,))
    stored = load_effects()[int(Exchange.NEIGHBOUR), groups, "scattered", HIGH_BIAS]
    for times in (again["modes"][HIGH_BIAS]["time"], stored.time.tolist()):
        assert min(times) > 1.2 if groups == 1 else max(times) < 0.95
    assert again["modes"][HIGH_BIAS]["non_minimal"] == stored.detours == 0.0
    assert again["modes"][DEFAULT_MODE]["time"] == [1.0, 1.0]


def test_the_table_has_every_exchange_of_the_jobs_on_every_number_of_groups() -> None:
    assert set(load_effects()) == {
        (int(exchange), groups, placing, mode)
        for exchange in PATTERNS
        for groups in range(1, GROUPS + 1)
        for placing in PLACINGS
        for mode in (DEFAULT_MODE, HIGH_BIAS)
    }
    for (*_, mode), effect in load_effects().items():
        assert (np.diff(effect.utilisation) > 0).all()
        if mode == DEFAULT_MODE:
            assert effect.time_at(0.4) == 1.0 and effect.detours == 1.0


def test_fewer_detours_take_as_much_from_the_load_as_the_twins_law_says() -> None:
    machine = small_machine()
    made = Network(machine)
    nodes = np.concatenate([np.flatnonzero(machine.group_of[machine.node_router] == group)[:32] for group in (0, 1)])
    usual = made.load(nodes, int(Exchange.NEIGHBOUR), (1, 2), False)
    biased = made.routed(usual, len(nodes), (HIGH_BIAS,))
    factor = load_effects()[int(Exchange.NEIGHBOUR), 2, "packed", HIGH_BIAS].detours
    assert usual.effect(HIGH_BIAS) is load_effects()[int(Exchange.NEIGHBOUR), 2, "packed", HIGH_BIAS]
    scattered = made.load(np.arange(0, 512, 4), int(Exchange.NEIGHBOUR), (1, 2), False)
    assert (
        scattered.effect(HIGH_BIAS) is load_effects()[int(Exchange.NEIGHBOUR), scattered.spans, "scattered", HIGH_BIAS]
    )
    # In the footprint's law (1 + DETOUR) of what leaves a group crosses its global links, and DETOUR of all over all groups.
    out = 32 * 0.5 * 0.35
    change = (usual.global_[0] - biased.global_[0]) * network.GLOBAL
    assert change[0] == pytest.approx((1 - factor) * 0.3 * (out + 2 * out / GROUPS), rel=1e-3)
    assert change[3] == pytest.approx((1 - factor) * 0.3 * 2 * out / GROUPS, rel=1e-3)
    assert made.routed(usual, len(nodes), (DEFAULT_MODE,)) is usual
    inside = made.load(nodes[:32], int(Exchange.NEIGHBOUR), (1, 2), False)
    assert made.routed(inside, 32, (HIGH_BIAS,)) is inside
    assert replace(usual).spans == 2


SHORT = ["advice-value", "--seeds", "1", "--days", "1", "--variant", "quiet", "--processes", "1"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "advice-value"


@pytest.mark.system("numeric")
def test_it_prints_every_figure_writes_both_files_and_goes_on_from_what_is_kept(kept: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs" / "advice-value.md"
    first = CliRunner().invoke(study, [*SHORT, "--json", "--out", str(out)], catch_exceptions=False)
    assert first.exit_code == 0, first.output
    answer = orjson.loads(first.stdout)
    assert (
        answer["simulated"] and answer["command"] == "flitwatch study advice-value --seeds 1 --days 1 --variant quiet"
    )
    assert list(answer["variants"]["quiet"]) == list(POLICIES)
    for policy in POLICIES[1:]:
        one = answer["variants"]["quiet"][policy]
        assert set(one["node_hours_saved_share"]) == {"mean", "low", "high"}
        assert {
            "slowdown",
            "wait_change",
            "worst_user",
            "oracle_share",
            "regret",
            "decisions",
            "utilisation",
        } <= one.keys()
        assert one["verdict"] == "cannot tell", "one seed shows nothing"
    assert answer["command"] in out.read_text() and "**simulated**" in out.read_text()
    assert orjson.loads(out.with_suffix(".json").read_bytes())["points"]
    made = {path: os.stat(path).st_mtime_ns for path in kept.iterdir()}
    assert len(made) == len(POLICIES)
    again = CliRunner().invoke(study, [*SHORT, "--json"], catch_exceptions=False)
    assert orjson.loads(again.stdout)["variants"] == answer["variants"]
    assert {path: os.stat(path).st_mtime_ns for path in kept.iterdir()} == made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["advice-value", "--variant", "nowhere"], "there is no variant"),
        (["advice-value", "--runs", "9"], "has no option --runs"),
        (["hoefler-example", "--first-seed", "3"], "has no option --first-seed"),
        (["advice-value", "--jobs", "no.swf"], "does not exist"),
        (["hoefler-example", "--seeds", "3"], "has no option --seeds"),
    ],
)
def test_what_it_does_not_have_is_refused(kept: Path, arguments: list[str], said: str) -> None:
    got = CliRunner().invoke(study, arguments)
    assert got.exit_code != 0 and said in got.output + str(got.exception)


@pytest.mark.system("numeric")
def test_a_log_of_ones_own_and_other_seeds_are_named_in_what_is_written(kept: Path, tmp_path: Path) -> None:
    log = tmp_path / "site.swf"
    rows = [f"{n} {n * 600} 0 1800 {40 + n} -1 -1 {40 + n} 3600 -1 1 {n % 5} 1 -1 1 -1 -1 -1" for n in range(60)]
    log.write_text("; UnixStartTime: 1770100000\n; MaxNodes: 400\n; MaxProcs: 400\n" + "\n".join(rows) + "\n")
    out = tmp_path / "page.md"
    asked = [*SHORT, "--first-seed", "101", "--jobs", str(log), "--json", "--out", str(out)]
    answer = orjson.loads(CliRunner().invoke(study, asked, catch_exceptions=False).stdout)
    assert answer["jobs"]["file"] == "site.swf" and answer["first_seed"] == 101
    assert "--first-seed 101 --jobs site.swf" in answer["command"].replace("--days 1 ", "")
    page = out.read_text()
    assert "run times of site.swf" in page and "over 1 seeds from 101 on" in page and str(tmp_path) not in page
    bad = tmp_path / "bad.swf"
    bad.write_text("nothing\n")
    got = CliRunner().invoke(study, [*SHORT, "--jobs", str(bad)])
    assert got.exit_code != 0 and "UnixStartTime" in got.output + str(got.exception)
