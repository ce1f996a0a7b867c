"""The command line's help: every option has help, every command accepts --json, and the reference matches the commands."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from prometheus_client.exposition import generate_latest

from flitwatch import manuals, reference
from flitwatch.catalogue import GROUPS, list_installed_commands
from flitwatch.command_line import cli
from flitwatch.examples import EXAMPLES
from flitwatch.manuals import render_pages
from flitwatch.reference import render_reference
from flitwatch_api.health.metrics import MetricReading

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
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(list_installed_commands())
    shown = CliRunner().invoke(cli, ["--help"]).output
    assert [shown.index(f"\n{title}:\n") for title in GROUPS] == sorted(
        shown.index(f"\n{title}:\n") for title in GROUPS
    )
    assert set(re.findall(r"^  ([a-z]+)(?: |$)", shown, re.MULTILINE)) >= set(list_installed_commands())


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
@pytest.mark.parametrize("pattern", [(), ("--step-pattern", "x")], ids=["in our place", "alongside us"])
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
        path.read_text() for package in ("services", "db", "ingest", "ml") for path in (ROOT / package).rglob("*.py")
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


# The manual pages: one for each command, from the commands themselves, and man renders them without a complaint.


PAGES = manuals.render_pages()


def rendered(page: Path) -> tuple[str, str]:
    """The page as a reader sees it, and what man complains about."""
    if shutil.which("man") is None:
        pytest.skip("needs man-db")
    environment = {**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-ww"}
    done = subprocess.run(
        ["man", "--warnings=w", "-E", "UTF-8", "--no-hyphenation", "--no-justification", "-l", page],
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout, done.stderr


def test_there_is_a_page_for_the_program_and_for_each_command() -> None:
    assert set(PAGES) == {"flitwatch.1", *(f"flitwatch-{name}.1" for name in list_installed_commands())}


def test_man_renders_every_page_with_every_option_and_no_warning(tmp_path: Path) -> None:
    manuals.main(tmp_path)
    below: dict[str, list[click.Command]] = {}
    for words, command in reference.walk_commands():
        below.setdefault(words.partition(" ")[0], []).append(command)
    for name, commands in below.items():
        shown, warned = rendered(tmp_path / f"flitwatch-{name}.1")
        assert warned == "", name
        assert "NAME" in shown and "EXIT STATUS" in shown
        flags = {option.opts[0] for one in commands for option in options(one)}
        # A hyphen that roff made a dash of could not be copied into a shell.
        assert {flag for flag in flags if flag not in shown} == set(), name
        for one in commands:
            first = " ".join((one.help or "").split("\n\n")[0].split())
            assert first in " ".join(shown.split()), name
    shown, warned = rendered(tmp_path / "flitwatch.1")
    assert warned == "" and all(f"flitwatch-{name}(1)" in shown for name in list_installed_commands())


def test_man_does_complain_where_a_page_is_wrong(tmp_path: Path) -> None:
    """What the test above would see: a request and an escape that roff does not know."""
    page = tmp_path / "spoiled.1"
    page.write_text(PAGES["flitwatch-top.1"] + ".NOSUCHREQUEST\n")
    assert "NOSUCHREQUEST" in rendered(page)[1]


@pytest.mark.parametrize(
    ("text", "shown"), [(".SH like a request", ".SH like a request"), ("'quoted", "'quoted"), (r"a\b -x", r"a\b -x")]
)
def test_text_is_shown_as_it_is(tmp_path: Path, text: str, shown: str) -> None:
    page = tmp_path / "text.1"
    page.write_text(f'.TH "T" 1 "" "" ""\n.SH NAME\n{manuals._escape_text(text)}\n')
    assert shown in re.sub(r"[‘’]", "'", rendered(page)[0])


# docs/metrics.md is what the services show, and their names and types keep to Prometheus' convention.


def test_the_committed_reference_is_that_of_the_registries() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == reference.render_metrics(), "run `make reference`"


@pytest.mark.parametrize("service", reference.collect_families())
def test_names_and_types_keep_to_the_convention(service: str) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("needs promtool (apt-get install prometheus)")
    found = [f for f in reference.collect_families()[service] if f.name.startswith("flitwatch_")]
    page = generate_latest(MetricReading(found))
    checked = subprocess.run([program, "check", "metrics"], input=page, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr.decode()) == (0, "")


# Every command has an example that its own parser takes: names of options, their values' kinds, and choices.


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("words", sorted(EXAMPLES))
def test_an_example_is_what_the_command_takes(words: str) -> None:
    program, *given = shlex.split(EXAMPLES[words])
    assert program == "flitwatch" and given[: len(words.split())] == words.split()
    command = COMMANDS[words]
    context = click.Context(command, info_name=words)
    values, left, order = command.make_parser(context).parse_args(given[len(words.split()) :])
    assert left == []
    # Files of an example are not here: what names one is taken as it is.
    for parameter in order:
        if not isinstance(parameter.type, (click.Path, click.File)):
            parameter.type_cast_value(context, values[parameter.name])
    lacking = [one.name for one in command.params if one.required and values.get(one.name) in (None, (), [])]
    assert not lacking


def test_the_reference_shows_them() -> None:
    text = render_reference()
    assert all(f"\n{example}\n" in text for example in EXAMPLES.values())


def test_manual_pages_show_them() -> None:
    made = render_pages()
    assert all(".SH EXAMPLES\n" in page for name, page in made.items() if name != "flitwatch.1")
    assert ".nf\nflitwatch status \\-\\-json\n.fi\n" in made["flitwatch-status.1"]


def test_the_example_of_a_rule_names_one_that_a_site_begins_with() -> None:
    from flitwatch_alerting import config

    rules = yaml.safe_load(Path(config.__file__).with_name("default.yaml").read_text())["rules"]
    assert shlex.split(EXAMPLES["alerts test"])[3] in [rule["name"] for rule in rules]


# What the runbook quotes is what the program says, and each entry has its three parts.


TEXT = (ROOT / "docs" / "runbook.md").read_text()

SOURCES = ("services", "db", "ingest", "web/src")


def pieces(source: str) -> list[str]:
    """Fixed parts of a Python file's strings; %s, %d and {...} part them."""
    strings = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [part for text in strings for part in re.split(r"%[sdr]|%\.\d+f", text)]


def test_quoted_lines_are_those_of_the_program() -> None:
    paths = [
        path for place in SOURCES for path in (ROOT / place).rglob("*") if path.suffix in (".py", ".lua", ".ts", ".tsx")
    ]
    said = "\n".join(
        "\n".join(pieces(path.read_text())) if path.suffix == ".py" else " ".join(path.read_text().split())
        for path in paths
        if "node_modules" not in path.parts
    )
    quoted = [line for block in re.findall(r"^```text\n(.*?)^```", TEXT, re.M | re.S) for line in block.splitlines()]
    assert len(quoted) > 20
    fixed = [part.strip(" ();,.") for line in quoted for part in line.split("...")]
    assert [part for part in fixed if len(part) > 2 and part not in said] == []


def test_each_entry_has_symptom_cause_and_action() -> None:
    entries = re.split(r"^### ", TEXT, flags=re.M)[1:]
    assert len(entries) > 15
    for entry in entries:
        assert [part for part in ("Symptom", "Cause", "Action") if entry.count(f"**{part}.**") != 1] == [], entry[:60]
        title = entry.splitlines()[0]
        assert f"(#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')})" in TEXT, title
