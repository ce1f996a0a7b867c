"""The documentation's notebooks, each executed in its own kernel against a served incident of the twin."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import nbformat
import pytest
from integration.incidents import IncidentSite, draws, is_felt
from nbclient import NotebookClient
from support.databases import PLACE, Server
from support.slurm import PROGRAMS, SlurmSite

from e2e.site import ROOT, served

pytestmark = [pytest.mark.integration, pytest.mark.system("browser")]

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

SEED = 1


@pytest.fixture(scope="module")
def platform(_embedded_template: Server) -> Iterator[tuple[str, str]]:
    """The address of a platform with an incident, and the job that was planted."""
    database = _embedded_template.create()
    draw = next(one for one in draws(SEED, 40, quiet=False) if is_felt(one, SEED))
    planted = IncidentSite(database, SEED).day(draw)[-1].planted
    assert planted is not None
    worker = subprocess.Popen([sys.executable, "-m", "flitwatch.main", "worker", "--queue", "sim", "--db", database])
    try:
        with served(database) as url:
            yield url, planted
    finally:
        worker.terminate()
        worker.wait(30)


def printed(notebook: nbformat.NotebookNode) -> str:
    """What its cells printed, and their results as text."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, platform: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs; what it prints holds what was planted."""
    url, planted = platform
    monkeypatch.setenv("FLITWATCH_URL", url)
    notebook = nbformat.read(file, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit notebooks without outputs"
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": os.fspath(ROOT)}}
    ).execute()
    said = printed(notebook)
    expected = {
        "variability": ["times the median", "stalls per flit"],
        "who-and-what": [planted],
        "what-if": ["minimal", "413"],
    }
    assert all(part in said for part in expected[file.stem]), said


# The tutorials' commands, run in order; what they print is what the page shows.


TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"

#: The port that the pages name, which may be taken here.
PORT = "8765"

#: What a reader has at hand, by the folder of measured data.
FILES = {
    "edison": {"links-edison.txt": "cray-wiring/links-edison.txt", "edison-dragonview": "edison-dragonview"},
    "fat-tree": {"fabric.txt": "infiniband/selene.storage.txt"},
    "slurm": {},
    "notebook": {},
}


def cells(page: str) -> list[tuple[str, str]]:
    """Cells of a notebook, each with what is printed below it."""
    return re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def steps(page: str) -> list[tuple[str, str]]:
    """Commands of the console blocks, each with what is printed below it."""
    blocks = re.findall(r"^```console\n\$ (.*?)^```$", page, re.MULTILINE | re.DOTALL)
    found = []
    for block in blocks:
        lines = block.splitlines(keepends=True)
        count = 1
        while "".join(lines[:count]).count("'") % 2:  # a quoted program has several lines
            count += 1
        found.append(("".join(lines[:count]), "".join(lines[count:])))
    return found


def pattern(shown: str) -> str:
    """A line of `...` is any lines, one within a line anything in it."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in shown.splitlines()
    ]
    return "".join(lines)


def test_every_tutorial_is_run() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.md")} == set(FILES)


def test_an_output_that_differs_is_found() -> None:
    assert re.fullmatch(pattern("a  1.5...\n...\nz\n"), "a  1.52\nb\nc\nz\n")
    assert not re.fullmatch(pattern("a  1.5...\n...\nz\n"), "a  1.62\nb\nz\n")
    assert not re.fullmatch(pattern("a\n"), "a\nb\n")


@contextmanager
def slurm_site() -> Iterator[dict[str, str]]:
    """The environment of a Slurm that has run nothing yet."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        pytest.skip(f"needs Slurm (make test installs it); absent: {', '.join(absent)}")
    with tempfile.TemporaryDirectory(prefix="flitwatch-slurm-", dir=PLACE, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        site = SlurmSite(Path(folder))
        try:
            site.start()
            yield {"SLURM_CONF": site.environment["SLURM_CONF"], "TZ": "UTC"}
        finally:
            site.stop()


def check_cells(found: list[tuple[str, str]], environment: dict[str, str], folder: Path) -> None:
    """Run them in order in one kernel."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code, _ in found])
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    for cell, (code, shown) in zip(notebook.cells, found, strict=True):
        said = "".join(output.get("text", "") for output in cell.outputs)
        assert re.fullmatch(pattern(shown), said), f"{code}printed\n{said}\nbut the page shows\n{shown}"


@pytest.mark.parametrize("name", sorted(FILES))
def test_it_prints_what_it_shows(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    page = (TUTORIALS / f"{name}.md").read_text()
    found = steps(page)
    assert len(found) >= 4
    for file, place in FILES[name].items():
        (tmp_path / file).symlink_to(request.getfixturevalue("shared") / "data" / place)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    home = tempfile.mkdtemp(prefix="flitwatch-tutorial-", dir=PLACE)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FLITWATCH_")}
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    address = f"http://127.0.0.1:{port}"
    environment = {**kept, "PATH": programs, "FLITWATCH_HOME": home, "FLITWATCH_LISTEN_PORT": port}
    environment |= {"HOME": str(tmp_path), "FLITWATCH_API": address}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        down = [sys.executable, "-m", "flitwatch.main", "down"]
        stack.callback(lambda: subprocess.run(down, env=environment, capture_output=True))
        if name == "slurm":
            environment |= stack.enter_context(slurm_site())
        for command, shown in found:
            if command.startswith("flitwatch down") and cells(page):
                check_cells(cells(page), {**environment, "FLITWATCH_URL": address}, tmp_path)
            done = subprocess.run(
                ["bash", "-c", command.replace(PORT, port)],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, f"{command}{done.stderr}"
            wanted = pattern(shown.replace(PORT, port))
            assert re.fullmatch(wanted, done.stdout), f"$ {command}{done.stdout}\nbut the page shows\n{shown}"
