"""`flitwatch ranking`, `deviation` and `backtest` on CSV tables: every key, and a clear answer to bad tables."""

from __future__ import annotations

import csv
import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flitwatch.main import main

RUNS, STEPS, USERS = 40, 8, 12
Rows = list[list[Any]]


def write(path: Path, heads: list[str], rows: Rows) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([heads, *rows])
    return str(path)


def make_tables() -> tuple[Rows, Rows]:
    """(run, user, overlap) and (run, time): u0 slows the runs that it is alongside."""
    rng = np.random.default_rng(0)
    present = rng.random((RUNS, USERS)) < 0.4
    times = 100 * (1 + 0.8 * present[:, 0]) * rng.lognormal(0, 0.05, RUNS)
    rows = [[f"r{run}", f"u{user}", 1.0] for run, user in np.argwhere(present)]
    return rows, [[f"r{run}", time] for run, time in enumerate(times)]


def steps(runs: int = RUNS) -> Rows:
    """(run, step, time, A, B): A tells how slow a step is, B nothing."""
    rng = np.random.default_rng(1)
    slow = np.exp(0.4 * rng.normal(size=(runs, 1)) + 0.1 * rng.normal(size=(runs, STEPS)))
    times = (5 + np.arange(STEPS)) * slow
    return [
        [
            f"r{run}",
            step,
            times[run, step],
            1000 * slow[run, step] * times[run, step],
            50 * rng.lognormal() * times[run, step],
        ]
        for run in range(runs)
        for step in range(STEPS)
    ]


def blame(folder: Path, presence: Rows, times: Rows, *options: str) -> None:
    main(
        [
            "ranking",
            "--presence",
            write(folder / "presence.csv", ["run", "user", "overlap"], presence),
            "--times",
            write(folder / "times.csv", ["run", "time"], times),
            "--json",
            *options,
        ]
    )


def of_steps(folder: Path, command: str, rows: Rows, *options: str) -> None:
    main([command, "--steps", write(folder / "steps.csv", ["run", "step", "time", "A", "B"], rows), "--json", *options])


@pytest.mark.parametrize("method", ["exposure", "mi"])
def test_blame_of_tables_finds_who_ran_alongside_the_slow_runs(capfd, tmp_path, method) -> None:
    blame(tmp_path, *make_tables(), "--method", method)
    answer = json.loads(capfd.readouterr().out)
    first = answer["users"][0]
    assert {"users", "wall_s", "method", "runs", "caveat", "notes"} <= set(answer) and answer["simulated"] is False
    assert set(first) >= {"user", "score", "mi_bits", "sign", "p", "q", "testable"}
    assert first["user"] == "u0" and first["q"] < 0.01 and first["sign"] == 1 and first["mi_bits"] > 0.5
    assert len(answer["users"]) == USERS
    assert [answer[name] for name in ("truth", "precision_at_10", "false_share")] == [None] * 3


def test_a_user_alongside_every_run_is_not_testable_and_a_run_recorded_twice_is_named(capfd, tmp_path) -> None:
    presence, times = make_tables()
    presence += [[f"r{run}", "always", 1.0] for run in range(RUNS)]
    presence += [["copy", user, value] for run, user, value in presence if run == "r3"]
    times.append(["copy", times[3][1]])
    blame(tmp_path, presence, times)
    answer = json.loads(capfd.readouterr().out)
    always = next(user for user in answer["users"] if user["user"] == "always")
    assert not always["testable"] and always["p"] is None and always["q"] is None
    assert len(answer["notes"]) == 1 and "'copy' and 'r3'" in answer["notes"][0]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p, t: (p[:1], t[:1]), "needs 8 runs, has 1"),
        (lambda p, t: ([row for row in p if int(row[0][1:]) < 5], t[:5]), "needs 8 runs, has 5"),
        (lambda p, t: (p, [[run, 7.0] for run, _ in t]), "all 40 runs took 7 s"),
        (lambda p, t: (p, [[t[0][0], "nan"], *t[1:]]), "times.csv:2: time is not a finite number"),
        (lambda p, t: ([[*p[0][:2], "-1"], *p[1:]], t), "cannot be negative"),
        (lambda p, t: (p, t + t[:1]), "is listed twice"),
        (lambda p, t: (p, t[1:]), "has no time"),
        (lambda p, t: ([], t), "no users"),
    ],
)
def test_a_bad_table_of_runs_gets_one_clear_line(capfd, tmp_path, spoil, words) -> None:
    with pytest.raises(SystemExit) as leave:
        blame(tmp_path, *spoil(*make_tables()))
    said = capfd.readouterr()
    assert leave.value.code == 1 and words in said.err and said.out == "" and said.err.count("\n") == 1


@pytest.mark.parametrize("method", ["exposure", "mi"])
def test_blame_of_tables_whatever_the_order_of_rows_and_the_names_of_users(capfd, tmp_path, method) -> None:
    presence, times = make_tables()
    renamed = [[run, f"z{99 - int(user[1:])}, 名", overlap] for run, user, overlap in presence]
    answers = []
    for rows, order in ((presence, times), (renamed[::-1], times[::-1])):
        blame(tmp_path, rows, order, "--method", method)
        users = json.loads(capfd.readouterr().out)["users"]
        answers.append([{name: value for name, value in user.items() if name != "user"} for user in users])
        names = [user["user"] for user in users]
    assert answers[0] == answers[1] and names[0] == "z99, 名"


def test_seconds_are_no_shares(capfd, tmp_path) -> None:
    presence, times = make_tables()
    with pytest.raises(SystemExit):
        blame(tmp_path, [[run, user, 60] for run, user, _ in presence], times, "--rule", "throughout")
    assert "divide the seconds by the run's time" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["ranking", "deviation", "backtest"])
@pytest.mark.parametrize("wrong", [("--seed", "-1"), ("--seed", "9" * 20), ("--users", "39")])
def test_options_out_of_range_are_refused_before_anything_is_made(capfd, command, wrong) -> None:
    with pytest.raises(SystemExit) as leave:
        main([command, "--scenario", "amg-128", *(("--m", "8", "--k", "10") if command == "backtest" else ()), *wrong])
    said = capfd.readouterr()
    assert leave.value.code == 2 and "is not in the range" in said.err and said.err.count("\n") == 1


@pytest.mark.system("numeric")
def test_one_switch_makes_the_choices_of_the_paper(capfd, tmp_path) -> None:
    of_steps(tmp_path, "deviation", steps(), "--paper", "--folds", "3")
    answer = json.loads(capfd.readouterr().out)
    assert (answer["inputs"], answer["learner"], answer["split"]) == ("deltas", "gbr", "row")
    for command, words in (
        (["deviation", "--steps", "s", "--paper", "--split", "run"], "--paper sets --split itself"),
        (["ranking", "--scenario", "amg-128", "--paper", "--tau", "2"], "--paper sets --tau itself"),
    ):
        with pytest.raises(SystemExit) as leave:
            main(command)
        assert leave.value.code == 2 and words in capfd.readouterr().err


def test_a_scenarios_forecasts_are_validated_in_order_of_time(capfd, monkeypatch) -> None:
    """A small campaign whose runs become twice as long at the end, without the nets, which take seconds a fit."""
    from flitwatch_ml.forecast import RidgeForecaster
    from flitwatch_research import campaign

    rng = np.random.default_rng(0)
    slow = (1 + rng.exponential(0.3, 80)[:, None] * rng.uniform(0.8, 1.2, (80, 20))) * np.linspace(1, 2, 80)[:, None]
    rates = np.stack([slow * 100, rng.uniform(90, 110, slow.shape)], axis=2)
    made = SimpleNamespace(
        times_s=10 * slow, rates=rates, placement=None, io_rates=None, sys_rates=None, run_start_s=np.arange(80)
    )
    monkeypatch.setattr(campaign, "generate_campaign", lambda scenario, seed, users: made)
    monkeypatch.setattr(
        importlib.import_module("flitwatch_ml.forecast.chronological"),
        "learned_forecasters",
        lambda: {"ridge": RidgeForecaster()},
    )
    main(["backtest", "--scenario", "amg-128", "--json"])
    answer = json.loads(capfd.readouterr().out)
    assert (answer["m"], answer["k"], answer["runs"]) == (8, 10, 32)
    assert answer["validation"] == "earlier runs, then later ones" and len(answer["chosen"]) == 2
    assert (
        answer["best"] == min(answer["baselines"], key=answer["baselines"].get) and answer["gain"]["mean"] is not None
    )
    assert answer["baselines"]["curve"] > 10, "a curve learned from earlier runs is short of later ones"
    paper = "attention on counters"
    backtest = importlib.import_module("flitwatch_ml.forecast.backtest")
    monkeypatch.setattr(backtest, "paper_forecasters", lambda: {"ridge": RidgeForecaster(), paper: RidgeForecaster()})
    for order in ([], ["--folds", "2"]):
        main(["backtest", "--scenario", "amg-128", "--paper", *order, "--json"])
        answer = json.loads(capfd.readouterr().out)
        assert answer["serves"] == paper and answer["mape"] == pytest.approx(answer["baselines"]["ridge"])


@pytest.mark.parametrize("inputs", ["rates", "deltas"])
def test_deviation_of_a_table_whatever_the_order_of_its_rows(capfd, tmp_path, inputs) -> None:
    rows = steps()
    of_steps(tmp_path, "deviation", rows, "--inputs", inputs, "--folds", "4")
    answer = json.loads(capfd.readouterr().out)
    of_steps(tmp_path, "deviation", rows[::-1], "--inputs", inputs, "--folds", "4")
    again = json.loads(capfd.readouterr().out)
    assert {"relevance", "rank", "mape", "baseline_mape", "planted", "rank_of_planted", "wall_s"} <= set(answer)
    assert answer["rank"]["A"] < answer["rank"]["B"] and answer["mape"] < 0.5 * answer["baseline_mape"]
    assert again | {"wall_s": 0} == answer | {"wall_s": 0} and answer["notes"] == []


def test_deviation_leaves_missing_steps_out_and_names_constant_counters(capfd, tmp_path) -> None:
    rows = [[*row[:4], 3.0 * row[2]] for row in steps() if (row[0], row[1]) not in (("r2", 4), ("r5", 7))]
    of_steps(tmp_path, "deviation", rows, "--folds", "4")
    answer = json.loads(capfd.readouterr().out)
    assert answer["constant"] == ["B"] and answer["relevance"]["B"] == 0.0 and answer["runs"] == RUNS
    assert "2 of 320 steps are missing" in answer["notes"][0]


@pytest.mark.parametrize(
    ("command", "rows", "words"),
    [
        ("deviation", steps(1), "needs 8 runs, has 1"),
        ("deviation", steps(3), "needs 8 runs, has 3"),
        ("deviation", [[f"r{run}", *row[1:]] for run in range(20) for row in steps(1)], "needs 8 runs, has 1"),
        ("deviation", [[*row[:3], row[2], row[2]] for row in steps()], "every counter is constant"),
        ("deviation", [*steps(), steps()[0]], "is listed twice"),
        ("deviation", [[row[0], -1, *row[2:]] for row in steps()], "step is not a whole number"),
        ("deviation", [[*row[:2], 0.0, *row[3:]] for row in steps()], "must be above zero"),
        ("backtest", steps(6), "needs 20 runs, has 6"),
        ("backtest", [[f"r{run}", *row[1:]] for run in range(30) for row in steps(1)], "needs 20 runs, has 1"),
        ("backtest", [[*row[:2], "inf", *row[3:]] for row in steps()], "time is not a finite number"),
    ],
)
def test_a_bad_table_of_steps_gets_one_clear_line(capfd, tmp_path, command, rows, words) -> None:
    with pytest.raises(SystemExit) as leave:
        of_steps(tmp_path, command, rows, *(["--m", "3", "--k", "4"] if command == "backtest" else []))
    said = capfd.readouterr()
    assert leave.value.code == 1 and words in said.err and said.out == ""
