"""The maps that lead a newcomer through the code name what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("db", "ingest", "ml", "services")
#: From so many modules on a package needs a map.
MODULES = 11


def large_packages() -> list[Path]:
    heads = (head for room in ROOMS for head in sorted((ROOT / room).rglob("__init__.py")) if "build" not in head.parts)
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


def test_the_four_ways_name_files_that_exist() -> None:
    named = linked_files((ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) >= 8
    importers = ROOT / "services" / "domain" / "flitwatch_domain"
    assert [name for name in named if not (ROOT / name).exists() and not (importers / name).exists()] == []


def test_the_map_of_the_core_names_every_header_of_the_modules_that_it_tells_of() -> None:
    core = ROOT / "services" / "noise_core"
    text = (core / "README.md").read_text()
    named = set(re.findall(r"`(\w+\.(?:h|cpp))`", text))
    told = [core / folder for folder in ("codec", "routes", "sim/packet", "sim/topology", "sim/fluid")]
    assert {header.name for folder in told for header in folder.glob("*.h")} - named == set()
    assert {name for name in named if not list(core.rglob(name))} == set()
