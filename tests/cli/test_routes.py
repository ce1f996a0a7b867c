"""`flitwatch routes`, `traffic` and `loop` before any work: impossible requests fail immediately."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flitwatch.main import main

TREE = "xgft:2;4,4;1,4"
OPTIMISE = ["routes", "optimise", "--topology", TREE, "--traffic", "bisection"]
COMMANDS = [
    OPTIMISE,
    ["traffic", "reconstruct", "--topology", TREE, "--traffic", "bisection"],
    ["loop", "run", "--topology", TREE, "--pattern", "bisection"],
]


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    captured = capsys.readouterr()
    assert left.value.code and not captured.out and captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("limit", ["nan", "inf", "-inf", "0", "-1", "1e9", "soon"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_time_limit_is_a_finite_number_above_zero(
    capsys: pytest.CaptureFixture[str], command: list[str], limit: str
) -> None:
    assert "--time-limit" in refused(capsys, [*command, "--time-limit", limit])


@pytest.mark.parametrize("option", ["--noise", "--megabytes"])
def test_nan_is_in_no_range(capsys: pytest.CaptureFixture[str], option: str) -> None:
    command = COMMANDS[2] if option == "--megabytes" else COMMANDS[1]
    assert option in refused(capsys, [*command, option, "nan"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_where_nothing_can_be_written_is_said_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "result", tmp_path):
        assert "--out" in refused(capsys, [*command, "--time-limit", "86400", "--out", str(place)])


def test_folders_on_the_way_to_the_result_are_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "routes.lfts"
    main([*OPTIMISE, "--time-limit", "1", "--out", str(out), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["lft"] == str(out) and found["proven"] and found["z_ar_exact"] and found["ar_gap"] == 0
    main(["routes", "check", str(out), "--topology", TREE, "--traffic", "bisection", "--json"])
    assert json.loads(capsys.readouterr().out)["ar_gap"] == 0


@pytest.mark.system("processes")
def test_ctrl_c_ends_the_search_with_the_best_so_far(tmp_path: Path) -> None:
    out = tmp_path / "r.lfts"
    command = [
        sys.executable,
        "-c",
        "import sys; from flitwatch.main import main; main(sys.argv[1:])",
        "routes",
        "optimise",
        "--topology",
        "quartz1",
        "--traffic",
        "noisy-shuffle",
        "--time-limit",
        "600",
        "--out",
        str(out),
        "--json",
    ]
    # A job that a shell starts in the background ignores SIGINT, and so would its children.
    heeds = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, env={**os.environ, "FORCE_COLOR": "1"}, preexec_fn=heeds) as running:
        assert running.stderr is not None
        shown = b""
        while b"moves" not in shown and (part := os.read(running.stderr.fileno(), 65536)):
            shown += part
        running.send_signal(signal.SIGINT)
        text, trouble = running.communicate(timeout=60)
    assert running.returncode == 0, trouble
    assert json.loads(text)["z"] > 0 and out.stat().st_size > 0
