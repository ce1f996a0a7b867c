"""`flitwatch blame --runs --exposure`: verdicts on measured runs, and one clear line for every bad table."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.run_tables import EXPOSURE_COLUMNS, MONDAY_S, RUN_COLUMNS, RUNS, USERS, Rows, tables

from flitwatch.main import main
from flitwatch_domain.blame import FOUND_Q
from flitwatch_ml.measured import read_measured
from flitwatch_research.real_runs import judge_weeks


def write(path: Path, rows: Rows, delimiter: str = ",", mark: bool = False) -> str:
    with path.open("w", newline="", encoding="utf-8-sig" if mark else "utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return str(path)


def blame(folder: Path, runs: Rows, exposure: Rows, **how: Any) -> None:
    first = write(folder / "runs.csv", [RUN_COLUMNS, *runs], **how)
    second = write(folder / "exposure.csv", [EXPOSURE_COLUMNS, *exposure], **how)
    main(["blame", "--runs", first, "--exposure", second, "--shuffles", "10", "--json"])


def copied(runs: Rows, exposure: Rows) -> tuple[Rows, Rows]:
    """Each run a second time, under another name."""
    return runs + [[f"copy-{row[0]}", *row[1:]] for row in runs], exposure + [
        [f"copy-{row[0]}", *row[1:]] for row in exposure
    ]


@pytest.mark.system("processes")
def test_a_run_under_two_names_counts_once(capfd, tmp_path) -> None:
    once, twice = tmp_path / "once", tmp_path / "twice"
    for folder, made in ((once, tables()), (twice, copied(*tables()))):
        folder.mkdir()
        blame(folder, *made)
    first, second = (json.loads(line) for line in capfd.readouterr().out.splitlines())
    assert any("90 runs are copies of another" in note for note in second["notes"])
    assert first["users"] == second["users"] and second["runs"] == RUNS


@pytest.mark.system("processes")
def test_runs_that_start_together_but_differ_are_all_kept(capfd, tmp_path) -> None:
    runs, exposure = tables()
    runs[1][1:3] = runs[0][1:3]
    blame(tmp_path, runs, exposure)
    assert json.loads(capfd.readouterr().out)["runs"] == RUNS


@pytest.mark.system("processes")
@pytest.mark.parametrize("mark", [False, True])
def test_the_culprit_is_named_with_seconds_and_node_hours(capfd, tmp_path, mark) -> None:
    blame(tmp_path, *tables(), mark=mark)
    answer = json.loads(capfd.readouterr().out)
    first = answer["users"][0]
    assert first["user"] == "u0" and first["verdict"] == "named" and first["q"] < 0.01
    assert first["effect_interval_s"][0] < 40 < first["effect_interval_s"][1] and first["reasons"]
    assert first["lost_node_hours"] == pytest.approx(first["effect_s"] * first["exposed_runs"] * 64 / 3600)
    assert answer["named"] == 1 and len(answer["users"]) == USERS
    assert set(answer["calibration"]) == {"shuffles", "q", "sets_with_a_name", "share"}
    assert answer["rotations"]["rotations"] == 10 and answer["rotations"]["sets_with_a_name"] <= 2
    found = [row["found"] for row in answer["power"]]
    assert (
        [row["effect"] for row in answer["power"]] == [0.05, 0.1, 0.2, 0.4] and found[-1] >= 9 and found[0] <= found[-1]
    )
    assert [driver["name"] for driver in answer["drivers"]] == ["groups"]
    assert any("name" in note for note in answer["notes"]) and any("nodes" in note for note in answer["notes"])


def test_people_read_of_the_strongest_before_those_of_whom_there_is_no_number(capfd, tmp_path) -> None:
    runs, exposure = tables()
    first = write(tmp_path / "runs.csv", [RUN_COLUMNS, *runs])
    seldom = [[f"r{at}", f"seldom{at}", 5] for at in range(20)]
    second = write(tmp_path / "exposure.csv", [EXPOSURE_COLUMNS, *exposure, *seldom])
    main(["blame", "--runs", first, "--exposure", second, "--shuffles", "0"])
    text = capfd.readouterr().out
    names = [line.split()[1] for line in text.splitlines() if line.startswith("│ ") and line[2] != " "]
    assert "their 95 % intervals allow for this. Each other interval is for one name alone" in " ".join(text.split())
    assert names[0] == "u0" and len(names) == 15
    assert {f"u{user}" for user in range(USERS)} == set(names[:USERS])


@pytest.mark.system("processes")
def test_epoch_seconds_and_any_order_of_rows_give_the_same(capfd, tmp_path) -> None:
    runs, exposure = tables()
    seconds = [[run, datetime.fromisoformat(start).timestamp(), *rest] for run, start, *rest in runs]
    users = []
    for some, more in ((runs, exposure), (seconds[::-1], exposure[::-1])):
        blame(tmp_path, some, more)
        users.append(json.loads(capfd.readouterr().out)["users"])
    assert users[0][0]["user"] == users[1][0]["user"] and users[0][0]["q"] == pytest.approx(users[1][0]["q"])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda r, e: ([[r[0][0], "", *r[0][2:]], *r[1:]], e), "runs.csv:2: a run has no start"),
        (lambda r, e: ([[r[0][0], "yesterday", *r[0][2:]], *r[1:]], e), "start is not a time"),
        (lambda r, e: ([[r[0][0], "1735689600000", *r[0][2:]], *r[1:]], e), "start is not within 1970 to 9999"),
        (lambda r, e: ([[r[0][0], "1e30", *r[0][2:]], *r[1:]], e), "start is not within 1970 to 9999"),
        (lambda r, e: ([[*r[0][:2], "nan", *r[0][3:]], *r[1:]], e), "time is not a finite number"),
        (lambda r, e: ([[*r[0][:2], "0", *r[0][3:]], *r[1:]], e), "must be above zero"),
        (lambda r, e: ([[*r[0][:4], "", "milc"], *r[1:]], e), "groups is not a number"),
        (lambda r, e: (r + r[:1], e), "is listed twice"),
        (lambda r, e: (r, e + e[:1]), "are listed twice"),
        (lambda r, e: (r, [*e, ["r999", "u1", 3]]), "run 'r999' is not in"),
        (lambda r, e: (r, [[*e[0][:2], -1], *e[1:]]), "cannot be negative"),
        (lambda r, e: (r, [[*e[0][:2], "nan"], *e[1:]]), "not a finite number"),
        (lambda r, e: (r[:12], [row for row in e if int(row[0][1:]) < 12]), "needs 20 runs, has 12"),
        (lambda r, e: copied(r[:15], [row for row in e if int(row[0][1:]) < 15]), "needs 20 runs, has 15"),
        (lambda r, e: ([["r\x1b[31m0", *r[0][1:]], *r[1:]], e), "control characters"),
        (lambda r, e: (r, [[e[0][0], "u0\nroot", 1], *e[1:]]), "control characters"),
        (lambda r, e: ([], e), "contains no runs"),
        (lambda r, e: (r, []), "contains no users"),
    ],
)
def test_a_bad_table_gets_one_clear_line_and_no_name(capfd, tmp_path, spoil, words) -> None:
    with pytest.raises(SystemExit) as leave:
        blame(tmp_path, *spoil(*tables()))
    said = capfd.readouterr()
    assert leave.value.code == 1 and words in said.err and said.out == "" and said.err.count("\n") == 1


@pytest.mark.system("processes")
def test_a_column_that_repeats_the_run_time_is_no_circumstance(capfd, tmp_path) -> None:
    runs, exposure = tables()
    minutes = [[*row[:4], row[2] / 60, row[5]] for row in runs]
    blame(tmp_path, minutes, exposure)
    answer = json.loads(capfd.readouterr().out)
    assert answer["users"][0]["verdict"] == "named" and answer["drivers"] == []
    assert "columns that only repeat the run time are left out: groups" in answer["notes"]


def test_another_delimiter_and_empty_files_are_named(capfd, tmp_path) -> None:
    with pytest.raises(SystemExit):
        blame(tmp_path, *tables(), delimiter=";")
    assert "lacks run, start, time_s" in (said := capfd.readouterr().err) and "by commas, not by ';'" in said
    for name in ("runs.csv", "exposure.csv"):
        (tmp_path / name).write_text("")
    with pytest.raises(SystemExit):
        main(["blame", "--runs", str(tmp_path / "runs.csv"), "--exposure", str(tmp_path / "exposure.csv")])
    assert "the header lacks" in capfd.readouterr().err


def test_a_little_in_three_applications_is_found_by_all_of_them_together(capfd, tmp_path) -> None:
    rng = np.random.default_rng(5)
    runs, exposure = [], []
    for name, alone_s in (("amg", 50), ("milc", 500), ("umt", 5000)):
        start = MONDAY_S + np.sort(rng.uniform(0, 13 * 604_800, 80))
        there = rng.random((80, 8)) < 0.4
        time_s = alone_s * rng.lognormal(0, 0.15, 80) * (1 + 0.1 * there[:, 0])
        runs += [[f"{name}{at}", start[at], time_s[at], 64, name] for at in range(80)]
        exposure += [[f"{name}{run}", f"u{user}", 20] for run, user in np.argwhere(there)]
    second = write(tmp_path / "exposure.csv", [EXPOSURE_COLUMNS, *exposure])
    verdicts = []
    for columns in (["run", "start", "time_s", "nodes", "application"], ["run", "start", "time_s", "nodes", "what"]):
        first = write(tmp_path / "runs.csv", [columns, *runs])
        main(["blame", "--runs", first, "--exposure", second, "--shuffles", "0", "--json"])
        verdicts.append([user for user in json.loads(capfd.readouterr().out)["users"] if user["verdict"] == "named"])
    assert [user["user"] for user in verdicts[0]] == ["u0"] and verdicts[1] == []


def test_mutual_information_ranks_measured_runs_by_its_own_limit_and_size(capfd, tmp_path) -> None:
    runs, exposure = tables()
    first = write(tmp_path / "runs.csv", [RUN_COLUMNS, *runs])
    nodes = [[run, user, 129 if user == "u0" else 128] for run, user, _ in exposure]
    second = write(tmp_path / "exposure.csv", [EXPOSURE_COLUMNS, *nodes])
    answers = []
    for choice in (["--method", "mi"], ["--method", "mi", "--tau", "1.08"], ["--paper"]):
        main(["ranking", "--runs", first, "--exposure", second, *choice, "--json"])
        answers.append(json.loads(capfd.readouterr().out))
    assert [answer["method"] for answer in answers] == ["mi"] * 3 and answers[0]["users"][0]["user"] == "u0"
    bits = [{user["user"]: user["mi_bits"] for user in answer["users"]} for answer in answers]
    assert bits[0]["u0"] > 0 and bits[1]["u0"] != bits[0]["u0"]
    assert {user for user, value in bits[2].items() if value > 0} == {"u0"} and bits[2]["u0"] == bits[0]["u0"]


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (["--runs", "r", "--exposure", "e", "--rule", "throughout"], "--rule needs --presence"),
        (["--runs", "r", "--exposure", "e", "--tau", "2"], "--runs needs --paper or --method mi"),
        (["--scenario", "amg-128", "--paper", "--tau", "2"], "give one of them"),
    ],
)
def test_no_choice_of_a_method_is_ignored(capfd, choice, words) -> None:
    with pytest.raises(SystemExit) as leave:
        main(["ranking", *choice])
    assert leave.value.code == 2 and words in capfd.readouterr().err


def test_one_source_at_a_time(capfd, tmp_path) -> None:
    with pytest.raises(SystemExit) as leave:
        main(["blame", "--runs", str(tmp_path / "runs.csv")])
    assert leave.value.code == 2 and "give one of" in capfd.readouterr().err


@pytest.mark.shared
@pytest.mark.system("numeric")
def test_the_measured_runs_are_taken_as_they_are_and_their_shuffles_name_hardly_anybody(capfd, shared) -> None:
    folder = shared / "data" / "variability"
    files = [str(folder / f"perlmutter_milc_{part}.csv") for part in ("runs", "exposure")]
    main(["blame", "--runs", files[0], "--exposure", files[1], "--shuffles", "300", "--json"])
    answer = json.loads(capfd.readouterr().out)
    assert answer["runs"] == 78 and answer["calibration"]["shuffles"] == 300
    # Were a tenth of all shuffled sets one with a name, so few would have come out once in a hundred times.
    assert binom.cdf(answer["calibration"]["sets_with_a_name"], 300, 0.1) <= 0.01
    assert {"concurrent_jobs", "mean_group_ratio"} <= {driver["name"] for driver in answer["drivers"]}
    assert all(user["reasons"] for user in answer["users"])


@pytest.mark.parametrize(("days", "verdict"), [(6, "cannot tell"), (13, "named")])
def test_runs_of_a_single_week_name_nobody_though_the_cause_is_plain(capfd, tmp_path, days, verdict) -> None:
    rng = np.random.default_rng(5)
    there = rng.random((60, USERS)) < 0.4
    start_s = MONDAY_S + np.sort(rng.uniform(0, days * 86_400, 60))
    time_s = 100 * rng.lognormal(0, 0.05, 60) * (1 + 0.4 * there[:, 0])
    first = write(
        tmp_path / "runs.csv", [["run", "start", "time_s"], *([f"r{at}", start_s[at], time_s[at]] for at in range(60))]
    )
    present = [[f"r{run}", f"u{user}", 20] for run, user in np.argwhere(there)]
    second = write(tmp_path / "exposure.csv", [EXPOSURE_COLUMNS, *present])
    main(["blame", "--runs", first, "--exposure", second, "--shuffles", "0", "--json"])
    users = json.loads(capfd.readouterr().out)["users"]
    (cause,) = [user for user in users if user["user"] == "u0"]
    assert cause["verdict"] == verdict and cause["q"] < 0.01
    assert {user["user"] for user in users if user["verdict"] == "named"} == ({"u0"} if days > 7 else set())
    assert days > 7 or any("there is no other week" in reason for reason in cause["reasons"])


@pytest.mark.shared
def test_no_single_week_of_the_measured_runs_names_anybody(shared: Path) -> None:
    folder = shared / "data" / "variability"
    weeks = judge_weeks(read_measured(folder / "perlmutter_milc_runs.csv", folder / "perlmutter_milc_exposure.csv"))
    assert len(weeks) == 15 and min(map(len, weeks)) > 100
    users = [user for week in weeks for user in week]
    assert not [user.name for user in users if user.entry["verdict"] == "named"]
    # One week names nobody by rule; none has a small q either.
    assert not [user.name for user in users if user.entry["q"] is not None and user.entry["q"] <= FOUND_Q]
