"""Who of several processes works on which topic: advisory locks, held by a connection and gone with it.

Every member computes the same division of the sorted names over the sorted members, and takes or lets go of its part; nobody
negotiates, and a member that is killed frees its names at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
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
    opportunistic : bool
        Takes what nobody holds and counts as no member: for one-shot imports beside a running writer.
    """

    def __init__(self, url: str, group: str, opportunistic: bool = False) -> None:
        self._url = url
        self._opportunistic = opportunistic
        self._member_class = _number(f"share member {group}")
        self._name_class = _number(f"share {group}")
        self._conn: psycopg.Connection[Any] | None = None
        #: The names this member holds the locks of.
        self.held: set[str] = set()

    def divide(self, names: Iterable[str]) -> set[str]:
        """Return the part of `names` that is this member's by the number of members; those it holds beyond are to be released.

        Raises
        ------
        Unavailable
            The database does not answer; everything held is lost, because the locks went with the connection.
        """
        ordered = sorted(names)
        if self._opportunistic:
            return set(ordered)
        with self._guarded() as conn:
            members = [
                row[0]
                for row in conn.execute(
                    "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint = %s AND objsubid = 2"
                    " AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1",
                    [self._member_class & 0xFFFFFFFF],
                )
            ]
            rank = members.index(conn.info.backend_pid) if conn.info.backend_pid in members else 0
            return set(ordered[rank :: max(1, len(members))])

    def take(self, names: Collection[str]) -> set[str]:
        """Lock those of `names` that nobody else holds; return what is held of them."""
        with self._guarded() as conn:
            for name in sorted(set(names) - self.held):
                row = conn.execute("SELECT pg_try_advisory_lock(%s, %s)", [self._name_class, _number(name)]).fetchone()
                if row is not None and row[0]:
                    self.held.add(name)
        return self.held & set(names)

    def release(self, names: Collection[str]) -> None:
        """Let others have these."""
        with self._guarded() as conn:
            for name in sorted(self.held & set(names)):
                conn.execute("SELECT pg_advisory_unlock(%s, %s)", [self._name_class, _number(name)])
                self.held.discard(name)

    def close(self) -> None:
        """Let go of everything."""
        self.held.clear()
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _guarded(self) -> _Guard:
        return _Guard(self)

    def _connection(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            self.held.clear()
            conn = connect(self._url, role="writer", application="flitwatch shares", autocommit=True)
            if not self._opportunistic:
                conn.execute("SELECT pg_advisory_lock(%s, pg_backend_pid())", [self._member_class])
            self._conn = conn
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
