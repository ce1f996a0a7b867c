"""`eventually`: returns the first truthy value, and explains a failed wait."""

from __future__ import annotations

import subprocess

import pytest
from support.waiting import eventually


def test_the_first_truthy_value_is_returned() -> None:
    values = iter([0, "", "found", "later"])
    assert eventually(lambda: next(values), every_s=0.0) == "found"


def test_a_probe_is_tried_at_least_once() -> None:
    assert eventually(lambda: True, timeout_s=0.0)


def test_a_failure_names_what_was_awaited_and_the_last_value() -> None:
    with pytest.raises(
        AssertionError, match=r"waited 0\.\d s for two rows: timed out, the last value was \[\]\nthe log"
    ):
        eventually(list, 0.01, 0.001, "two rows", detail=lambda: "the log")


def test_errors_to_retry_mean_not_yet_and_others_end_the_wait() -> None:
    def refuse() -> bool:
        raise ConnectionRefusedError("no one listens")

    with pytest.raises(AssertionError, match=r"the last error was ConnectionRefusedError\('no one listens'\)"):
        eventually(refuse, 0.01, 0.001, retry=(OSError,))
    with pytest.raises(ConnectionRefusedError):
        eventually(refuse)


def test_the_end_of_the_process_ends_the_wait() -> None:
    with subprocess.Popen(["false"]) as process:
        process.wait()
        with pytest.raises(AssertionError, match="the process exited with 1"):
            eventually(lambda: False, process=process)
