"""Who of several processes has which topic or slice: advisory locks, held by a connection and gone with it.

The log's consumer group says who is to have what; these locks say who has it, so that two never have the same, whatever the group believes. A member that is
killed frees its names at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Any

import psycopg

from flitwatch_db.core.connection import connect
from flitwatch_domain.errors import Unavailable


class TopicLeases:
    """One member of a group.

    Parameters
    ----------
    url : str
    group : str
    """

    def __init__(self, url: str, group: str) -> None:
        self._url = url
        self._name_class = _number(f"share {group}")
        self._conn: psycopg.Connection[Any] | None = None
        #: The names that this member has taken, and those that it shares.
        self.held: set[str] = set()
        self.shared: set[str] = set()

    def check(self) -> None:
        """Ask the database whether the locks are still there.

        Raises
        ------
        Unavailable
            The database does not answer; everything held is lost, because the locks went with the connection.
        """
        with self._guarded() as conn:
            conn.execute("SELECT 1")

    def take(self, names: Collection[str]) -> set[str]:
        """Lock those of `names` that nobody else holds; return what is held of them."""
        with self._guarded() as conn:
            for name in sorted(set(names) - self.held):
                row = conn.execute("SELECT pg_try_advisory_lock(%s, %s)", [self._name_class, _number(name)]).fetchone()
                if row is not None and row[0]:
                    self.held.add(name)
        return self.held & set(names)

    def share(self, name: str) -> bool:
        """Lock a name so that others may share it and nobody may take it; False where somebody has taken it."""
        with self._guarded() as conn:
            if name not in self.shared:
                row = conn.execute(
                    "SELECT pg_try_advisory_lock_shared(%s, %s)", [self._name_class, _number(name)]
                ).fetchone()
                if row is not None and row[0]:
                    self.shared.add(name)
        return name in self.shared

    def unshare(self, name: str) -> None:
        """Let go of a name that was shared."""
        with self._guarded() as conn:
            if name in self.shared:
                conn.execute("SELECT pg_advisory_unlock_shared(%s, %s)", [self._name_class, _number(name)])
                self.shared.discard(name)

    def release(self, names: Collection[str]) -> None:
        """Let others have these."""
        with self._guarded() as conn:
            for name in sorted(self.held & set(names)):
                conn.execute("SELECT pg_advisory_unlock(%s, %s)", [self._name_class, _number(name)])
                self.held.discard(name)

    def close(self) -> None:
        """Let go of everything."""
        self.held.clear()
        self.shared.clear()
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _guarded(self) -> _Guard:
        return _Guard(self)

    def _connection(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            self.held.clear()
            self.shared.clear()
            self._conn = connect(self._url, role="writer", application="flitwatch shares", autocommit=True)
        return self._conn


class _Guard:
    """Gives the connection; a broken one takes what was held with it."""

    def __init__(self, leases: TopicLeases) -> None:
        self._leases = leases

    def __enter__(self) -> psycopg.Connection[Any]:
        return self._leases._connection()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, psycopg.Error):
            self._leases.close()
            raise Unavailable(f"the database does not answer: {problem}") from None


def _number(text: str) -> int:
    """A signed 32-bit number for a text."""
    return zlib.crc32(text.encode()) - (1 << 31)
