"""Imports: no circle of modules in the packages, and no import of a test file in the tests."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).resolve().parents[2]


def circles(edges: list[tuple[str, str]]) -> list[list[str]]:
    """Groups of modules that import one another, imports within functions and for type checkers included."""
    return [sorted(group) for group in nx.strongly_connected_components(nx.DiGraph(edges)) if len(group) > 1]


def test_no_modules_import_one_another() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    packages = settings["importlinter"]["root_packages"]
    wheel = settings["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {Path(place).name for place in wheel} <= set(packages), "a package without a place in the contracts"
    graph = grimp.build_graph(*packages, cache_dir=None)
    edges = [(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)]
    assert len(edges) > 1500
    assert circles(edges) == []


def test_a_circle_is_found() -> None:
    assert circles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]) == [["a", "b", "c"]]


def imported_tests(source: str) -> list[str]:
    """Names of the test files that a module imports, absolutely or relatively, at its head or within a function."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module or ''}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    # The product's own packages may call a module "test_..."; a test file is in none of them.
    ours = [name for name in names if not name.startswith("flitwatch")]
    return [name for name in ours if any(part.startswith("test_") for part in name.split(".")[:2])]


def test_no_test_file_is_imported() -> None:
    """Test files share code through modules with a noun as their name: in tests/support, or beside the suite."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 300
    found = {str(file.relative_to(ROOT)): names for file in files if (names := imported_tests(file.read_text()))}
    assert found == {}


def test_an_import_of_a_test_file_is_found() -> None:
    source = """
from .test_a import x
from api.test_b import x
from simulation import test_c as y
import db.test_d
def f(): from test_e import x
from support.waiting import eventually
from flitwatch_x.test_f import x
"""
    found = imported_tests(source)
    assert found == ["test_a.x", "api.test_b.x", "simulation.test_c", "db.test_d", "test_e.x"]
