"""Stages of a long command: their order, their display in a log and a terminal, and the message of a failed stage."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from flitwatch.commands.up import _make_stage_report

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "services" / "cli" / "stages.sh"
STAGES = ["one", "61", "The first", "echo noise >&2; echo kept", "do this"]
STAGES += ["two", "5", "The second", "sleep 1.2; echo http://here", "do that"]


def run(folder: Path, *stages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", SCRIPT, "up", *stages], cwd=folder, capture_output=True, text=True, timeout=60)


def test_a_log_has_plain_lines_in_order_and_the_next_time_says_how_long_it_took(tmp_path: Path) -> None:
    done = run(tmp_path, *STAGES)
    assert done.returncode == 0 and done.stdout == "http://here\n"
    lines = done.stderr.splitlines()
    assert lines[:3] == ["up: 2 stages, about 1:06", "[1/2] The first: about 1:01", "noise"]
    assert lines[3].startswith("[1/2] The first: done in 0:0")
    assert lines[4] == "[2/2] The second: about 0:05" and lines[5].startswith("[2/2] The second: done in ")
    assert "\r" not in done.stderr and "\033" not in done.stderr
    (tmp_path / ".cache/stages/up/one").write_text("not a number")
    (tmp_path / ".cache/stages/up/two").write_text("125")
    again = run(tmp_path, *STAGES).stderr
    assert "[1/2] The first: about 1:01" in again and "[2/2] The second: about 2:05" in again


def test_a_failed_stage_ends_it_with_its_status_and_says_what_to_do(tmp_path: Path) -> None:
    bad = ["bad", "5", "The bad one", "echo why >&2; exit 7", "mend it with: make x"]
    done = run(tmp_path, *bad, *STAGES)
    assert done.returncode == 7 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[2] == "why" and lines[3].startswith("[1/3] The bad one: failed after ")
    assert lines[4] == "What to do: mend it with: make x" and len(lines) == 5
    assert not (tmp_path / ".cache/stages/up/bad").exists()


def test_on_a_terminal_a_stage_is_one_live_line(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(["bash", SCRIPT, "up", *STAGES], cwd=tmp_path, stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = b""
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError:
            pass  # its end of the terminal was closed
    os.close(master)
    text = shown.decode()
    assert process.returncode == 0 and "[2/2] The second  0:01 of about 0:05" in text
    assert "noise" not in text and "http://here" in text
    assert "noise" in (tmp_path / "build/stages-up.log").read_text()
    # A live line is written over: only the summary, two ends and the address are lines of their own.
    assert text.count("\n") == 4


def test_the_platform_numbers_its_stages() -> None:
    said: list[str] = []
    stage = _make_stage_report(2, said.append)
    stage("starting the database")
    stage("starting the services")
    assert said == ["stage 1 of 2, 0 s: starting the database", "stage 2 of 2, 0 s: starting the services"]


def _recipe(*more: str) -> str:
    # STAGES=true: nothing starts, even if make ran the recipe.
    command = ["make", "-n", "up", "STAGES=true", *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60).stdout


def test_make_up_has_its_stages_in_order() -> None:
    full = _recipe("STACK=full")
    places = [full.index(word) for word in ("python 150 ", "page 50 ", "tools 60 ", "platform 30 ")]
    assert places == sorted(places)
    assert "tools 60 " not in _recipe() and "platform 30 " in _recipe()
