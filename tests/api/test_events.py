"""The event stream: live, replayed, bounded, kept alive."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from urllib.parse import urlsplit

import psycopg
import pytest
from support.waiting import eventually

from api.conftest import Served, bearer, operating, serving
from api.streams import emit, following, goes_on, take, wait_until_listening
from flitwatch_api.events import http
from flitwatch_api.events.hub import PUBLIC, QUEUE, Hub, Stream, encode_event
from flitwatch_api.people import callers
from flitwatch_api.settings import Settings
from flitwatch_db import build_conninfo, connect
from flitwatch_db.core import events
from flitwatch_db.core.events import Event
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import Unavailable


@pytest.fixture
def live(embedded_db: str) -> Iterator[Served]:
    with serving(Settings(db=embedded_db, web=None, api_heartbeat_s=0.3, api_streams_max=3)) as served:
        yield served


def wait_until_no_streams(served: Served) -> None:
    eventually(
        lambda: "flitwatch_api_event_streams 0.0" in served.http.get("/metrics").text,
        what="the streams of clients that left to end",
    )


def test_many_callers_leave_a_place_for_the_next() -> None:
    hub = Hub("", most_streams=4, most_each=3)
    with ExitStack() as stack:
        first, *_ = [stack.enter_context(hub.subscribe("a")) for _ in range(3)]
        stack.enter_context(hub.subscribe("b"))
        stack.enter_context(hub.subscribe("c"))
        assert first.closed and hub.streams == 4 and first.events.get_nowait() is None
        # Every other caller has at most one more than c.
        with pytest.raises(Unavailable, match="api_streams_max"):
            stack.enter_context(hub.subscribe("c"))


def test_every_stream_gets_every_event_in_order(live: Served, embedded_db: str) -> None:
    wait_until_listening(live)
    with following(live) as one, following(live, params={"kinds": "task,run"}) as two:
        numbers = emit(embedded_db, {"job_pk": 1}, {"job_pk": 2})
        tasks = emit(embedded_db, {"task_id": 3}, kind="task")
        assert take(one, 3) == [
            (numbers[0], "job", {"job_pk": 1}),
            (numbers[1], "job", {"job_pk": 2}),
            (tasks[0], "task", {"task_id": 3}),
        ]
        assert take(two, 1) == [(tasks[0], "task", {"task_id": 3})]


@pytest.mark.system("processes")
@pytest.mark.parametrize("by", ["header", "query"])
def test_what_was_missed_is_replayed_once(live: Served, embedded_db: str, by: str) -> None:
    numbers = emit(embedded_db, *({"job_pk": n} for n in range(1200)))
    wait_until_listening(live)
    options = (
        {"headers": {"Last-Event-ID": str(numbers[9])}}
        if by == "header"
        else {"params": {"last_event_id": str(numbers[9])}}
    )
    with following(live, **options) as lines:
        later = emit(embedded_db, {"job_pk": 1200})
        assert [number for number, _, _ in take(lines, 1191)] == [*numbers[10:], *later]


def test_a_number_of_another_database_resets_the_client(live: Served, embedded_db: str) -> None:
    number = emit(embedded_db, {"job_pk": 1})[0]
    wait_until_listening(live)
    with following(live, headers={"Last-Event-ID": "999999"}) as lines:
        assert take(lines, 1)[0][:2] == (number, "reset")
        later = emit(embedded_db, {"job_pk": 2})[0]
        assert take(lines, 1) == [(later, "job", {"job_pk": 2})]
    for bad in ("x", "-1", "1e3", "9" * 30):
        refused = live.http.get("/api/v1/events", headers={"Last-Event-ID": bad})
        assert refused.status_code == 400 and refused.json()["advice"]


def test_a_quiet_stream_is_kept_alive(live: Served) -> None:
    with following(live) as lines:
        assert next(line for line in lines if line.startswith(":")) == ": still here"


def test_streams_are_bounded_in_number(live: Served) -> None:
    with following(live), following(live), following(live):
        refused = live.http.get("/api/v1/events")
        assert refused.status_code == 503 and "api_streams_max" in refused.json()["detail"]
    wait_until_no_streams(live)


@pytest.mark.system("processes")
def test_hundreds_of_streams_leave_capacity_for_requests(embedded_db: str) -> None:
    many = 300
    made = Settings(db=embedded_db, web=None, api_heartbeat_s=30, api_streams_max=many, api_streams_each=many)
    with serving(made) as served, ExitStack() as stack:
        parts = urlsplit(served.url)
        ask = f"GET /api/v1/events HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
        streams = []
        for _ in range(many):
            streams.append(stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=60)))
            streams[-1].sendall(ask)
        for stream in streams:
            assert b" 200 " in stream.recv(1 << 16).split(b"\r\n")[0]
        assert served.http.get("/api/v1/events").status_code in (429, 503)
        assert served.http.get("/healthz").status_code == 200
        wait_until_listening(served)
        emit(embedded_db, {"n": 1})
        for stream in streams:
            said = b""
            while b"event: job" not in said:
                got = stream.recv(1 << 16)
                assert got, "a stream ended"
                said += got


def test_one_caller_leaves_streams_for_others(embedded_db: str) -> None:
    operator = operating(embedded_db)
    with serving(Settings(db=embedded_db, web=None, api_heartbeat_s=0.3, api_streams_max=3, api_streams_each=2)) as api:
        with following(api), following(api):
            refused = api.http.get("/api/v1/events")
            assert refused.status_code == 429 and "api_streams_each" in refused.json()["detail"]
            with following(api, headers=operator) as lines:
                assert next(line for line in lines if line.startswith(":")) == ": still here"
        wait_until_no_streams(api)
        with following(api), following(api):
            pass


async def test_a_stream_that_is_too_slow_ends_instead_of_growing() -> None:
    stream = Stream()
    for number in range(QUEUE + 100):
        stream.put((number, "job", b"x"))
    assert stream.closed and stream.events.qsize() == 1
    assert await asyncio.wait_for(stream.events.get(), 1) is None


def test_a_client_that_does_not_read_costs_a_bounded_queue(live: Served, embedded_db: str) -> None:
    wait_until_listening(live)
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as conn:
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        conn.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        conn.recv(200)

        def dropped() -> bool:
            if "flitwatch_api_event_streams_dropped_total 1.0" in live.http.get("/metrics").text:
                return True
            emit(embedded_db, *({"state": "x" * 20_000} for _ in range(100)))
            return False

        eventually(dropped, every_s=0.0, what="the stream to be dropped")
    assert live.http.get("/healthz").status_code == 200


def test_text_of_users_cannot_forge_an_event(live: Served, embedded_db: str) -> None:
    wait_until_listening(live)
    with following(live) as lines:
        hostile = {"state": "x\n\nid: 1\nevent: forged\ndata: {}\r\r\u2028"}
        number = emit(embedded_db, hostile)[0]
        assert take(lines, 1) == [(number, "job", hostile)]


@pytest.mark.system("processes")
@pytest.mark.parametrize(
    "ended",
    [
        "UPDATE token SET revoked_at = now() WHERE label = 'otto'",
        "UPDATE token SET expires_at = now() WHERE label = 'otto'",
        "UPDATE account SET disabled = true WHERE name = 'otto'",
        "UPDATE account SET role = 'user' WHERE name = 'otto'",
        "DELETE FROM session",
    ],
)
@pytest.mark.parametrize("anonymous", ["none", "viewer"])
def test_a_stream_ends_with_what_it_was_opened_by(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch, ended: str, anonymous: str
) -> None:
    monkeypatch.setattr(callers, "BELIEVED_S", 0.1)
    monkeypatch.setattr(http, "CHECK_S", 0.1)
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator", "correct horse battery")
        people.add_account(conn, "anna", "operator")
        opened, other = (bearer(people.add_token(conn, name, name, ["read", "names"])[1]) for name in ("otto", "anna"))
    settings = Settings(db=embedded_db, web=None, api_anonymous=anonymous, api_heartbeat_s=0.05, api_streams_max=3)
    with serving(settings) as api:
        if "session" in ended:
            login = api.http.post("/api/v1/session", json={"name": "otto", "password": "correct horse battery"})
            opened = {"Cookie": f"flitwatch-session={login.cookies['flitwatch-session']}"}
        with following(api, headers=opened) as lines, following(api, headers=other) as others:
            assert goes_on(lines) and goes_on(others)
            with connect(embedded_db, role="gate", autocommit=True) as conn:
                assert conn.execute(ended.encode()).rowcount == 1
            assert not goes_on(lines, 200)
            assert goes_on(others, 30)


@pytest.mark.system("numeric")
def test_streams_of_many_sessions_share_one_connection(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is checked ten times a second here; none of the checks opens a connection."""
    monkeypatch.setattr(callers, "BELIEVED_S", 0.1)
    monkeypatch.setattr(http, "CHECK_S", 0.1)
    many = 40
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        secrets = []
        for number in range(many):
            people.add_account(conn, f"viewer{number}", "viewer")
            (account_id,) = conn.execute(
                "SELECT account_id FROM account WHERE name = %s", [f"viewer{number}"]
            ).fetchone() or (0,)
            secrets.append(people.begin_session(conn, account_id)[0])
    opened = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"
    gates = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'flitwatch api callers'"
    settings = Settings(
        db=embedded_db, web=None, api_anonymous="none", api_heartbeat_s=0.05, api_streams_max=many, api_streams_each=1
    )
    with serving(settings) as api, ExitStack() as stack, connect(embedded_db, autocommit=True) as watching:
        streams = [
            stack.enter_context(following(api, headers={"Cookie": f"flitwatch-session={secret}"})) for secret in secrets
        ]
        before = watching.execute(opened).fetchone()
        assert all(goes_on(lines, 30) for lines in streams)
        after = watching.execute(opened).fetchone()
        assert before is not None and after is not None and after[0] - before[0] <= 1
        assert watching.execute(gates).fetchone() == (1,)
        watching.execute("DELETE FROM account WHERE name = 'viewer7'")
        assert not goes_on(streams[7], 200)
        assert all(goes_on(lines, 5) for number, lines in enumerate(streams) if number != 7)


def test_events_come_again_after_the_database_was_away(live: Served, embedded_db: str) -> None:
    wait_until_listening(live)
    with following(live) as lines:
        with connect(embedded_db, autocommit=True) as conn:
            conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        number = emit(embedded_db, {"job_pk": 1})[0]
        assert take(lines, 1) == [(number, "job", {"job_pk": 1})]
    assert live.http.get("/api/v1/jobs").status_code == 200


def lose_events(owner: psycopg.Connection, after: int) -> None:
    """What a standby that takes over has of events whose emitters did not wait for it: their rows and numbers never were."""
    owner.execute("DELETE FROM event WHERE event_id > %s", [after])
    owner.execute(f"ALTER TABLE event ALTER COLUMN event_id RESTART WITH {after + 1}".encode())


def test_events_whose_numbers_come_again_after_a_failover_are_reported(live: Served, embedded_db: str) -> None:
    wait_until_listening(live)
    with following(live, params={"kinds": "job"}) as lines:
        numbers = emit(embedded_db, *({"job_pk": n} for n in range(5)))
        take(lines, 5)
        with connect(embedded_db) as owner:
            lose_events(owner, numbers[1])
            again = [events.emit_event(owner, "job", {"job_pk": 100 + n}) for n in range(2)]
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert again == numbers[2:4]
        assert take(lines, 1)[0][:2] == (again[-1], "reset")
        later = emit(embedded_db, {"job_pk": 200})[0]
        assert take(lines, 1) == [(later, "job", {"job_pk": 200})]


def test_what_a_failover_took_back_is_not_shown_as_complete(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        first = events.emit_event(conn, "counters", {"fabric_id": 1, "through": "2026-09-21T16:00:00Z", "routers": 1})
        events.emit_event(conn, "counters", {"fabric_id": 1, "through": "2026-09-21T16:00:05Z", "routers": 1})
    hub, completed = Hub(embedded_db, 1, 1), []
    hub.on_event(completed.append)

    async def before_and_after() -> tuple[float, float]:
        async with await psycopg.AsyncConnection.connect(
            build_conninfo(embedded_db, role="reader"), autocommit=True
        ) as conn:
            await hub._begin(conn)
            before = hub.through[1]
            with connect(embedded_db) as owner:
                lose_events(owner, first)
            await hub._begin(conn)
            return before, hub.through[1]

    complete = datetime(2026, 9, 21, 16, tzinfo=UTC).timestamp()
    assert asyncio.run(before_and_after()) == (complete + 5, complete)
    # Buckets that were read as closed meanwhile are read again.
    assert [datetime.fromisoformat(event.payload["late_from"]).timestamp() for event in completed] == [complete]


def test_a_late_sample_changes_what_is_shown(live: Served, embedded_db: str) -> None:
    """Closed buckets are held in memory until the writer says that they changed."""
    import numpy as np

    from flitwatch_db.counters import store as counters
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.counters import ROUTER_COLUMNS
    from flitwatch_domain.generators import build_dragonfly

    start = 1_790_000_000 // 60 * 60

    def write(conn, fabric_id: int, second: int, flits: float) -> None:
        values = np.full((1, len(ROUTER_COLUMNS)), np.nan)
        values[0, 0] = flits
        row = counters.Rows(
            np.array([fabric_id], np.int32),
            np.array([1], np.int32),
            np.array([start + second]),
            np.ones(1, np.int32),
            np.array([48.0]),
            values,
        )
        counters.write_batch(conn, counters.Batch(routers=row))

    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(
            conn,
            build_dragonfly(
                2, 2, 2, blue_routers=1, blue_cables=1, black_cables=1, endpoints_per_router=1, name="late"
            ),
        )
        write(conn, fabric_id, 5, 10)
        write(conn, fabric_id, 100, 10)
        events.emit_event(conn, "counters", {"fabric_id": fabric_id, "through": "2026-09-21T15:00:00Z", "routers": 1})
    wait_until_listening(live)

    def shown() -> float:
        return live.get("/fabrics/late/stalls", at=start + 60, window="60s")["routers"]["flits"][0]

    assert shown() == 10
    with connect(embedded_db, role="writer") as conn:
        write(conn, fabric_id, 20, 7)
        late = {
            "fabric_id": fabric_id,
            "through": "2026-09-21T15:00:01Z",
            "routers": 1,
            "late_from": "2026-09-21T13:00:00Z",
        }
        events.emit_event(conn, "counters", late)
    eventually(lambda: shown() == 17, every_s=0.02, what="the counters' new end", detail=shown)


def test_counters_of_the_past_do_not_move_the_present(embedded_db: str) -> None:
    """A day that is filled in ends hours ago; how far the machine's counters reach stays where it was, in a process that starts later too."""
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.generators import build_dragonfly

    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(
            conn,
            build_dragonfly(
                2, 2, 2, blue_routers=1, blue_cables=1, black_cables=1, endpoints_per_router=1, name="filled"
            ),
        )
        present = {"fabric_id": fabric_id, "through": "2026-09-21T16:00:00Z", "routers": 1}
        events.emit_event(conn, "counters", present | {"ports_through": "2026-09-21T15:59:50Z"})
        past = {"fabric_id": fabric_id, "through": "2026-09-21T12:00:00Z", "routers": 1}
        last = events.emit_event(conn, "counters", past | {"late_from": "2026-09-20T16:00:00Z"})
    hub = Hub(embedded_db, 1, 1)

    async def begun() -> tuple[float, float]:
        async with await psycopg.AsyncConnection.connect(
            build_conninfo(embedded_db, role="reader"), autocommit=True
        ) as conn:
            await hub._begin(conn)
            at_start = hub.through[fabric_id]
            hub._hand_on(events.Event(last, datetime.now(UTC), "counters", past))
            return at_start, hub.through[fabric_id]

    expected = datetime(2026, 9, 21, 16, tzinfo=UTC).timestamp()
    assert asyncio.run(begun()) == (expected, expected)
    assert hub.ports_through[fabric_id] == expected - 10


#: What each kind's emitter puts into it; what streams tell of it is the contract's.
NAMED = {
    "user": "s0085",
    "rule": "watch-s0085",
    "name": "/home/s0085/x",
    "message": "s0085",
    "where": {"user": "s0085"},
    "new": ["s0085"],
}


@pytest.mark.parametrize("kind", [*PUBLIC, "of a later version"])
def test_a_stream_tells_what_is_listed_and_nothing_else(kind: str) -> None:
    """Its text is the same for all callers, so names and folders stay out of it: also those of fields and kinds that nobody thought of."""
    listed = {name: "/home/s0085/bin/amg" if name == "exe" else 7 for name in PUBLIC.get(kind, ())}
    message = encode_event(Event(1, datetime.now(UTC), kind, {**NAMED, **listed}))
    assert b"s0085" not in message
    data = json.loads(message.split(b"data: ")[1])
    assert data == {name: "amg" if name == "exe" else 7 for name in listed}


def test_a_listed_field_with_more_in_it_is_left_out() -> None:
    message = encode_event(
        Event(1, datetime.now(UTC), "job", {"job_pk": 1, "state": {"user": "s0085"}, "job_id": ["s0085"]})
    )
    assert message.endswith(b'data: {"job_pk":1}\n\n')
    for payload in ("s0085", ["s0085"], None):
        assert encode_event(Event(1, datetime.now(UTC), "job", payload)).endswith(b"data: {}\n\n")  # type: ignore[arg-type]


def test_a_refused_record_is_reported_without_what_it_quotes() -> None:
    message = encode_event(
        Event(3, datetime.now(UTC), "dead_letter", {"count": 2, "reason": "submit: 's0085' is not a time"})
    )
    assert b"s0085" not in message and b'"count":2' in message and b"is not a time" in message


def test_an_anonymous_stream_hears_of_an_estimate_without_its_folders(live: Served, embedded_db: str) -> None:
    wait_until_listening(live)
    payload = {"kind": "blame", "exe": "/home/alice/bin/vasp", "nodes": 64, "estimate_id": 3}
    with following(live) as lines:
        number = emit(embedded_db, payload, kind="estimate")[0]
        assert take(lines, 1) == [(number, "estimate", {**payload, "exe": "vasp"})]
    with following(live, headers={"Last-Event-ID": "0"}) as lines:
        assert take(lines, 1) == [(number, "estimate", {**payload, "exe": "vasp"})]
