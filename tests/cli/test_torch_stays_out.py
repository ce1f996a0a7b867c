"""Only training and reconstruction load PyTorch. Loading it at each start of a service or command would take a second and 200 MB."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: `run_imports` runs every import of a command's module, also those inside its functions. An import of torch ends with who asked for it.
IMPORTS = """
import ast, importlib, sys
class NoTorch:
    asked = False
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            NoTorch.asked = True
            raise ImportError("torch is imported")
sys.meta_path.insert(0, NoTorch())
def run_imports(name):
    module = importlib.import_module(name)
    for node in ast.walk(ast.parse(open(module.__file__).read())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(ast.unparse(node), dict(vars(module)))
"""
APP = """
from pydantic import SecretStr
from flitwatch_api.app import create_app
from flitwatch_api.settings import Settings
assert create_app(Settings(db=SecretStr("postgresql://nowhere/none"))).openapi()["paths"]
"""
WORKER = """
from flitwatch.commands.worker import load_handlers
assert load_handlers("HANDLERS") and load_handlers("PERIODIC") and load_handlers("SERVICES")
import flitwatch_ml.work.live, flitwatch_ml.work.network_noise, flitwatch_ml.work.watch
"""
HELP = """
import click
from flitwatch.command_line import cli
from flitwatch.catalogue import list_installed_commands
for name in (None, *list_installed_commands()):
    try:
        cli([*([name] if name else []), "--help"], standalone_mode=False)
    except click.exceptions.Exit:
        pass
"""
ROLES = {
    "api": f"run_imports('flitwatch.commands.api')\n{APP}",
    "writer": "run_imports('flitwatch.commands.writer')",
    "alerting": "run_imports('flitwatch.commands.alerting')",
    "worker": f"run_imports('flitwatch.commands.worker')\n{WORKER}",
    "help": HELP,
}


def start(code: str) -> subprocess.CompletedProcess[str]:
    code = f"{IMPORTS}\n{code}\nassert not NoTorch.asked and 'torch' not in sys.modules"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize(
    "role",
    [
        pytest.param(role, marks=pytest.mark.system("processes")) if role in {"api", "worker"} else role
        for role in ROLES
    ],
)
def test_a_start_does_not_load_torch(role: str) -> None:
    done = start(ROLES[role])
    assert done.returncode == 0, done.stderr


@pytest.mark.system("processes")
def test_an_import_inside_a_function_is_seen() -> None:
    done = start("run_imports('flitwatch_research.commands.backtest')")
    assert done.returncode == 1 and done.stderr.endswith("ImportError: torch is imported\n"), done.stderr


def test_a_command_without_an_extra_says_which_one_it_needs() -> None:
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "matplotlib", "otf2", "_otf2"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from flitwatch.main import main
main(["traffic", "reconstruct", "--topology", "dragonfly:1", "--counters", "x"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "flitwatch: this needs PyTorch, which is not installed. pip install 'flitwatch[ml]'\n",
    )
