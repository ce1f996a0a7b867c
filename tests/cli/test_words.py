"""The glossary is short, in order, and explains words that readers meet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


# Phrases that readers stumbled over are gone from what people read: the page's sources and the API's messages.


#: Where the page and the API get their sentences from; generated types and tests aside.
READ = [
    *(ROOT / "web" / "src").rglob("*.ts*"),
    *(path for room in ("api/flitwatch_api", "alerting/flitwatch_alerting", "domain/flitwatch_domain/explanation") for path in (ROOT / "services" / room).rglob("*.py")),
]  # fmt: skip

#: Old phrase: what is said instead.
OLD = {
    r"meets? congestion": "is on congested links",
    r"meet most stalls": "on the most congested routers",
    r"Stalls of the machine": "Mean stalls per flit",
    r"stands? out at q": "is 13 % slower beside user-... (q 0.002)",
    r"not testable": "cannot be tested",
    r"moment of the past, otherwise": "Replay with another placement",
    r"What if elsewhere": "Replay with another placement",
    r"KiB a rank": "Message size per rank, KiB",
    r"Elapsed against its past": "Run time vs earlier runs",
    r"QCD, network": "Step variation due to the network",
    r"counters foretell": "counters that predict slow steps",
    r"outlives the file": "edits here override the file",
    r"Looked at until": "Evaluated up to",
    r"[\"'>]As it was": "Details when it fired",
    r"There is no such thing": "Not found",
    r"[\"'>]Who was told": "Notifications",
    r"nothing is foretold": "no forecast for this run",
    r"of which no packet spoke": "links without samples",
    r"is no whole number": "is not an integer",
    r"fails and is left out": "failed; skipping",
    r"that are \d+ simulations; at most": "this needs 200 simulations; the limit is 120",
}


@pytest.mark.parametrize("old", OLD)
def test_an_old_phrase_is_gone(old: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: say {OLD[old]!r}"
        for path in READ
        if "generated" not in path.parts and ".test." not in path.name
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(old, line)
    ]
    assert found == []
