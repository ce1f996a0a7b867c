"""Leases that divide topics among several processes; a lease ends when its owner is killed, or is silent for LEASE_S.

A lease is an advisory lock of a connection and ends with it. The server ends the connection of a member that sends no query for LEASE_S, which happens
only if its process stalls. Every member computes the same division of the sorted names among the sorted members, and takes or releases its part
without negotiation.

A member that lost a lease does not notice it at once. Each lease therefore has an epoch (table `topic_lease`) as a fencing token. A member that takes
over a topic ends the former owner's write transaction and increments the epoch. A transaction with an older epoch is rejected (`check_epochs`).
"""

from __future__ import annotations

import contextlib
import threading
import time
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import psycopg

from flitwatch_db.core.connection import connect
from flitwatch_domain.errors import Conflict, Unavailable

#: A member that is silent for this long loses its leases.
LEASE_S = 10.0
#: Time limit for the former owner's write transaction; then the member tries again later.
FENCE_S = 35.0
#: Interval of a member's sign of life, also while its loop waits for the database or decodes.
RENEW_S = 2.0


class TopicLeases:
    """One member of a group.

    Parameters
    ----------
    opportunistic : bool
        Takes only free topics and does not count as a member: for one-shot imports alongside a running writer.
    """

    def __init__(self, url: str, group: str, opportunistic: bool = False) -> None:
        self._url = url
        self._group = group
        self._opportunistic = opportunistic
        self._member_class = _hash_int32(f"share member {group}")
        self._name_class = _hash_int32(f"share {group}")
        self._conn: psycopg.Connection[Any] | None = None
        self._epochs: dict[str, int] = {}
        #: Names locked by this member.
        self.held: set[str] = set()

    def divide(self, names: Iterable[str]) -> set[str]:
        """Return this member's part of `names`, given the number of members; other names that it has locked should be released. Raise Unavailable if
        the database does not respond; all locks are lost with the connection."""
        ordered = sorted(names)
        if self._opportunistic:
            return set(ordered)
        with self._make_guard() as conn:
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
        """Lock those of `names` that are free; return the names that are locked by this member. Raise Unavailable as in `divide`."""
        with self._make_guard() as conn:
            for name in sorted(set(names) - self.held):
                row = conn.execute(
                    "SELECT pg_try_advisory_lock(%s, %s)", [self._name_class, _hash_int32(name)]
                ).fetchone()
                if row is not None and row[0]:
                    self._count_up(conn, name)
                    self.held.add(name)
        return self.held & set(names)

    def epochs(self, names: Iterable[str]) -> dict[str, int]:
        """Return the leases' epochs by name, as known to this member, including leases that it has lost."""
        return {name: self._epochs[name] for name in names if name in self._epochs}

    def release(self, names: Collection[str]) -> None:
        """Release the given leases."""
        with self._make_guard() as conn:
            for name in sorted(self.held & set(names)):
                conn.execute("SELECT pg_advisory_unlock(%s, %s)", [self._name_class, _hash_int32(name)])
                self.held.discard(name)

    def close(self) -> None:
        """Release all leases."""
        self.held.clear()
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _count_up(self, conn: psycopg.Connection[Any], name: str) -> None:
        """Start an epoch, unless the last one was this member's, because then no other member had the topic in between."""
        last = conn.execute(
            "SELECT epoch FROM topic_lease WHERE member_group = %s AND topic = %s", [self._group, name]
        ).fetchone()
        if last is not None and last[0] == self._epochs.get(name):
            return
        _end_writers(conn, self._group, name)
        row = conn.execute(
            "INSERT INTO topic_lease AS l (member_group, topic) VALUES (%s, %s)"
            " ON CONFLICT (member_group, topic) DO UPDATE SET epoch = l.epoch + 1, taken_at = excluded.taken_at RETURNING epoch",
            [self._group, name],
        ).fetchone()
        conn.execute("SELECT pg_advisory_unlock(%s, %s)", _build_fence_key(self._group, name))
        assert row is not None
        self._epochs[name] = row[0]

    def _make_guard(self) -> _Guard:
        return _Guard(self)

    def _ensure_connection(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            self.held.clear()
            conn = connect(self._url, role="writer", application="flitwatch shares", autocommit=True)
            conn.execute(
                "SELECT set_config('idle_session_timeout', %s, false), set_config('lock_timeout', %s, false)",
                [f"{round(LEASE_S * 1000)}ms", f"{round(FENCE_S * 1000)}ms"],
            )
            if not self._opportunistic:
                conn.execute("SELECT pg_advisory_lock(%s, pg_backend_pid())", [self._member_class])
            self._conn = conn
            threading.Thread(target=_renew_session, args=(conn,), name="leases", daemon=True).start()
        return self._conn


class _Guard:
    """Provider of the connection; if the connection is broken, its locks are lost."""

    def __init__(self, leases: TopicLeases) -> None:
        self._leases = leases

    def __enter__(self) -> psycopg.Connection[Any]:
        return self._leases._ensure_connection()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, psycopg.Error):
            self._leases.close()
            raise Unavailable(f"the database does not answer: {problem}") from None


def _renew_session(conn: psycopg.Connection[Any]) -> None:
    """Query the server regularly until the connection ends; its next user notices the end."""
    with contextlib.suppress(psycopg.Error):
        while True:
            time.sleep(RENEW_S)
            conn.execute("SELECT")


def check_epochs(conn: psycopg.Connection[Any], group: str, epochs: Mapping[str, int]) -> None:
    """Reject the caller's transaction if another member now writes a topic; no member takes the topics over until the transaction ends. Raise
    Conflict if another member has taken over one of the topics."""
    names = sorted(epochs)
    conn.execute(
        "SELECT pg_advisory_xact_lock_shared(%s, name) FROM unnest(%s::int[]) AS name",
        [_hash_int32(f"share fence {group}"), sorted(map(_hash_int32, names))],
    )
    now = dict(
        conn.execute(
            "SELECT topic, epoch FROM topic_lease WHERE member_group = %s AND topic = ANY(%s)", [group, names]
        ).fetchall()
    )
    if lost := [name for name in names if now.get(name) != epochs[name]]:
        raise Conflict(f"another writer has taken over {', '.join(lost)}", advice="Read their positions again.")


def _end_writers(conn: psycopg.Connection[Any], group: str, name: str) -> None:
    """End transactions of a topic's former owner, and block new ones until the fence is unlocked."""
    fence, name_number = _build_fence_key(group, name)
    with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
        # If a login may not end its own sessions, the server ends idle ones.
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint = %s AND objid::bigint = %s"
            " AND objsubid = 2 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [fence & 0xFFFFFFFF, name_number & 0xFFFFFFFF],
        )
    conn.execute("SELECT pg_advisory_lock(%s, %s)", [fence, name_number])


def _build_fence_key(group: str, name: str) -> list[int]:
    return [_hash_int32(f"share fence {group}"), _hash_int32(name)]


def _hash_int32(text: str) -> int:
    """Return a signed 32-bit hash of a text."""
    return zlib.crc32(text.encode()) - (1 << 31)
