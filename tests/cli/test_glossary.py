"""The glossary is short, in order, and explains words that readers meet."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"


def terms() -> list[tuple[str, str]]:
    """Each term with its definition."""
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("- ")]
    found = [re.fullmatch(r"- \*\*([^*]+)\*\*: (.+)", line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if match is None]
    return [(match[1], match[2]) for match in found if match]


def test_it_has_at_most_eighty_terms_in_alphabetical_order() -> None:
    names = [name.lower() for name, _ in terms()]
    assert 40 <= len(names) <= 80 and names == sorted(set(names))


def test_a_definition_has_at_most_forty_words() -> None:
    assert [name for name, text in terms() if len(text.split()) > 40 or not text.endswith(".")] == []


def test_readers_meet_each_term() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path != GLOSSARY and "adr" not in path.parts]
    pages += [path for kind in ("ts", "tsx") for path in (ROOT / "web" / "src").rglob(f"*.{kind}")]
    text = "\n".join(path.read_text().lower() for path in pages)
    assert [name for name, _ in terms() if not re.search(rf"\b{re.escape(name.lower())}", text)] == []
