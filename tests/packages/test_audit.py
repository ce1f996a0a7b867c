"""The offline audit names vulnerable locked versions, and nothing if there are none."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("audit", ROOT / "packaging" / "audit.py")
assert _spec is not None and _spec.loader is not None
audit: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(audit)


def archive(folder: Path, *planted: dict[str, Any]) -> list[Path]:
    path = folder / "all.zip"
    with zipfile.ZipFile(path, "w") as held:
        for number, record in enumerate(planted):
            held.writestr(f"X-{number}.json", json.dumps({"id": f"X-{number}", **record}))
    return [path]


def about(ecosystem: str, name: str, *events: dict[str, str], versions: tuple[str, ...] = ()) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    return {"affected": [{"package": {"ecosystem": ecosystem, "name": name}, "ranges": ranges, "versions": versions}]}


def test_planted_weaknesses_of_locked_versions_are_found(tmp_path: Path) -> None:
    held = audit.locked(ROOT)
    (psycopg,) = held["PyPI", "psycopg"]
    (page,) = held["npm", "react"]
    archives = archive(
        tmp_path,
        about("PyPI", "Psycopg", {"introduced": "0"}, {"fixed": "999"}),
        about("npm", "react", versions=(page,)),
        about("PyPI", "psycopg", {"introduced": "0"}, {"fixed": psycopg}),
        about("PyPI", "psycopg", {"introduced": "0"}, {"last_affected": "1.0"}),
        about("PyPI", "no-such-package", {"introduced": "0"}),
        {"withdrawn": "2026-01-01T00:00:00Z", **about("PyPI", "psycopg", {"introduced": "0"})},
    )
    assert [(one["package"], one["version"], one["record"]) for one in audit.find_weak(held, archives)] == [
        ("Psycopg", psycopg, "X-0"),
        ("react", page, "X-1"),
    ]


@pytest.mark.parametrize(("version", "weak"), [("1.4.9", False), ("1.5.0", True), ("1.9", True), ("2.0", False), ("2.3", True), ("odd!", True)])  # fmt: skip
def test_ranges_that_open_twice(version: str, weak: bool) -> None:
    events = [{"introduced": "1.5"}, {"fixed": "2.0"}, {"introduced": "2.2"}]
    assert audit.is_affected(version, {"ranges": [{"type": "SEMVER", "events": events}]}) is weak
