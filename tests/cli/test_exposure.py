"""To whom a start opens the API: beyond this machine only with hosts named, and without a login for reading only, unless somebody says otherwise."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from flitwatch.commands.up import _format_exposure
from flitwatch.exposure import LOOPBACK, exposure_of
from flitwatch_domain.errors import BadRequest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("host", LOOPBACK)
def test_on_this_machine_callers_read_and_hosts_are_this_machines(host: str) -> None:
    made = exposure_of(host, (), None, False, usual="viewer")
    assert (made.hosts, made.anonymous) == (LOOPBACK, "viewer")
    assert exposure_of(host, (), "operator", False, usual="viewer").anonymous == "operator"
    assert exposure_of(host, ("a,b", "c"), None, False, usual="user").hosts == ("a", "b", "c")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "login1"])
@pytest.mark.parametrize(
    ("hosts", "anonymous", "why"),
    [
        ((), None, "rebinding"),
        (("*",), None, "rebinding"),
        (("a", "*"), "viewer", "rebinding"),
        (("a",), "user", "would be user"),
        (("a",), "operator", "would be operator"),
    ],
)
def test_beyond_this_machine_what_is_open_is_refused_unless_it_is_meant(
    host: str, hosts: tuple[str, ...], anonymous: str | None, why: str
) -> None:
    with pytest.raises(BadRequest, match=why) as refused:
        exposure_of(host, hosts, anonymous, False, usual="user")  # type: ignore[arg-type]
    assert "--insecure-network" in refused.value.advice
    made = exposure_of(host, hosts, anonymous, True, usual="user")  # type: ignore[arg-type]
    assert made.anonymous == (anonymous or "none") and made.hosts == (() if "*" in hosts else hosts)


@pytest.mark.parametrize("anonymous", [None, "none", "viewer"])
def test_beyond_this_machine_named_hosts_and_readers_are_served(anonymous: str | None) -> None:
    made = exposure_of("0.0.0.0", ("flit.example",), anonymous, False, usual="user")  # type: ignore[arg-type]
    assert (made.hosts, made.anonymous) == (("flit.example",), anonymous or "none")


@pytest.mark.parametrize("command", ["api", "up"])
def test_the_commands_refuse_before_anything_starts(command: str, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "flitwatch.main", command, "--host", "0.0.0.0", "--port", "18799"]
    done = subprocess.run(
        [*argv, *(["--ephemeral"] if command == "api" else [])],
        capture_output=True,
        text=True,
        timeout=60,
        env={"FLITWATCH_HOME": str(tmp_path)},
    )
    assert done.returncode == 1 and "DNS rebinding" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_up_checked_its_api_takes() -> None:
    words = _format_exposure(exposure_of("127.0.0.1", (), None, False, usual="user"))
    assert words == [
        "--allow-host",
        "127.0.0.1",
        "--allow-host",
        "::1",
        "--allow-host",
        "localhost",
        "--anonymous",
        "user",
        "--insecure-network",
    ]


def test_the_containers_name_their_hosts_and_let_readers_in_only() -> None:
    command = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["api"]["command"]
    hosts = [value for option, value in pairwise(command) if option == "--allow-host"]
    anonymous = next(value for option, value in pairwise(command) if option == "--anonymous")
    assert "--insecure-network" not in command
    made = exposure_of(command[command.index("--host") + 1], hosts, anonymous, False, usual="user")
    assert (made.hosts, made.anonymous) == (("localhost", "127.0.0.1"), "viewer")
