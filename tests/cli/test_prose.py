"""The prose linter finds forbidden wording, the guides and help texts pass it, and guides have short paragraphs and many headings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from commit_subject import list_faults
from prose import ROOT, figures, files, findings, messages, prose, settings


def test_the_linter_reads_the_guides() -> None:
    assert len(files(settings())) >= 10


@pytest.mark.parametrize(
    "line", ["The database is away.", "Nobody is told.", "It tries for ever.", "Links of which no packet spoke."]
)
def test_a_forbidden_wording_is_found_with_its_line(line: str) -> None:
    found = findings(f"# Title\n\n{line}\n", settings()["rule"])
    assert found and all(one.startswith("3: ") for one in found)


@pytest.mark.parametrize(
    "text", ["The database is down.", "`nobody is told`", "```\nfor ever\n```", "A toll of thousands."]
)
def test_other_words_and_code_are_left_alone(text: str) -> None:
    assert findings(text, settings()["rule"]) == []


def test_messages_are_read_and_docstrings_and_queries_are_not() -> None:
    source = '''"""Tries for ever."""\nadvice = f"{name} is away"\nquery = "SELECT x, of which FROM y"\n'''
    found = findings(messages(source), settings()["rule"])
    assert len(found) == 1 and found[0].startswith("2: ")


def test_every_document_label_and_message_is_read() -> None:
    read = set(files(settings()))
    documents = {path for path in (ROOT / "docs").rglob("*.md") if "screenshots" not in path.parts}
    pages = {path for kind in ("ts", "tsx") for path in (ROOT / "web" / "src").rglob(f"*.{kind}")}
    sources = {
        path
        for package in ("services/api", "services/cli/flitwatch", "db/flitwatch_db")
        for path in (ROOT / package).rglob("*.py")
    }
    assert documents | pages | sources | {ROOT / "README.md", ROOT / "docs/contracts/openapi.json"} <= read


@pytest.mark.parametrize("name", settings()["guides"])
def test_a_guide_reads_easily(name: str) -> None:
    text = (ROOT / name).read_text()
    page = figures(text)
    assert page.paragraph <= 30 and page.headings >= 10
    assert page.longest <= 30, page.sentence
    assert re.findall(r"\b(?:nobody|somebody|whoever|beside|stands|of which|by itself)\b", prose(text), re.I) == []


def test_figures_are_those_of_the_prose_alone() -> None:
    text = "# Title\n\nOne two three. Four [five](a.md) `six seven`!\n\n- eight\n- nine ten\n\n| a | b |\n\n```\ncode\n```\n"
    page = figures(text)
    assert page.paragraph == pytest.approx(3) and (page.longest, page.headings) == (3, pytest.approx(1000 / 9))


# The commit-msg hook takes imperatives of at most 72 characters and refuses what is none.


@pytest.mark.parametrize(
    "subject",
    [
        "fix(alerts): send one notification per incident",
        "Add a table",
        "docs: process queues",
        "Merge main",
        "feat!: drop 3.9",
    ],
)
def test_an_imperative_passes(subject: str) -> None:
    assert list_faults(f"{subject}\n\nWhy it changed.\n") == []


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("fix(alerts): the rules are worded as a site begins with them", "imperative"),
        ("fix: fixed the rules", "imperative"),
        ("Adds a table", "imperative"),
        ("docs: adding a table", "imperative"),
        ("docs: add a table.", "full stop"),
        ("docs: " + "add " * 20, "at most 72"),
        ("", "write `type(part)"),
    ],
)
def test_other_subjects_are_refused_with_the_reason(subject: str, fault: str) -> None:
    assert any(fault in one for one in list_faults(subject))


def test_the_hook_of_the_configuration_refuses_a_message(tmp_path: Path) -> None:
    assert "entry: .venv/bin/python tests/commit_subject.py" in (ROOT / ".pre-commit-config.yaml").read_text()
    message = tmp_path / "message"
    message.write_text("fix: fixed it\n")
    done = subprocess.run(
        [sys.executable, ROOT / "tests/commit_subject.py", message], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "imperative" in done.stderr


# The glossary is short, in order, and explains words that readers meet.


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
    *(path for package in ("api/flitwatch_api", "alerting/flitwatch_alerting", "domain/flitwatch_domain/explanation") for path in (ROOT / "services" / package).rglob("*.py")),
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
