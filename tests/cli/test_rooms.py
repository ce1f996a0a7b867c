"""The rooms: no module imports, over any way round, a module that imports it."""

from __future__ import annotations

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
