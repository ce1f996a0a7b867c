"""Leases on topics: they run out for a member that stands still, and what it writes under an old one is refused."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.ingest import topic_leases
from flitwatch_db.ingest.topic_leases import TopicLeases, check_epochs
from flitwatch_domain.errors import Conflict, Unavailable

GROUP = "writers log"


@pytest.fixture
def still(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TopicLeases]:
    """A member that holds topic `t` and says nothing from then on."""
    with monkeypatch.context() as silent:
        silent.setattr(topic_leases, "RENEW_S", 3600.0)
        silent.setattr(topic_leases, "LEASE_S", 1.0)
        member = TopicLeases(embedded_db, GROUP)
        assert member.take({"t"}) == {"t"}
    yield member
    member.close()


@pytest.fixture
def other(embedded_db: str) -> Iterator[TopicLeases]:
    member = TopicLeases(embedded_db, GROUP)
    yield member
    member.close()


def test_a_member_that_is_silent_loses_its_leases_to_another(
    still: TopicLeases, other: TopicLeases, embedded_db: str
) -> None:
    assert other.take({"t"}) == set()
    eventually(lambda: other.take({"t"}) == {"t"}, what="the lease to run out")
    with pytest.raises(Unavailable):
        still.divide({"t"})
    assert still.take({"t"}) == set()
    with connect(embedded_db, role="writer") as conn:
        check_epochs(conn, GROUP, other.epochs({"t"}))
        with pytest.raises(Conflict, match="taken over t"):
            check_epochs(conn, GROUP, still.epochs({"t"}))


def test_what_it_is_writing_is_ended(still: TopicLeases, other: TopicLeases, embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as writing, connect(embedded_db, role="writer") as elsewhere:
        check_epochs(writing, GROUP, still.epochs({"t"}))
        check_epochs(elsewhere, "others log", {})
        eventually(lambda: other.take({"t"}) == {"t"}, what="the lease to be taken over")
        with pytest.raises(psycopg.OperationalError):
            writing.execute("SELECT")
        elsewhere.execute("SELECT")


def test_a_lease_that_nobody_else_had_meanwhile_is_the_same(still: TopicLeases, embedded_db: str) -> None:
    before = still.epochs({"t"})

    def lost() -> bool:
        try:
            still.divide({"t"})
        except Unavailable:
            return True
        return False

    with connect(embedded_db, role="writer") as conn:
        # Its own transaction goes on.
        check_epochs(conn, GROUP, before)
        with connect(embedded_db, role="writer", autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'flitwatch shares'"
            )
        eventually(lost, what="the connection to be lost")
        assert still.take({"t"}) == {"t"} and still.epochs({"t"}) == before
        conn.execute("SELECT")


def test_a_member_that_is_there_keeps_its_leases(
    embedded_db: str, other: TopicLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_leases, "RENEW_S", 0.1)
    monkeypatch.setattr(topic_leases, "LEASE_S", 1.0)
    busy = TopicLeases(embedded_db, GROUP)
    assert busy.take({"t"}) == {"t"}
    conn = busy._conn
    with connect(embedded_db, role="reader", autocommit=True) as watching:
        # Longer than the lease by the server's own clock, in which the member itself asks nothing.
        watching.execute("SELECT pg_sleep(2)")
    assert other.take({"t"}) == set()
    assert busy.take({"t"}) == {"t"} and busy._conn is conn
    busy.close()
