"""Audit entries of callers without a login: a few entries per source and minute, and the number of further ones."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from flitwatch_db.people.audit import Entry
from flitwatch_domain.addresses import to_network

#: Entries per source and minute that are written individually, and most sources. Others are only counted.
SINGLY, SOURCES = 10, 100
MINUTE_S = 60.0
#: Most kinds and names listed in a summary.
MOST_REPORTED = 20
#: Represents all sources beyond SOURCES.
OTHERS = "other sources"


@dataclass
class _Minute:
    """Actions of a source since the start of its minute."""

    last: Entry
    since: datetime
    begun_s: float
    written: int = 0
    until: datetime | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    names: dict[str, None] = field(default_factory=dict)

    def count(self, entry: Entry) -> None:
        """Count an entry that is not written individually."""
        self.last, self.until = entry, datetime.now(UTC)
        kind = f"{entry.action} {entry.status}"
        self.kinds[kind if kind in self.kinds or len(self.kinds) < MOST_REPORTED else "others"] += 1
        if len(self.names) < MOST_REPORTED:
            self.names[entry.actor] = None

    def summed(self, source: str) -> Entry:
        """Return a summary entry for all counted actions."""
        assert self.until is not None
        span = {"since": self.since.isoformat(), "until": self.until.isoformat()}
        details = {"times": self.kinds.total(), "actions": dict(self.kinds), "names": list(self.names), **span}
        return replace(
            self.last,
            actor="nobody",
            action="counted",
            target=None,
            status=None,
            address=source,
            request_id=None,
            details=details,
        )


class AnonymousTrail:
    """Decides which entries are written, so that callers without a login cannot fill the log."""

    def __init__(self) -> None:
        self._minutes: dict[str, _Minute] = {}

    def is_single(self, entry: Entry) -> bool:
        """Return whether to write an entry. Otherwise, count it."""
        source = to_network(entry.address or "")
        if source not in self._minutes and len(self._minutes) >= SOURCES:
            source = OTHERS
        minute = self._minutes.setdefault(source, _Minute(entry, datetime.now(UTC), time.monotonic()))
        if source != OTHERS and minute.written < SINGLY:
            minute.written += 1
            return True
        minute.count(entry)
        return False

    def sums(self, everything: bool = False) -> list[Entry]:
        """Return summary entries for the counts of past minutes."""
        now_s = time.monotonic()
        over = [
            source
            for source, open_minute in self._minutes.items()
            if everything or now_s - open_minute.begun_s >= MINUTE_S
        ]
        ended = [(source, self._minutes.pop(source)) for source in over]
        return [minute.summed(source) for source, minute in ended if minute.kinds]
