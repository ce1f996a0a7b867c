"""The table of exit statuses against the program: what it ends with, and the one line that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from flitwatch.reference import STATUSES

PROGRAM = [sys.executable, "-c", "from flitwatch.main import main; main()"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("nosuch", 2, "No such command 'nosuch'. See: flitwatch --help"),
        ("import nosuch", 2, "No such command 'nosuch'. See: flitwatch import --help"),
        ("completion bash --nosuch", 2, "No such option '--nosuch'. See: flitwatch completion --help"),
        ("up --port 99999", 2, "99999 is not in the range"),
        ("completion tcsh", 2, "'bash', 'zsh', 'fish'"),
        ("import sacct /nonexistent", 1, "/nonexistent does not exist"),
        ("top --url nonsense", 1, "Write it like https://"),
        ("job 1 --url http://127.0.0.1:9", 1, "Check that it is running and that the address is correct."),
        ("run --url http://127.0.0.1:9 -- /nonexistent", 127, "No such file"),
        ("run --url http://127.0.0.1:9 -- /tmp", 126, "Permission denied"),
    ],
)
def test_wrong_input_ends_as_the_table_says(words: str, status: int, said: str) -> None:
    done = subprocess.run([*PROGRAM, *words.split()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert status in STATUSES


@pytest.mark.parametrize("words", ["--help", "import --help", "completion bash", "completion bash --json"])
def test_a_reader_that_goes_away_ends_it_with_141(words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*PROGRAM, *words.split()], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
    assert 141 in STATUSES
