"""Randomised trials: fair draws, planted effects found with their interval, and nothing claimed if nothing was planted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from flitwatch.commands.agent import agent
from flitwatch.commands.trial import trial
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_db.jobs.reads import load_outcomes as outcomes_of
from flitwatch_domain.errors import BadInput, NotFound, Unavailable
from flitwatch_domain.jobs import Job
from flitwatch_domain.trials import Outcome, Participant, is_advised
from flitwatch_ml.trial_report import LEAST_JOBS, report_trial
from flitwatch_slurm.cluster import Pending
from flitwatch_slurm.questions import PlacedAdvice
from flitwatch_slurm.trial import Trial, read_record

#: Applications of a site: usual run time, and how much its runs vary (standard deviation of the logarithm).
SITE = {("milc", 128): (3600.0, 0.15), ("amg", 512): (900.0, 0.3), ("milc", 512): (5400.0, 0.1)}
BEGIN_S = 1.75e9


@pytest.fixture(autouse=True)
def _same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same jobs are advised each time: an interval of 95 % misses the truth in one trial of twenty."""
    monkeypatch.setattr("flitwatch_slurm.trial.secrets.token_hex", lambda size: "5a" * size)


def drawn_trial(seed: int, effect: float, count: int = 240, share: float = 0.5) -> tuple[list, list]:
    """A simulated trial: the advised jobs run (1 + effect) times as long; waits are the same."""
    rng = np.random.default_rng(seed)
    kinds = list(SITE)
    participants, outcomes = [], []
    for number in range(count):
        app, nodes = kinds[rng.integers(len(kinds))]
        usual, spread = SITE[app, nodes]
        at = BEGIN_S + rng.uniform(0, 30 * 86_400)
        one = Participant(
            str(number), is_advised(f"salt {seed}", str(number), share), app, nodes, "delay", 1.3, usual, at
        )
        time_s = usual * np.exp(spread * rng.standard_normal()) * (1 + effect if one.advised else 1)
        start = at + rng.exponential(600)
        participants.append(one)
        outcomes.append(Outcome("COMPLETED", start, start + time_s))
    return participants, outcomes


@pytest.mark.system("numeric")
def test_the_interval_holds_the_planted_effect_and_nothing_is_claimed_where_there_is_none() -> None:
    """100 trials with 8 % less time, 100 with no effect: nominal 95 %; at least 85 allows for chance."""
    held = {-0.08: 0, 0.0: 0}
    verdicts = {-0.08: [], 0.0: []}
    for planted in held:
        for seed in range(100):
            found = report_trial(*drawn_trial(seed, planted), 0.5)["run_time"]
            low, high = found["interval"]
            held[planted] += low <= planted <= high
            verdicts[planted].append(found["verdict"])
    assert held[-0.08] >= 85 and held[0.0] >= 85
    assert verdicts[-0.08].count("faster") >= 80 and "slower" not in verdicts[-0.08]
    assert verdicts[0.0].count("cannot tell") >= 88


@pytest.mark.system("numeric")
def test_the_interval_is_as_wide_as_it_should_be_where_halves_and_spreads_are_uneven() -> None:
    """A tenth is advised; one application varies thrice as much as another: neither much less nor much more than 95 % hold it."""
    found = [
        report_trial(*drawn_trial(seed, -0.1, count=600, share=0.1), 0.1)["run_time"]["interval"] for seed in range(150)
    ]
    effects = [one for one in found if one is not None]
    assert len(effects) >= 146, "halves that are drawn look unlike in one of a few hundred trials"
    assert 0.89 <= np.mean([low <= -0.1 <= high for low, high in effects]) <= 0.995


def test_a_report_before_the_slowest_have_ended_says_so() -> None:
    participants, outcomes = drawn_trial(6, 0.0)
    early = [None if p.advised and o.end_s - p.at_s > 4000 else o for p, o in zip(participants, outcomes, strict=True)]
    assert any("have ended" in line for line in report_trial(participants, early, 0.5)["warnings"])


def test_what_cannot_be_compared_says_why() -> None:
    participants, outcomes = drawn_trial(7, 0.0)
    apart = [replace(p, application="a" if p.advised else "b") for p in participants]
    assert "no comparison is possible" in report_trial(apart, outcomes, 0.5)["run_time"]["reasons"][0]


def test_harm_is_called_harm() -> None:
    found = report_trial(*drawn_trial(1, 0.15), 0.5)
    assert found["run_time"]["verdict"] == "slower" and found["node_hours_saved"]["interval"][1] < 0


def test_the_effect_is_that_of_a_comparison_within_strata_by_hand() -> None:
    """Two strata of very different times: the ratio is 0.8 in both, whatever the mix."""
    participants, outcomes = [], []
    rows = [("a", 100.0, 80.0, 30, 10), ("b", 10_000.0, 8_000.0, 10, 30)]
    for app, control_s, advised_s, controls, advised in rows:
        for number in range(controls + advised):
            given = number >= controls
            time_s = (advised_s if given else control_s) * np.exp(0.01 if number % 2 else -0.01)
            participants.append(Participant(f"{app}{number}", given, app, 4, "prefer", 1.2, 1000.0, BEGIN_S))
            outcomes.append(Outcome("COMPLETED", BEGIN_S + 60, BEGIN_S + 60 + time_s))
    found = report_trial(participants, outcomes, 0.5)
    assert found["run_time"]["effect"] == pytest.approx(-0.2, abs=1e-9) and found["run_time"]["strata"] == 2
    # One spread for both: every logarithm lies 0.01 from its half's mean; 80 jobs, 4 means; weights 30*10/40 twice.
    error = np.sqrt(80 * 0.01**2 / 76) / np.sqrt(15)
    reach = error * stats.t.ppf(0.975, 76)
    assert found["run_time"]["interval"] == pytest.approx(
        [np.expm1(np.log(0.8) - reach), np.expm1(np.log(0.8) + reach)]
    )
    # An advised job of a took 80 s on 4 nodes, one of b 8,000 s; without advice a quarter more.
    mean = np.mean([80.0] * 10 + [8000.0] * 30) * 4 / 3600 * np.cosh(0.01)
    assert found["node_hours_saved"]["a_job"] == pytest.approx(mean / 4, rel=1e-6)
    assert found["wait_s"]["difference"] == 0 and found["turnaround"]["effect"] > found["run_time"]["effect"]


def test_waiting_counts_in_the_turnaround() -> None:
    """Advice that makes runs a tenth shorter by waiting an hour does harm to whoever waits."""
    participants, outcomes = drawn_trial(3, -0.1)
    late = [
        replace(o, start_s=o.start_s + 3600, end_s=o.end_s + 3600) if p.advised else o
        for p, o in zip(participants, outcomes, strict=True)
    ]
    found = report_trial(participants, late, 0.5)
    assert found["run_time"]["verdict"] == "faster" and found["turnaround"]["verdict"] == "slower"
    assert found["wait_s"]["interval"][0] > 3000 and found["wait_s"]["interval"][1] < 4200


def test_too_few_jobs_tell_nothing_and_say_how_many_are_needed() -> None:
    participants, outcomes = drawn_trial(0, -0.08, count=30)
    found = report_trial(participants, outcomes, 0.5)["run_time"]
    assert found["verdict"] == "cannot tell" and found["effect"] is None
    assert f"{LEAST_JOBS} of each are needed" in found["reasons"][0]
    assert report_trial([], [], 0.5)["run_time"]["verdict"] == "cannot tell"
    none = report_trial(participants, [None] * 30, 0.5)
    assert none["finished"] == {"advised": 0, "control": 0} and none["completed"]["advised"] is None
    unsure = report_trial(*drawn_trial(4, 0.0, count=80), 0.5)["run_time"]
    assert unsure["verdict"] == "cannot tell" and "completed jobs would show one of 5%" in unsure["reasons"][0]


def test_a_trial_that_somebody_chose_in_is_warned_of() -> None:
    participants, outcomes = drawn_trial(5, 0.0)
    assert report_trial(participants, outcomes, 0.5)["warnings"] == []
    chosen = [replace(one, nodes=4096 if one.advised else one.nodes) for one in participants]
    assert any("differ in nodes" in line for line in report_trial(chosen, outcomes, 0.5)["warnings"])
    assert any("were drawn" in line for line in report_trial(participants, outcomes, 0.8)["warnings"])
    failed = [
        replace(o, state="TIMEOUT") if p.advised and n % 3 == 0 else o
        for n, (p, o) in enumerate(zip(participants, outcomes, strict=True))
    ]
    assert any("jobs completed" in line for line in report_trial(participants, failed, 0.5)["warnings"])


def drawn_harm() -> tuple[list, list]:
    """A trial whose verdict is plain as long as its halves are alike."""
    participants, outcomes = drawn_trial(5, -0.3)
    assert report_trial(participants, outcomes, 0.5)["run_time"]["verdict"] == "faster"
    return participants, outcomes


def refuses(found: dict, why: str) -> None:
    """No figure of a difference anywhere, and the reason in its place."""
    for name in ("run_time", "turnaround"):
        assert (found[name]["verdict"], found[name]["effect"], found[name]["interval"]) == ("cannot tell", None, None)
        assert any(why in reason for reason in found[name]["reasons"])
    assert found["node_hours_saved"]["a_job"] is None and found["wait_s"]["difference"] is None


def test_halves_that_somebody_chose_tell_nothing() -> None:
    participants, outcomes = drawn_harm()
    chosen = [replace(one, nodes=4096 if one.advised else one.nodes) for one in participants]
    refuses(report_trial(chosen + participants, outcomes * 2, 0.5), "differ in nodes")
    # The record lost most of one half.
    kept = [n for n, one in enumerate(participants) if one.advised or n % 3 == 0]
    refuses(report_trial([participants[n] for n in kept], [outcomes[n] for n in kept], 0.5), "were drawn")


def test_halves_of_which_one_is_cancelled_more_often_tell_nothing() -> None:
    """A fifth of the advised jobs is cancelled as it runs, or in the queue as it waits."""
    participants, outcomes = drawn_harm()
    gone = {n for n, (p, o) in enumerate(zip(participants, outcomes, strict=True)) if p.advised and n % 5 == 0}
    for started in (True, False):
        cancelled = [
            Outcome("CANCELLED", o.start_s if started else None, o.end_s) if n in gone else o
            for n, o in enumerate(outcomes)
        ]
        found = report_trial(participants, cancelled, 0.5)
        refuses(found, "jobs completed")
        assert found["finished"] == {"advised": sum(p.advised for p in participants), "control": found["control"]}


def test_a_half_whose_slowest_jobs_still_run_tells_nothing_yet() -> None:
    participants, outcomes = drawn_harm()
    early = [
        None if p.advised and n % 4 == 0 else o for n, (p, o) in enumerate(zip(participants, outcomes, strict=True))
    ]
    refuses(report_trial(participants, early, 0.5), "have ended")


def test_alike_halves_are_hardly_ever_refused() -> None:
    """A tenth of each half is cancelled by chance: about one trial in twenty may look unlike."""
    refused = 0
    for seed in range(100):
        participants, outcomes = drawn_trial(seed, -0.1)
        rng = np.random.default_rng([seed, 1])
        found = [replace(o, state="CANCELLED") if rng.random() < 0.1 else o for o in outcomes]
        refused += report_trial(participants, found, 0.5)["run_time"]["effect"] is None
    assert refused <= 12


@pytest.mark.parametrize("share", ["0", "1", "-0.5", "nan"])
def test_a_trial_without_two_halves_is_refused(share: str, tmp_path: Path) -> None:
    asked = ["slurm", "--act", "--trial", share, "--trial-file", str(tmp_path / "trial.jsonl"), "--once"]
    got = CliRunner().invoke(agent, asked)
    assert got.exit_code == 2 and not (tmp_path / "trial.jsonl").exists()


def test_a_job_that_is_requeued_stays_in_its_half_and_its_last_run_counts(embedded_db: str, tmp_path: Path) -> None:
    made = Trial.open(tmp_path / "trial.jsonl", 0.5)
    first = made.split([pending(n) for n in range(40)], [ADVICE] * 40, lambda job, advice: True)
    begun = made.header.begun_s
    again = Trial.open(tmp_path / "trial.jsonl", 0.5)
    assert (
        again.split([pending(n) for n in reversed(range(40))], [ADVICE] * 40, lambda job, advice: True) == first[::-1]
    )
    assert len(read_record(tmp_path / "trial.jsonl")[1]) == 40
    runs = [
        Job("c", "7", "NODE_FAIL", start_s=begun + 10, end_s=begun + 20, nodes=4, node_list="n[1-4]"),
        Job("c", "7", "COMPLETED", start_s=begun + 50, end_s=begun + 90, nodes=4, node_list="n[1-4]", restart=1),
    ]
    with connect(embedded_db) as conn:
        jobs.upsert_jobs(conn, runs)
        found = outcomes_of(conn, ["7"], begun)
    assert found["7"].state == "COMPLETED" and found["7"].end_s - found["7"].start_s == pytest.approx(40)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_draws_are_fair_steady_and_of_each_salt_anew(share: float) -> None:
    ids = [str(number) for number in range(20_000)]
    first = np.array([is_advised("one", i, share) for i in ids])
    assert (first == [is_advised("one", i, share) for i in ids]).all()
    assert abs(first.mean() - share) < 4 * np.sqrt(share * (1 - share) / len(ids))
    other = np.array([is_advised("other", i, share) for i in ids])
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.03
    # Neither neighbours nor every second job go together.
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.03 and abs(first[::2].mean() - share) < 0.02


# The agent's record


def pending(number: int, mark: str | None = None) -> Pending:
    return Pending(str(number), "ann", 4, "Priority", None, mark, 0, "milc", False, "", "", "p", False)


ADVICE = PlacedAdvice("delay", 600.0, 100.0, 1.4, "busy", False)


def test_only_the_advised_half_gets_advice_and_the_record_says_who(tmp_path: Path) -> None:
    made = Trial.open(tmp_path / "trial.jsonl", 0.5)
    waiting = [pending(number) for number in range(200)]
    given = made.split(waiting, [ADVICE] * 200, lambda job, advice: True)
    header, participants, torn = read_record(tmp_path / "trial.jsonl")
    assert torn == 0 and [one.job_id for one in participants] == [job.job_id for job in waiting]
    assert [one.advised for one in participants] == [advice is not None for advice in given]
    assert 70 < sum(one.advised for one in participants) < 130
    # The next round, and an agent that was started anew, draw nobody again.
    again = Trial.open(tmp_path / "trial.jsonl", 0.5)
    assert again.split(waiting, [ADVICE] * 200, lambda job, advice: True) == given
    assert len(read_record(tmp_path / "trial.jsonl")[1]) == 200 and again.header == header


def test_jobs_without_advice_or_changed_before_take_no_part(tmp_path: Path) -> None:
    made = Trial.open(tmp_path / "trial.jsonl", 0.5)
    waiting = [pending(1), pending(2), pending(3, mark="delay")]
    assert made.split(waiting, [None, ADVICE, ADVICE], lambda job, advice: job.job_id != "2") == [None, None, ADVICE]
    assert read_record(tmp_path / "trial.jsonl")[1] == []


def test_an_array_takes_no_part_for_the_accounting_knows_its_tasks_alone(tmp_path: Path) -> None:
    made = Trial.open(tmp_path / "trial.jsonl", 0.5)
    waiting = [replace(pending(number), of_several=True) for number in range(20)]
    assert made.split(waiting, [ADVICE] * 20, lambda job, advice: True) == [None] * 20
    assert made.drawn == {} and read_record(tmp_path / "trial.jsonl")[1] == []


def test_nobody_is_drawn_where_the_record_is_gone(tmp_path: Path) -> None:
    """A line in a new file without the trial's secret could never be read."""
    path = tmp_path / "trial.jsonl"
    made = Trial.open(path, 0.5)
    path.unlink()
    with pytest.raises(Unavailable, match=r"cannot be written.*Name another --trial-file"):
        made.split([pending(1)], [ADVICE], lambda job, advice: True)
    assert made.drawn == {} and not path.exists()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable, match="cannot be written"):
        made.split([pending(1)], [ADVICE], lambda job, advice: True)


def test_a_record_that_is_not_there_is_not_called_broken(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is missing"):
        read_record(tmp_path / "trial.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unavailable, match="cannot be read: Is a directory"):
        read_record(tmp_path / "folder")


def test_a_record_that_was_torn_or_changed(tmp_path: Path) -> None:
    path = tmp_path / "trial.jsonl"
    Trial.open(path, 0.5).split([pending(1), pending(2)], [ADVICE] * 2, lambda job, advice: True)
    path.write_bytes(path.read_bytes()[:-20])
    assert [one.job_id for one in read_record(path)[1]] == ["1"] and read_record(path)[2] == 1
    Trial.open(path, 0.5).split([pending(3)], [ADVICE], lambda job, advice: True)
    assert [one.job_id for one in read_record(path)[1]] == ["1", "3"] and read_record(path)[2] == 1
    with pytest.raises(BadInput, match=r"gives advice to 0.5 of the jobs, not to 0.25"):
        Trial.open(path, 0.25)
    first, *lines = path.read_text().splitlines()
    turned = json.loads(lines[0])
    turned["advised"] = not turned["advised"]
    path.write_text("\n".join([first, json.dumps(turned)]))
    with pytest.raises(BadInput, match=r"line 2 .* job 1 is in the wrong half"):
        read_record(path)
    for text in ("", "{}", "[1]", '{"trial": 1, "salt": "x", "share": 7, "begun_s": 1}'):
        path.write_text(text)
        with pytest.raises(BadInput, match="not a record of a trial"):
            read_record(path)


def test_the_report_reads_outcomes_from_the_accounting(embedded_db: str, tmp_path: Path) -> None:
    path = tmp_path / "trial.jsonl"
    made = Trial.open(path, 0.5)
    made.split([pending(number) for number in range(100)], [ADVICE] * 100, lambda job, advice: True)
    begun = made.header.begun_s
    rng = np.random.default_rng(0)
    rows = [
        # Another job of the same number, of long ago.
        Job("c", "0", "COMPLETED", start_s=begun - 1e6, end_s=begun - 1e6 + 5, nodes=4, node_list="n[1-4]"),
    ]
    for number in range(1, 100):
        time_s = 1000 * float(np.exp(0.1 * rng.standard_normal())) * (0.8 if made.drawn[str(number)] else 1.0)
        start = begun + 60
        rows.append(Job("c", str(number), "COMPLETED", start_s=start, end_s=start + time_s, nodes=4, node_list="n[1-4]"))  # fmt: skip
    with connect(embedded_db) as conn:
        jobs.upsert_jobs(conn, rows)
    ran = CliRunner().invoke(trial, ["report", "--file", str(path), "--db", embedded_db, "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert found["participants"] == 100 and sum(found["finished"].values()) == 99
    low, high = found["run_time"]["interval"]
    assert low <= -0.2 <= high and found["run_time"]["verdict"] == "faster"
    plain = CliRunner().invoke(trial, ["report", "--file", str(path), "--db", embedded_db])
    assert "with advice (" in plain.output and "faster" in plain.output
