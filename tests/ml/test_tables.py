"""CSV input of the estimators: what fits becomes arrays, what does not is named by file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_ml.tables import read_presence, read_steps


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_presence_becomes_a_matrix_in_order_of_appearance(tmp_path: Path) -> None:
    times = write(tmp_path, "t.csv", "run,time\r\nr1,10\r\nr2,20\r\nr3,30\r\n")
    presence = write(tmp_path, "p.csv", "run,user,overlap\nr3,b,0.5\nr1,a,1\n\n")
    table = read_presence(presence, times)
    assert (table.runs, table.users) == (["r1", "r2", "r3"], ["b", "a"])
    assert np.array_equal(table.overlap, [[0, 1], [0, 0], [0.5, 0]])
    assert np.array_equal(table.time_s, [10, 20, 30])


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
        ("run,step,time,A\nx,0,1,2\nx,0,1,2\n", r"s\.csv:3: run 'x', step 0 stands here twice"),
        ("run,step,time,A\nx,0,nan,2\n", r"s\.csv:2: time is not a finite number"),
        ("run,step,time,A\nx,-1,1,2\n", r"s\.csv:2: step is not a whole number"),
        ("run,step,time,A\nx,0.5,1,2\n", "step is not a whole number"),
        ("run,step,time,A\nx,0,1,oops\n", r"s\.csv:2: A is not a number: 'oops'"),
        ("run,step,time,A\n", "holds no steps"),
        ("run,step,time,A,A\nx,0,1,2,3\n", "stands twice in the header"),
        (b"run,step,time,A\n\xff\xfe,0,1,2\n", "not UTF-8"),
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
    with pytest.raises(BadInput, match="cannot be read"):
        read_presence(tmp_path / "none.csv", times)
