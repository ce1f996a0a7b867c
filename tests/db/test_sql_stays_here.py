"""SQL statements are only in `flitwatch_db` and in the stream's own table, and every advisory lock has a unique key."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: The log of the embedded stack is a table of the stream's own.
OWN_TABLE = ROOT / "services" / "stream" / "flitwatch_stream"
STATEMENT = re.compile(
    r"\s*(SELECT\b.*\bFROM|SELECT\s+(pg_|set_config|current_setting)|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|WITH\s+\w+\s+AS|"
    r"(CREATE|DROP|ALTER)\s+(TABLE|ROLE|DATABASE|SCHEMA|INDEX|VIEW)|GRANT\s+\w+\s+(ON|TO)|TRUNCATE\s|LISTEN\s|NOTIFY\s|COPY\s+\w+|SET\s+\w+\s*=|ANALYZE\b|VACUUM\b)",
    re.DOTALL,
)


def statements(source: str) -> list[str]:
    """Texts in a module that begin as a statement does."""
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [text[:60] for text in texts if isinstance(text, str) and STATEMENT.match(text)]


def modules() -> list[Path]:
    found = [path for package in ("ingest", "ml", "services") for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if OWN_TABLE not in path.parents and "build" not in path.parts]


def test_no_statement_stands_outside_the_database_package() -> None:
    assert len(modules()) > 300
    found = {str(path.relative_to(ROOT)): statements(path.read_text()) for path in modules()}
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    "source",
    [
        "conn.execute('SELECT a FROM t')",
        "conn.execute(f'SET statement_timeout = {limit}')",
        'rows = conn.execute("""\n  SELECT a\n  FROM t""")',
        "conn.execute('SELECT pg_try_advisory_xact_lock(1)')",
        "conn.execute('ALTER ROLE flitwatch CREATEDB')",
        "conn.execute('ANALYZE')",
    ],
)
def test_a_statement_is_found(source: str) -> None:
    assert statements(source)


def test_prose_is_no_statement() -> None:
    assert not statements("text = 'Select a job from the list; set what = you like'")


def test_no_two_advisory_locks_have_one_key() -> None:
    """Locks with the same key exclude each other: the alert engine once blocked forecasts of running jobs this way."""
    sources = [path for package in ("db", "ml", "ingest", "services") for path in (ROOT / package).rglob("*.py")]
    keys = Counter(
        int(key)
        for path in sources
        for key in re.findall(r"^_?[A-Z_]*LOCK = (\d{10,})$", path.read_text(errors="replace"), re.MULTILINE)
    )
    assert len(keys) >= 6 and [key for key, times in keys.items() if times > 1] == []
