"""What the runbook quotes is what the program says, and each entry has its three parts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "runbook.md").read_text()
SOURCES = ("services", "db", "ingest", "web/src")


def pieces(source: str) -> list[str]:
    """Fixed parts of a Python file's strings; %s, %d and {...} part them."""
    strings = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [part for text in strings for part in re.split(r"%[sdr]|%\.\d+f", text)]


def test_quoted_lines_are_those_of_the_program() -> None:
    paths = [
        path for place in SOURCES for path in (ROOT / place).rglob("*") if path.suffix in (".py", ".lua", ".ts", ".tsx")
    ]
    said = "\n".join(
        "\n".join(pieces(path.read_text())) if path.suffix == ".py" else " ".join(path.read_text().split())
        for path in paths
        if "node_modules" not in path.parts
    )
    quoted = [line for block in re.findall(r"^```text\n(.*?)^```", TEXT, re.M | re.S) for line in block.splitlines()]
    assert len(quoted) > 20
    fixed = [part.strip(" ();,.") for line in quoted for part in line.split("...")]
    assert [part for part in fixed if len(part) > 2 and part not in said] == []


def test_each_entry_has_symptom_cause_and_action() -> None:
    entries = re.split(r"^### ", TEXT, flags=re.M)[1:]
    assert len(entries) > 15
    for entry in entries:
        assert [part for part in ("Symptom", "Cause", "Action") if entry.count(f"**{part}.**") != 1] == [], entry[:60]
        title = entry.splitlines()[0]
        assert f"(#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')})" in TEXT, title
