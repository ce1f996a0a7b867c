"""The command line explains itself: every option has help, every command takes --json, and the reference is what the commands say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from flitwatch import main, reference
from flitwatch.main import GROUPS, cli

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = dict(reference.walk_commands())


def options(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option) and not option.hidden]


def test_every_option_is_explained_and_every_command_takes_json() -> None:
    assert len(COMMANDS) > 60
    assert [
        f"{words} {option.opts[0]}"
        for words, command in COMMANDS.items()
        for option in options(command)
        if not option.help
    ] == []
    assert [
        words for words, command in COMMANDS.items() if not any("--json" in option.opts for option in options(command))
    ] == []
    assert [words for words, command in COMMANDS.items() if not command.help] == []


def test_the_list_of_all_commands_has_each_of_them_once_by_what_it_is_for() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(main.list_installed_commands())
    shown = CliRunner().invoke(cli, ["--help"]).output
    assert [shown.index(f"\n{title}:\n") for title in GROUPS] == sorted(
        shown.index(f"\n{title}:\n") for title in GROUPS
    )
    assert set(re.findall(r"^  ([a-z]+)(?: |$)", shown, re.MULTILINE)) >= set(main.list_installed_commands())


def test_help_and_completion_load_no_library_that_takes_long() -> None:
    for line in (
        "sys.argv[1:] = ['--help']",
        "os.environ.update(COMP_WORDS='flitwatch jo', COMP_CWORD='1', _FLITWATCH_COMPLETE='bash_complete')",
    ):
        code = f"import os, sys\n{line}\nfrom flitwatch.main import main\ntry: main()\nexcept SystemExit: pass\nprint(sorted({{'numpy', 'rich', 'httpx', 'psycopg'}} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_list_of_a_group_cuts_no_sentence_off() -> None:
    """What Click cuts ends in three points."""
    groups = {words.split(" ")[0] for words in COMMANDS if " " in words}
    assert {"db", "import", "sim", "bench"} <= groups
    texts = {name: CliRunner().invoke(cli, [name, "--help"]).output for name in groups}
    assert {name: text for name, text in texts.items() if "Commands:" not in text} == {}
    assert [name for name, text in texts.items() if re.search(r"\.\.\.$", text.split("Commands:")[1], re.M)] == []


@pytest.mark.parametrize(
    ("mode", "status"), [(None, 127), (0o600, 126)], ids=["the program was not found", "no program"]
)
@pytest.mark.parametrize("pattern", [(), ("--step-pattern", "x")], ids=["in our place", "beside us"])
def test_the_statuses_of_a_program_that_cannot_run_are_in_the_table(
    tmp_path: Path, mode: int | None, status: int, pattern: tuple[str, ...]
) -> None:
    program = tmp_path / "program"
    if mode is not None:
        program.write_text("")
        program.chmod(mode)
    done = subprocess.run([sys.executable, "-m", "flitwatch.main", "run", *pattern, "--", program], capture_output=True)
    assert done.returncode == status and status in reference.STATUSES


def test_the_committed_reference_is_that_of_the_commands() -> None:
    assert (ROOT / "docs" / "commands.md").read_text() == reference.render_reference(), "run `make reference`"
    assert (ROOT / "docs" / "settings.md").read_text() == reference.render_settings(), "run `make reference`"


def test_every_variable_that_is_read_has_its_line() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    code = "\n".join(
        path.read_text() for room in ("services", "db", "ingest", "ml") for path in (ROOT / room).rglob("*.py")
    )
    read = set(re.findall(r"environ(?:\.get\(|\[)\"(FLITWATCH_\w+)\"", code)) | set(
        re.findall(r"envvar=\"(FLITWATCH_\w+)\"", code)
    )
    assert len(read) > 10 and [name for name in sorted(read) if f"`{name}`" not in text] == []
    assert [line for line in text.splitlines() if line.endswith("|  |")] == []


def test_the_unit_names_the_program_of_this_installation() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", "agent", "unit"], capture_output=True, text=True, check=True
    )
    (program,) = re.findall(r"^ExecStart=(\S+)", done.stdout, re.MULTILINE)
    assert Path(program).is_absolute() and Path(program).exists()


def test_every_exit_status_in_the_code_is_in_the_table() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "services" / "cli").rglob("*.py"))
    used = {
        int(status) for status in re.findall(r"\bcode=(\d+)|sys\.exit\((\d+)\)", text) for status in status if status
    }
    assert used <= set(reference.STATUSES)


@pytest.mark.parametrize(
    "words, wanted", [("api", {"url", "pid", "metrics_port"}), ("worker", {"tasks", "concurrency", "pid"})]
)
def test_a_service_says_in_json_when_it_is_ready(words: str, wanted: set[str], embedded_db: str) -> None:
    extra = ["--port", "18791"] if words == "api" else []
    argv = [sys.executable, "-m", "flitwatch.main", words, *extra, "--db", embedded_db, "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert set(json.loads(process.stdout.readline())) == wanted
        finally:
            process.terminate()
            process.wait(30)
