"""Research is a separate package: entry points add its commands, and the product works without it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from flitwatch.catalogue import list_installed_commands
from flitwatch.command_line import cli, follow_moved_options
from flitwatch.commands.worker import map_task_modules
from flitwatch_research.commands import COMMANDS

WITHOUT_RESEARCH = """
import importlib.metadata, json, sys, flitwatch.catalogue
sys.modules["flitwatch_research"] = None
importlib.metadata.entry_points, flitwatch.catalogue.load_extensions = lambda **_: (), dict
from click.testing import CliRunner
from flitwatch.commands.worker import map_task_modules
from flitwatch.command_line import cli, follow_moved_options
from flitwatch.catalogue import list_installed_commands
twin = CliRunner().invoke(cli, ["twin", "--help"])
absent = CliRunner().invoke(cli, ["twin", "campaign"])
print(json.dumps([list(list_installed_commands()), sorted(map_task_modules()), twin.output, absent.exit_code]))
"""


def test_the_product_without_research_has_its_other_commands_tasks_and_benchmarks() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_RESEARCH], capture_output=True, text=True, check=True)
    commands, tasks, twin, absent = json.loads(done.stdout)
    assert set(list_installed_commands()) - set(commands) == {name for name in COMMANDS if " " not in name}
    assert len(commands) > 30
    assert set(map_task_modules()) - set(tasks) == {"sim.study", "sim.collective", "sim.packet"}
    assert "scenarios" in twin and "campaign" not in twin and absent == 2


@pytest.mark.parametrize("name", [name for name in COMMANDS if " " in name])
def test_research_adds_commands_to_groups(name: str) -> None:
    group, command = name.split()
    assert command in CliRunner().invoke(cli, [group, "--help"]).output
    assert CliRunner().invoke(cli, [group, command, "--help"]).exit_code == 0


@pytest.mark.parametrize(
    ("earlier", "now"),
    [
        ("blame --scenario amg-128 --json", "ranking --scenario amg-128 --json"),
        ("blame --runs r.csv --exposure e.csv --method=mi", "ranking --runs r.csv --exposure e.csv --method=mi"),
        ("forecast --scenario milc-128 --seed 3", "backtest --scenario milc-128 --seed 3"),
        ("routes optimise --engine milp --topology quartz1", "routes prove --engine milp --topology quartz1"),
        ("routes optimise --topology quartz1", "routes optimise --topology quartz1"),
        ("blame --application amg-128", "blame --application amg-128"),
        ("blame --runs r.csv --exposure e.csv", "blame --runs r.csv --exposure e.csv"),
        ("forecast --job 7", "forecast --job 7"),
        ("twin worlds --json", "twin variants --json"),
        ("twin campaign milc-128 --world drift --out c", "twin campaign milc-128 --variant drift --out c"),
        ("study advice-value --world=quiet", "study advice-value --variant=quiet"),
    ],
)
def test_earlier_spellings_reach_the_command_that_has_their_options(earlier: str, now: str) -> None:
    assert follow_moved_options(earlier.split()) == now.split()
