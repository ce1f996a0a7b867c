"""The notebooks of the documentation, each executed in a kernel of its own against a served incident of the twin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from integration.incidents import World, draws, is_felt
from nbclient import NotebookClient
from support.databases import Server

from e2e.site import ROOT, served

pytestmark = [pytest.mark.integration, pytest.mark.system("browser")]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SEED = 1


@pytest.fixture(scope="module")
def platform(_embedded_template: Server) -> Iterator[tuple[str, str]]:
    """The address of a platform with an incident, and the job that was planted."""
    database = _embedded_template.create()
    draw = next(one for one in draws(SEED, 40, quiet=False) if is_felt(one, SEED))
    planted = World(database, SEED).day(draw)[-1].planted
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
