"""Every noun that names a table, a route, or a class of the domain or the database package is in the glossary."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Parts of names that are no nouns: states, verbs, prepositions, numbers of versions.
NO_NOUNS = {
    "api",
    "back",
    "beside",
    "bad",
    "busy",
    "cancel",
    "cancelled",
    "costly",
    "dead",
    "drawn",
    "erased",
    "forbidden",
    "found",
    "interrupted",
    "logout",
    "many",
    "measured",
    "missing",
    "not",
    "refused",
    "rejected",
    "restored",
    "shown",
    "simulated",
    "too",
    "unauthenticated",
    "unavailable",
    "v1",
    "request",
    "input",
    "conflict",
    "dependency",
}


def glossary() -> set[str]:
    text = (ROOT / "docs" / "glossary.md").read_text()
    heads = re.findall(r"^- ((?:\*\*[^*]+\*\*(?:, )?)+):", text, re.MULTILINE)
    return {word.lower() for head in heads for word in re.findall(r"\w+", head)}


def lacking(words: set[str]) -> set[str]:
    known = glossary()
    forms = {
        word: {word, word.removesuffix("s"), word.removesuffix("es"), re.sub(r"(matri|ie)(x|ces|s)$", r"\1", word)}
        for word in words
    }
    return {
        word
        for word, forms in forms.items()
        if not forms & known and word not in NO_NOUNS and not word.isdigit() and word
    }


def test_tables() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "db" / "flitwatch_db" / "migrations" / "sql").glob("*.sql"))
    tables = re.findall(r"CREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF NOT EXISTS\s+)?([\w.]+)", text, re.IGNORECASE)
    assert len(tables) > 40
    assert lacking({word for table in tables for word in re.split(r"[._]", table)}) == set()


def test_routes() -> None:
    paths = json.loads((ROOT / "docs" / "contracts" / "openapi.json").read_text())["paths"]
    assert len(paths) > 50
    segments = {segment for path in paths for segment in path.split("/") if not segment.startswith("{")}
    assert lacking({word for segment in segments for word in re.split(r"[-_.]", segment)}) == set()


def test_classes() -> None:
    heads = set()
    for room in ("db/flitwatch_db", "services/domain/flitwatch_domain"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    heads.add(re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]+|[A-Z]+", node.name)[-1].lower())
    assert len(heads) > 100
    assert lacking(heads) == set()


def test_a_word_that_is_not_there_is_found() -> None:
    assert lacking({"fabric", "fabrics", "thingamajig"}) == {"thingamajig"}


def test_each_word_has_one_line() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    heads = [
        word.lower()
        for head in re.findall(r"^- ((?:\*\*[^*]+\*\*(?:, )?)+):", text, re.MULTILINE)
        for word in re.findall(r"\*\*([^*]+)\*\*", head)
    ]
    assert sorted({word for word in heads if heads.count(word) > 1}) == []
