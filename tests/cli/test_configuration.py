"""The configuration file: every setting of every service; the environment takes precedence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import orjson
import pytest
from cli.commands import flitwatch
from click.testing import CliRunner

from flitwatch import configuration, reference
from flitwatch.command_line import cli
from flitwatch.console import FiniteRange
from flitwatch.main import main
from flitwatch.reference import STATUSES
from flitwatch_api.settings import Settings
from flitwatch_domain.errors import BadInput
from flitwatch_slurm.trial import Trial, read_record


def test_the_committed_sample_is_that_of_the_program() -> None:
    assert configuration.read_sample() == reference.render_configuration(), "run `make reference`"


def test_every_setting_is_in_the_sample_and_every_line_is_good() -> None:
    assert tomllib.loads(configuration.read_sample()) == {}, "every line is a comment"
    shown = "\n".join(re.findall(r"^# (\w+ = .*)$", configuration.read_sample(), re.MULTILINE))
    names = {f"FLITWATCH_{name.upper()}" for name in tomllib.loads(shown)}
    documented = set(re.findall(r"^\| `(FLITWATCH_\w+)`", reference.render_settings(), re.MULTILINE))
    assert documented - names == reference.NOT_IN_FILE
    assert names == set(configuration.parse_values(shown, "the sample"))


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "flitwatch.toml"
    file.write_text(
        'api_rate_per_s = 7\napi_pool_max = 3\napi_access_log = true\napi_hosts = ["a.example", "b.example"]\n'
    )
    for name in list(os.environ):
        if name.startswith("FLITWATCH_API_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FLITWATCH_CONFIG", str(file))
    monkeypatch.setenv("FLITWATCH_API_POOL_MAX", "5")
    before = dict(os.environ)
    try:
        configuration.load_settings()
        settings = Settings()
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert (settings.api_rate_per_s, settings.api_pool_max, settings.api_access_log) == (7, 5, True)
    assert settings.api_hosts == ("a.example", "b.example")


@pytest.mark.system("processes")
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("FLITWATCH_API_TRUSTED_PROXIES", "*", "write the networks of the proxies, such as 10.0.0.0/24"),
        ("FLITWATCH_API_POOL_MAX", "many", "should be a valid integer"),
    ],
)
def test_a_setting_of_the_api_that_cannot_be_used_is_one_line_before_a_database_is_asked(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    # Nobody listens there: a database that does not answer is waited for.
    code, out, err = flitwatch("api", "--db", "postgresql://127.0.0.1:1/none")
    assert (code != 0, out, err.count("\n")) == (True, "", 1)
    assert f"{variable}: " in err and said in err and "docs/settings.md" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("api_rate_per = 3", "no setting api_rate_per; is it api_rate_per_s?"),
        ("db = [1]", "db must be a text"),
        ("db = ", "Invalid value"),
    ],
)
def test_a_slip_is_named(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        configuration.parse_values(text, "/etc/flitwatch/flitwatch.toml")


def test_a_command_refuses_a_wrong_file(tmp_path: Path) -> None:
    file = tmp_path / "flitwatch.toml"
    file.write_text("colour = 'red'\n")
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", "status"],
        env={**os.environ, "FLITWATCH_CONFIG": str(file)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, f"flitwatch: {file}: there is no setting colour\n")


# The table of exit statuses against the program: what it ends with, and the one line that says what to do.


PROGRAM = [sys.executable, "-c", "from flitwatch.main import main; main()"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("nosuch", 2, "No such command 'nosuch'. See: flitwatch --help"),
        ("import nosuch", 2, "No such command 'nosuch'. See: flitwatch import --help"),
        ("import study", 2, "No such command 'study'. See: flitwatch import --help"),
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


@pytest.mark.parametrize(
    ("words", "package"),
    [("study", "'flitwatch[sim]'"), ("forecast --steps s.csv", "'flitwatch[sim]'"), ("up", "flitwatch")],
)
def test_a_command_of_another_package_is_refused_with_its_name(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: str, package: str
) -> None:
    monkeypatch.setattr("flitwatch.command_line.list_installed_commands", dict)
    with pytest.raises(SystemExit):
        main(words.split())
    assert capfd.readouterr().err.endswith(f"is not installed here. Install it: pip install {package}\n")


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


# A number that is none passes every comparison with a range's ends, so no option takes it.


def commands(
    command: click.Command, context: click.Context, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below one, with its words."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, click.Context(found, parent=context, info_name=name), (*path, name))
    else:
        yield path, command


def test_every_range_of_numbers_refuses_nan() -> None:
    ranges = [
        (" ".join(path), option.name, option.type)
        for path, command in commands(cli, click.Context(cli), ())
        for option in command.params
        if isinstance(option.type, click.FloatRange)
    ]
    assert len(ranges) > 20
    assert [(path, name) for path, name, kind in ranges if not isinstance(kind, FiniteRange)] == []


@pytest.mark.parametrize("option", ["--trial", "--interval"])
def test_an_agent_does_not_begin_a_trial_of_nan(option: str, tmp_path: Path) -> None:
    record = tmp_path / "trial.jsonl"
    answer = CliRunner().invoke(cli, ["agent", "slurm", "--act", option, "nan", "--trial-file", str(record)])
    assert answer.exit_code == 2
    assert "nan is not in the range" in answer.output
    assert not record.exists()


@pytest.mark.parametrize(
    "changed", [{"at_s": "z"}, {"slowdown": None}, {"usual_s": "10"}, {"nodes": 1.5}, {"job_id": 7}, {"advised": 1}]
)
def test_a_line_of_a_trial_with_a_value_of_another_kind_is_counted_as_torn(
    changed: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "trial.jsonl"
    Trial.open(path, 0.5)
    line = {
        "job_id": "1",
        "advised": True,
        "application": "amg",
        "nodes": 2,
        "action": "delay",
        "slowdown": 1.2,
        "usual_s": 60.0,
        "at_s": 1.0,
    }
    path.write_bytes(path.read_bytes() + orjson.dumps(line | changed) + b"\n")
    _, participants, torn = read_record(path)
    assert (participants, torn) == ([], 1)


def test_a_trial_that_began_at_no_time_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trial.jsonl"
    path.write_bytes(b'{"trial":1,"salt":"s","share":0.5,"begun_s":"nan"}\n')
    with pytest.raises(BadInput, match="is not a record of a trial"):
        read_record(path)


# What setup.sh fetches by pip is what was fetched when its hashes were written.


ROOT = Path(__file__).parents[2]


def test_pip_takes_fixed_versions_with_hashes_only() -> None:
    setup = (ROOT / "services" / "cli" / "setup.sh").read_text()
    installs = re.findall(r"pip install (.*?)(?:>&2|\\\n|\n)", setup)
    assert len(installs) == 2
    for install in installs:
        assert "--require-hashes" in install and "--only-binary :all:" in install
        (file,) = re.findall(r"-r (\S+)", install)
        lines = [line for line in (ROOT / file).read_text().splitlines() if not line.startswith("#")]
        assert re.fullmatch(r"[a-z-]+==[0-9.]+ \\", lines[0]), lines[0]
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in lines[1:]) and len(lines) > 1


def test_the_image_takes_the_same_files() -> None:
    built = (ROOT / "services" / "Dockerfile").read_text()
    assert "COPY services/cli/fetched services/cli/fetched" in built
