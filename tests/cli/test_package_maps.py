"""Imports: no cycle of modules in the packages, and no import of a test file in the tests."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import grimp
import networkx as nx
import pytest

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
    """Test files share code through modules with a noun as their name: in tests/support, or next to the suite."""
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


# The maps that lead a newcomer through the code name what is there.


PACKAGES = ("db", "ingest", "ml", "services")

#: From so many modules on a package needs a map.
MODULES = 11


def large_packages() -> list[Path]:
    heads = (
        head
        for package in PACKAGES
        for head in sorted((ROOT / package).rglob("__init__.py"))
        if "build" not in head.parts
    )
    return [head.parent for head in heads if len(list(head.parent.glob("*.py"))) >= MODULES]


def test_large_packages_are_found() -> None:
    assert len(large_packages()) >= 16


@pytest.mark.parametrize("package", large_packages(), ids=lambda package: package.name)
def test_a_large_package_has_a_map_of_its_modules(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    assert 14 <= len(text.splitlines()) <= 32
    named = {word for quoted in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", quoted)}
    modules = {path.stem.rstrip("_") for path in package.glob("*.py")} - {"", "__init"}
    lacking = {
        module for module in modules if module not in named and f"{module}_" not in named and f"__{module}" not in named
    }
    assert lacking - {"__main"} == set()


def linked_files(text: str) -> list[str]:
    return [quoted for quoted in re.findall(r"`([\w./]+/[\w./]+\.\w+)`", text) if "<" not in quoted]


def missing_places(text: str) -> list[str]:
    """Named files that do not exist, and names in brackets that the file before them does not contain."""
    domain = ROOT / "services" / "domain" / "flitwatch_domain"
    places = {file: ROOT / file if (ROOT / file).exists() else domain / file for file in linked_files(text)}
    lacking = [file for file, place in places.items() if not place.exists()]
    for file, quoted in re.findall(r"`([\w./]+/[\w./]+\.\w+)` \((`[^)]*`)", text):
        words = re.findall(r"`(\w+)`", quoted)
        lacking += [f"{file}: {word}" for word in words if file not in lacking and word not in places[file].read_text()]
    return lacking


def test_the_ways_name_files_and_names_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(linked_files(text)) >= 20 and missing_places(text) == []


def test_a_wrong_way_is_found() -> None:
    text = "`importers/read.py` (`_PARSERS`, `_PARSER_OF`), `db/no/such.py` (`X`), `web/src/app/TopBar.tsx` (`PAGES`)"
    assert missing_places(text) == ["db/no/such.py", "importers/read.py: _PARSER_OF"]


def test_the_map_of_the_core_names_every_header_of_the_modules_that_it_tells_of() -> None:
    core = ROOT / "services" / "noise_core"
    text = (core / "README.md").read_text()
    named = set(re.findall(r"`(\w+\.(?:h|cpp))`", text))
    folders = [core / folder for folder in ("codec", "routes", "sim/packet", "sim/topology", "sim/fluid")]
    assert {header.name for folder in folders for header in folder.glob("*.h")} - named == set()
    assert {name for name in named if not list(core.rglob(name))} == set()
