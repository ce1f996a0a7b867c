"""The configuration file: every setting of every service, below the environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cli.commands import flitwatch

from flitwatch import configuration, reference
from flitwatch_api.settings import Settings
from flitwatch_domain.errors import BadInput


def test_the_committed_sample_is_that_of_the_program() -> None:
    assert configuration.read_sample() == reference.render_configuration(), "run `make reference`"


def test_every_setting_is_in_the_sample_and_every_line_is_good() -> None:
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
