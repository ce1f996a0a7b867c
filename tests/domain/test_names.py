"""Names and docstrings stay readable: shares of single-word functions, docstrings that begin with a question word, and variables that are participles."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTICIPLES = {
    "one",
    "found",
    "made",
    "asked",
    "told",
    "known",
    "said",
    "kept",
    "taken",
    "given",
    "seen",
    "sent",
    "wanted",
}
QUESTION = re.compile(r"(What|Who|Whom|Whose|Whether)\b")
#: Decorators of functions that no other function calls by their name: an HTTP method, a command, a property.
UNCALLED = re.compile(r"\.(get|post|put|delete|patch|command|group)\b|property|setter|overload")
#: Images in place of the field's nouns, and the files in which a word is right: MPI's world, and keys of stored results.
PRIVATE = {"world", "told", "foretold", "beside", "door", "room", "house"}
PLAIN = {
    "world": {
        "noise_bench.py",
        "noise.py",
        "models.py",
        "dumpi.py",
        "dumpi_communicators.py",
        "test_traces.py",
        "test_packet_workloads.py",
    },
    "beside": {"blame.py", "estimates.py", "models.py", "whatif.py"},
}
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def list_sources() -> list[Path]:
    """Files of the product: neither research nor what a generator writes."""
    packages = [*ROOT.glob("*/flitwatch_*/"), *ROOT.glob("services/*/flitwatch*/")]
    files = [file for package in packages for file in package.rglob("*.py")]
    return [file for file in files if "flitwatch_research" not in file.parts and file.parent.name != "flitwatch_client"]


def count_names(text: str) -> Counter[str]:
    """Functions, single-word ones, docstrings, questions among them, bindings, and participles among those."""
    counts: Counter[str] = Counter()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if not node.name.startswith("__") and not UNCALLED.search(decorators):
                counts["functions"] += 1
                counts["single words"] += "_" not in node.name.strip("_")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            docstring = ast.get_docstring(node, clean=False)
            counts["docstrings"] += docstring is not None
            counts["questions"] += bool(docstring and QUESTION.match(docstring))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts["bindings"] += 1
            counts["participles"] += node.id in PARTICIPLES
    return counts


def find_private(name: str) -> set[str]:
    """Images among the parts of a name, in singular or plural."""
    parts = {part.lower() for part in PART.findall(name)}
    return {word for word in PRIVATE if not parts.isdisjoint((word, f"{word}s"))}


def list_identifiers(tree: ast.AST) -> set[str]:
    """Names of variables, attributes, arguments, functions, classes and modules."""
    fields = ("id", "attr", "arg", "name", "asname", "module")
    values = (getattr(node, field, None) for node in ast.walk(tree) for field in fields)
    return {value for value in values if isinstance(value, str)}


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return sum((count_names(file.read_text()) for file in list_sources()), Counter())


@pytest.mark.parametrize(
    ("part", "whole", "limit"),
    [("single words", "functions", 0.35), ("questions", "docstrings", 0.02), ("participles", "bindings", 0.01)],
)
def test_shares_stay_below_their_limits(counts: Counter[str], part: str, whole: str, limit: float) -> None:
    assert counts[whole] > 4000
    assert counts[part] / counts[whole] < limit, f"{counts[part]} of {counts[whole]} {whole} are {part}"


def test_names_are_those_of_the_field() -> None:
    """Also in research and tests: names of files, functions and variables."""
    roots = ("db", "ingest", "ml", "services", "tests")
    files = [path for root in roots for path in (ROOT / root).rglob("*.py") if path.name != Path(__file__).name]
    found = [f"{path.relative_to(ROOT)}: {word}" for path in files for word in find_private(path.stem)]
    for path in files:
        lower = (text := path.read_text()).lower()
        if any(word in lower for word in PRIVATE):
            words = {word for name in list_identifiers(ast.parse(text)) for word in find_private(name)}
            found += [f"{path.relative_to(ROOT)}: {word}" for word in words if path.name not in PLAIN.get(word, ())]
    assert found == []


def test_an_image_is_found_in_each_part_of_a_name() -> None:
    names = ("twin_world", "WORLDS", "PlantedWorld", "is_told", "headroom", "outdoors", "warehouse")
    assert [find_private(name) for name in names] == [{"world"}, {"world"}, {"world"}, {"told"}, set(), set(), set()]


def test_each_habit_is_counted() -> None:
    text = '"""What this is."""\n\n\ndef plan():\n    found = 1\n\n\ndef plan_notices():\n    """Plan."""\n    notices = 2\n'
    assert count_names(text) == {
        "functions": 2,
        "single words": 1,
        "docstrings": 2,
        "questions": 1,
        "bindings": 2,
        "participles": 1,
    }
