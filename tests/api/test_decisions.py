"""Decision records: numbered without gaps, short, of one form, and listed in the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "adr"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
PARTS = ["Context", "Decision", "Consequences"]
HEADING = re.compile(r"# (\d{4}) (.+)\n\nStatus: (accepted|superseded by \d{4})\n")


def test_numbers_follow_one_another_and_are_few() -> None:
    assert [record.name[:4] for record in RECORDS] == [f"{number:04}" for number in range(1, len(RECORDS) + 1)]
    assert 0 < len(RECORDS) <= 60, "merge records of one topic"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_is_short_and_has_its_parts(record: Path) -> None:
    text = record.read_text()
    heading = HEADING.match(text)
    assert heading is not None and heading[1] == record.name[:4], text[:200]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == PARTS
    assert len(text.split()) <= 300


def test_the_index_lists_every_record_with_its_title_and_status() -> None:
    rows = re.findall(r"^\| (\d{4}) \| \[(.+)\]\((\S+)\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    headings = [(record, HEADING.match(record.read_text())) for record in RECORDS]
    assert sorted(rows) == [(found[1], found[2], record.name, found[3]) for record, found in headings if found]


@pytest.mark.parametrize("folder", ["adr", "benchmarks"])
def test_links_of_records_and_measurements_lead_somewhere(folder: str) -> None:
    for page in sorted((FOLDER.parent / folder).glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
