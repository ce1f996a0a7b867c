"""Every noun that names a table, a route or a public class is in the glossary."""

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
    "full",
    "interrupted",
    "logout",
    "many",
    "measured",
    "missing",
    "more",
    "reported",
    "not",
    "ready",
    "refused",
    "rejected",
    "restored",
    "served",
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


#: Plain words in the names of classes: they mean what they mean in any text.
PLAIN = {
    *("after", "before", "beside", "few", "enough", "finite", "id", "kept", "known", "ended", "local", "named", "new", "no", "of", "on", "own"),
    *("placed", "recent", "response", "slow", "start", "stored", "taken", "written", "adaptive", "answered", "assigned", "async", "carrying"),
    *("checked", "counted", "diagnosed", "diving", "exported", "instrumented", "invalid", "lazy", "offered", "op", "out", "sim"),
    *("signed", "staged", "static", "unmapped", "unstored", "co", "comparable", "created", "examined", "resolved", "seeded", "with", "left", "logged", "polled", "relayed"),
    # Parts of names that the glossary writes as one: ClusterCockpit, DeSensi, LightGBM, MiniGhost, OpenConfig.
    *("cockpit", "de", "gbm", "light", "mini", "open"),
}  # fmt: skip


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
    heads: set[str] = set()
    rooms = [path.parent for path in ROOT.glob("*/flitwatch_*/__init__.py")]
    rooms += [
        path.parent for path in ROOT.glob("services/*/flitwatch*/__init__.py") if path.parent.name != "flitwatch_client"
    ]
    for path in (path for room in rooms for path in room.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                heads |= {word.lower() for word in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]+|[A-Z]+", node.name)}
    assert len(heads) > 500
    assert lacking(heads - PLAIN) == set()


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
