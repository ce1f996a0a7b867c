"""CSV input of the estimators: valid tables become arrays, and errors name file and line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_research.tables import read_presence, read_steps


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_presence_becomes_a_matrix_by_time_and_by_who_was_there(tmp_path: Path) -> None:
    times = write(tmp_path, "t.csv", "run,time\r\nr2,20\r\nr1,10\r\nr3,30\r\n")
    presence = write(tmp_path, "p.csv", "run,user,overlap\nr3,b,0.5\nr1,a,1\n\n")
    table = read_presence(presence, times)
    assert (table.runs, table.users) == (["r1", "r2", "r3"], ["b", "a"])
    assert np.array_equal(table.overlap, [[0, 1], [0, 0], [0.5, 0]])
    assert np.array_equal(table.time_s, [10, 20, 30])


@pytest.mark.system("numeric")
@given(st.permutations(range(12)), st.permutations(range(6)), st.permutations("abcd"))
def test_order_of_rows_and_names_of_users_play_no_part(rows, runs, names) -> None:
    presence = [
        f"r{run},{user},{(run * 7 + place * 5) % 11 / 10}" for run in range(4) for place, user in enumerate("abc")
    ]
    renamed = [
        line.replace(f",{old},", f",{new},")
        for line in presence
        for old, new in zip("abcd", names, strict=True)
        if f",{old}," in line
    ]
    times = [f"r{run},{10 + 3 * (run % 4)}" for run in range(6)]
    with tempfile.TemporaryDirectory() as folder:
        table, other = (
            read_presence(
                write(Path(folder), "p.csv", "\n".join(["run,user,overlap", *lines])),
                write(Path(folder), "t.csv", "\n".join(["run,time", *order])),
            )
            for lines, order in ((presence, times), ([renamed[row] for row in rows], [times[run] for run in runs]))
        )
    assert np.array_equal(table.overlap, other.overlap) and np.array_equal(table.time_s, other.time_s)
    assert table.runs == other.runs and [names["abcd".index(user)] for user in table.users] == other.users


def test_what_a_reader_should_know_of_runs_is_noted(tmp_path: Path) -> None:
    times = write(tmp_path, "t.csv", "run,time\na,10\nb,20\nc,20\nd,20\ne,30\n")
    presence = write(tmp_path, "p.csv", "run,user,overlap\na,u,1\nb,u,1\nc,u,1\nd,u,1\n")
    alone, copies = read_presence(presence, times).notes
    assert "presence: 1 (first: 'e')" in alone and "'b' and 'c', and 1 more, have the same time" in copies


def test_steps_may_begin_at_one_and_what_is_missing_or_copied_is_noted(tmp_path: Path) -> None:
    rows = "".join(f"{run},{step},{time},5\n" for run in "xyz" for step, time in ((1, 2.0), (2, 3.0), (3, 4.0)))
    table = read_steps(write(tmp_path, "s.csv", "run,step,time,A\n" + rows + "w,1,9,5\nw,3,9,5\n"))
    missing, copied = table.notes
    assert table.time_s.shape == (4, 3) and "1 of 12 steps are missing (first: run 'w', step number 2)" in missing
    assert "2 of 4 runs have the same times" in copied and "'y' as 'x'" in copied


def test_steps_in_any_order_and_missing_ones(tmp_path: Path) -> None:
    path = write(tmp_path, "s.csv", "run,step,time,A,B\nx,1,2.0,5,6\nx,0,1.0,3,4\ny,0,9,7,8\n")
    table = read_steps(path)
    assert table.counters == ["A", "B"]
    assert np.array_equal(table.time_s, [[1, 2], [9, np.nan]], equal_nan=True)
    assert np.array_equal(table.counts[0], [[3, 4], [5, 6]])
    assert np.isnan(table.counts[1, 1]).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run,step\n", r"s\.csv:1: the header must be run,step,time"),
        ("run,step,time,A\nx,0,1\n", r"s\.csv:2: 3 fields where the header has 4"),
        ("run,step,time,A\nx,0,1,2\nx,0,1,2\n", r"s\.csv:3: run 'x', step 0 is listed twice"),
        ("run,step,time,A\nx,0,nan,2\n", r"s\.csv:2: time is not a finite number"),
        ("run,step,time,A\nx,-1,1,2\n", r"s\.csv:2: step is not a whole number"),
        ("run,step,time,A\nx,0.5,1,2\n", "step is not a whole number"),
        ("run,step,time,A\nx,0,1,oops\n", r"s\.csv:2: A is not a number: 'oops'"),
        ("run,step,time,A\n", "contains no steps"),
        ("run,step,time,A,A\nx,0,1,2,3\n", "is in the header twice"),
        ("run,step,time,A\nx,0,0,2\n", r"s\.csv:2: the time of a step must be above zero"),
        ("run,step,time,A\nx,0,-1,2\n", r"s\.csv:2: the time of a step must be above zero"),
        ("run,step,time,A\nx,0,1,-2\n", r"s\.csv:2: A cannot be negative"),
        ("run,step,time,A\nx,0,1,1e308\n", r"s\.csv:2: A cannot be as large"),
        ("run,step,time,A\nx,0,1e-320,1\n", r"s\.csv:2: time cannot be as large or as small"),
        ("run,step,time,A\nx,0,1,1_000\n", "A is not a number: '1_000'"),
        ("run,step,time,A\nx,0,,1\n", "time is not a number: ''"),
        ("run,step,time,A\n ,0,1,2\n", r"s\.csv:2: run is empty"),
        ("run,step,time,\nx,0,1,2\n", r"s\.csv:1: a counter's name is empty"),
        ("run,step,time,A\nx,0,1,2\nx,900000,1,2\n", "steps range from 0 to 900000, but there are only 2 rows"),
        (b"run,step,time,A\n\xff\xfe,0,1,2\n", "is not text"),
    ],
)
def test_what_does_not_fit_is_named_by_file_and_line(tmp_path: Path, text, words) -> None:
    with pytest.raises(BadInput, match=words):
        read_steps(write(tmp_path, "s.csv", text))


def test_a_presence_without_a_time_and_repeats_are_refused(tmp_path: Path) -> None:
    times = write(tmp_path, "t.csv", "run,time\nr1,10\n")
    with pytest.raises(BadInput, match=r"p\.csv:2: run 'r9' has no time"):
        read_presence(write(tmp_path, "p.csv", "run,user,overlap\nr9,a,1\n"), times)
    with pytest.raises(BadInput, match=r"p\.csv:3: .*twice"):
        read_presence(write(tmp_path, "p.csv", "run,user,overlap\nr1,a,1\nr1,a,0\n"), times)
    for text, words in (
        ("run,user,overlap\n", r"p\.csv: contains no users"),
        ("run,user,overlap\nr1,,1\n", r"p\.csv:2: user is empty"),
        ("run,user,overlap\nr1,a,-1\n", r"p\.csv:2: overlap cannot be negative"),
        ("run,user,overlap\nr1,a,nan\n", r"p\.csv:2: overlap is not a finite number"),
    ):
        with pytest.raises(BadInput, match=words):
            read_presence(write(tmp_path, "p.csv", text), times)
    for text, words in (
        ("run,time\n", r"e\.csv: contains no runs"),
        ("run,time\nr1,0\n", r"e\.csv:2: the time of a run must be above zero"),
        ("run,time\n,5\n", r"e\.csv:2: run is empty"),
    ):
        with pytest.raises(BadInput, match=words):
            read_presence(write(tmp_path, "p.csv", "run,user,overlap\nr1,a,1\n"), write(tmp_path, "e.csv", text))
    with pytest.raises(NotFound, match="does not exist"):
        read_presence(tmp_path / "none.csv", times)


def test_an_empty_cell_of_a_counter_is_a_lost_reading(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("run,step,time,A,B\nx,0,1,,2\ny,0,2,3, \n")
    table = read_steps(file)
    assert np.array_equal(table.counts, [[[np.nan, 2.0]], [[3.0, np.nan]]], equal_nan=True)
    assert table.time_s.tolist() == [[1.0], [2.0]]
