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
