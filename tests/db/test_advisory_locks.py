"""Every advisory lock has a unique key. Locks with the same key exclude each other: the alert engine once blocked forecasts of running jobs this way."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_two_advisory_locks_have_one_key() -> None:
    sources = [path for package in ("db", "ml", "ingest", "services") for path in (ROOT / package).rglob("*.py")]
    keys = Counter(
        int(key)
        for path in sources
        for key in re.findall(r"^_?[A-Z_]*LOCK = (\d{10,})$", path.read_text(errors="replace"), re.MULTILINE)
    )
    assert len(keys) >= 6 and [key for key, times in keys.items() if times > 1] == []
