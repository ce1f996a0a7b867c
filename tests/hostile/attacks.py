"""Hostile clients. Each runs until a time on the monotonic clock and returns the number of answers by kind."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from alerting.receivers import receiving
from support.alerts import fire
from support.endless_answer import dripping
from support.endless_head import BEGINNINGS, MOST_BYTES, sent_until_closed

from flitwatch_db import connect
from flitwatch_domain.http_protocol import WAITING_REQUESTS

HERE = "127.0.0.1"
ADDRESSES, IDLE, SLOW, UPLOADERS = 20, 260, 4, 4
TIMEOUT_S, DRIP_S = 60.0, 1.0
UPLOAD_BYTES = 16 << 20
ODD_HOSTS = (
    "evil.example@localhost",
    "localhost:80:80",
    "evil.example",
    "localhost/..",
    "[::1",
    "a" * 5000,
    "localhost\tx",
)
LONG_NAME = "x" * 2000
UNREAD, REQUESTS_AHEAD = 20, 1 + WAITING_REQUESTS
#: An alert every so often, and how long its notice may take to a receiver that answers.
ALERT_EVERY_S, NOTICE_S = 2.0, 30.0
GOOD = "answers"


@dataclass(frozen=True)
class Target:
    """The platform's ports on this machine, the token of its write endpoint, and the database."""

    api: int
    metrics: int
    write_port: int
    token: str
    database: str


def _repeat(until: float, tries: Sequence[Callable[[], object]]) -> Counter[str]:
    """Repeat each in a thread of its own until the moment; count what they return, or the name of the error of a server that hangs up."""

    def one(attempt: Callable[[], object]) -> Counter[str]:
        answers: Counter[str] = Counter()
        while time.monotonic() < until:
            try:
                answers[str(attempt())] += 1
            except (OSError, http.client.HTTPException) as problem:
                answers[type(problem).__name__] += 1
        return answers

    with ThreadPoolExecutor(len(tries)) as threads:
        return sum(threads.map(one, tries), Counter())


def _ask(
    port: int, method: str, path: str, body: bytes = b"", address: str = HERE, headers: dict[str, str] | None = None
) -> int:
    connection = http.client.HTTPConnection(HERE, port, timeout=TIMEOUT_S, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def send_endless_heads(target: Target, until: float) -> Counter[str]:
    """Every kind of head without an end, to each of three listeners."""

    def send(port: int, beginning: bytes, part: bytes) -> str:
        return "all taken" if sent_until_closed(HERE, port, beginning, part) >= MOST_BYTES else "closed"

    ports = (target.api, target.metrics, target.write_port)
    return _repeat(until, [partial(send, port, *each) for port in ports for each in BEGINNINGS.values()])


def flood_log_ins(target: Target, until: float) -> Counter[str]:
    """Wrong passwords from twenty addresses, each time for another name."""
    numbers = count()

    def guess(address: str) -> int:
        body = f'{{"name": "name {next(numbers)}", "password": "wrong"}}'.encode()
        return _ask(target.api, "POST", "/api/v1/session", body, address, {"Content-Type": "application/json"})

    return _repeat(until, [partial(guess, f"127.0.1.{number + 1}") for number in range(ADDRESSES)])


def hold_idle_connections(target: Target, until: float) -> Counter[str]:
    """Connections that say nothing, opened again when they are closed."""
    opened: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        held: dict[tuple[int, int], socket.socket] = {}
        while time.monotonic() < until:
            for port in (target.write_port, target.api):
                for number in range(IDLE):
                    if _is_open(held.get((port, number))):
                        continue
                    with contextlib.suppress(OSError):
                        held[port, number] = stack.enter_context(socket.create_connection((HERE, port), timeout=1))
                        held[port, number].setblocking(False)
                        opened["opened"] += 1
            time.sleep(0.2)
    return opened


def _is_open(one: socket.socket | None) -> bool:
    if one is None:
        return False
    try:
        return one.recv(4096, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def drip_bodies(target: Target, until: float) -> Counter[str]:
    """Bodies of a megabyte, a byte at a time, with the token where one is asked for."""

    def drip(port: int, head: str) -> str:
        with socket.create_connection((HERE, port), timeout=TIMEOUT_S) as one:
            one.sendall(f"POST {head}\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode())
            while time.monotonic() < until:
                one.sendall(b"{")
                time.sleep(0.1)
        return "held to the end"

    write_port = f"/api/v1/write HTTP/1.1\r\nContent-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\nAuthorization: Bearer {target.token}"
    api = "/api/v1/session HTTP/1.1\r\nContent-Type: application/json"
    return _repeat(until, [partial(drip, target.write_port, write_port), partial(drip, target.api, api)] * SLOW)


def upload_without_a_login(target: Target, until: float) -> Counter[str]:
    """Files for tasks that are never started, from four addresses."""
    body = os.urandom(UPLOAD_BYTES)
    headers = {"Content-Type": "application/octet-stream"}
    send = partial(_ask, target.api, "POST", "/api/v1/tasks/files", body, headers=headers)
    return _repeat(until, [partial(send, address=f"127.0.2.{number + 1}") for number in range(UPLOADERS)])


def send_odd_hosts(target: Target, until: float) -> Counter[str]:
    """Host headers that are none, or another's."""

    def send(host: str) -> str:
        with socket.create_connection((HERE, target.api), timeout=TIMEOUT_S) as one:
            one.sendall(f"GET /api/v1/fabrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return one.recv(12)[9:12].decode()

    return _repeat(until, [partial(send, host) for host in ODD_HOSTS])


def flood_the_audit_log(target: Target, until: float) -> Counter[str]:
    """Refused changes with long names."""

    def change(number: int) -> int:
        return _ask(
            target.api, "PUT", f"/api/v1/alerts/rules/{LONG_NAME}{number}", b"{}", headers={"User-Agent": LONG_NAME}
        )

    return _repeat(until, [partial(change, number) for number in range(8)])


def read_no_answers(target: Target, until: float) -> Counter[str]:
    """Request a large answer many times on each connection, and read none of them."""
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * REQUESTS_AHEAD

    def hold(address: str) -> str:
        with contextlib.ExitStack() as stack:
            for _ in range(UNREAD):
                one = stack.enter_context(socket.socket())
                # The less its own side takes, the more is left in the server.
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.settimeout(TIMEOUT_S)
                one.bind((address, 0))
                one.connect((HERE, target.api))
                one.sendall(request)
            time.sleep(max(0.0, min(5.0, until - time.monotonic())))
        return f"{UNREAD} held"

    return _repeat(until, [partial(hold, f"127.0.3.{number + 1}") for number in range(ADDRESSES)])


def hold_up_deliveries(target: Target, until: float) -> Counter[str]:
    """Alerts while two of three receivers send a byte now and then and never end (`receivers`). Count what the third one got."""
    fired: list[int] = []
    with connect(target.database, autocommit=True) as conn:
        while time.monotonic() < until:
            fired.append(fire(conn, f"hostile-{len(fired)}"))
            time.sleep(ALERT_EVERY_S)
        ends, waited = time.monotonic() + NOTICE_S, fired
        while waited and time.monotonic() < ends:
            time.sleep(0.2)
            waited = [each for each in fired if each not in delivered_to(conn, GOOD)]
    return Counter({"delivered": len(fired) - len(waited)} | ({"late": len(waited)} if waited else {}))


def delivered_to(conn: Any, receiver: str) -> set[int]:
    """Return the alerts that a receiver has accepted."""
    rows = conn.execute(
        "SELECT alert_id FROM alert_notice WHERE receiver = %s AND delivered_at IS NOT NULL", [receiver]
    )
    return {number for (number,) in rows}


@contextlib.contextmanager
def receivers(folder: Path) -> Iterator[Path]:
    """Yield a configuration of alerting: a webhook and a mail server that never end, and a webhook that answers."""
    with receiving() as hook, dripping(DRIP_S) as port:
        place = {"server": f"127.0.0.1:{port}", "to": ["a@x.example"]}
        chosen = [
            {"name": "drips", "kind": "webhook", "url": f"http://127.0.0.1:{port}/"},
            {"name": "drips-mail", "kind": "mail", **place},
            {"name": GOOD, "kind": "webhook", "url": hook.url},
        ]
        file = folder / "alerts.yaml"
        file.write_text(json.dumps({"group_wait": 0, "group_interval": 0, "rules": [], "receivers": chosen}))
        yield file


ATTACKS = {
    attack.__name__: attack
    for attack in (
        send_endless_heads,
        flood_log_ins,
        hold_idle_connections,
        drip_bodies,
        upload_without_a_login,
        send_odd_hosts,
        flood_the_audit_log,
        read_no_answers,
        hold_up_deliveries,
    )
}
