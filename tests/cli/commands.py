"""Commands run by tests, and their results in the database."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from flitwatch_db import connect


def flitwatch(*argv: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", *argv], capture_output=True, text=True, timeout=240, check=False
    )
    return done.returncode, done.stdout, done.stderr


def succeed(*argv: str) -> dict[str, Any]:
    code, out, err = flitwatch(*argv, "--json")
    assert code == 0, err
    assert out.count("\n") == 1, "one JSON object on standard output"
    result: dict[str, Any] = json.loads(out)
    return result


def refused(*argv: str) -> dict[str, Any]:
    """The report of an import that ends with status 3: some records were refused."""
    code, out, err = flitwatch(*argv, "--json")
    assert code == 3, err
    return json.loads(out)


def scalar(url: str, query: str) -> Any:
    with connect(url, role="reader") as conn:
        row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]
