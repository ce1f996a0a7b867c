"""Research is a package of its own: entry points add its commands, and the product works without it."""

from __future__ import annotations

import json
import subprocess
import sys

from click.testing import CliRunner

from flitwatch.commands.worker import map_task_modules
from flitwatch.main import cli, list_installed_commands

WITHOUT_RESEARCH = """
import importlib.metadata, json, sys
sys.modules["flitwatch_research"] = None
importlib.metadata.entry_points = lambda **_: ()
from click.testing import CliRunner
from flitwatch.commands.worker import map_task_modules
from flitwatch.main import cli, list_installed_commands
benchmarks = CliRunner().invoke(cli, ["bench", "--help"])
absent = CliRunner().invoke(cli, ["study"])
print(json.dumps([list(list_installed_commands()), sorted(map_task_modules()), benchmarks.output, absent.exit_code]))
"""


def test_the_product_without_research_has_its_other_commands_tasks_and_benchmarks() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_RESEARCH], capture_output=True, text=True, check=True)
    commands, tasks, benchmarks, absent = json.loads(done.stdout)
    assert set(list_installed_commands()) - set(commands) == {"study", "scorecard"} and len(commands) > 30
    assert set(map_task_modules()) - set(tasks) == {"sim.study"}
    assert "api" in benchmarks and "ingest" not in benchmarks and absent == 2
    assert "ingest" in CliRunner().invoke(cli, ["bench", "--help"]).output
