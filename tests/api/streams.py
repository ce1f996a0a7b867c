"""Clients of event streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
import numpy as np
import psycopg
from support.waiting import eventually

from api.conftest import Served
from api.database import T0
from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.counters import store as counters
from flitwatch_domain.counters import ROUTER_COLUMNS


def emit(url: str, *payloads: dict, kind: str = "job") -> list[int]:
    with connect(url, role="writer") as conn:
        return [events.emit_event(conn, kind, payload) for payload in payloads]


@contextmanager
def following(served: Served, **options) -> Iterator[Iterator[str]]:
    """The lines of a stream that has begun."""
    with httpx.stream("GET", f"{served.url}/api/v1/events", timeout=10, **options) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        for line in lines:
            if line == ": connected":
                break
        yield lines


def take(lines: Iterator[str], count: int) -> list[tuple[int, str, dict]]:
    """The next events: number, kind, data."""
    found, event = [], {}
    for line in lines:
        if line.startswith(("id:", "event:", "data:")):
            name, _, value = line.partition(": ")
            assert name not in event
            event[name] = value
        elif not line and event:
            found.append((int(event["id"]), event["event"], json.loads(event["data"])))
            event = {}
            if len(found) == count:
                break
    return found


def wait_until_listening(served: Served) -> None:
    eventually(
        lambda: "flitwatch_api_listening 1.0" in served.http.get("/metrics").text,
        every_s=0.02,
        what="the API to listen for events",
    )


def goes_on(lines: Iterator[str], comments: int = 12) -> bool:
    """Whether a stream in which nothing happens lasts for so many more comments."""
    try:
        return sum(1 for _ in zip(range(2 * comments), lines, strict=False)) == 2 * comments
    except httpx.RemoteProtocolError:
        return False


# Counters that arrive while the API serves.


START = T0 // 60 * 60


def count(conn: psycopg.Connection, fabric_id: int, second: int, flits: float) -> None:
    """Counters of router 1 in one second."""
    values = np.full((1, len(ROUTER_COLUMNS)), np.nan)
    values[0, 0] = flits
    one = (np.array([fabric_id], np.int32), np.array([1], np.int32), np.array([START + second]))
    counters.write_batch(
        conn, counters.Batch(routers=counters.Rows(*one, np.ones(1, np.int32), np.array([48.0]), values))
    )


def tell(conn: psycopg.Connection, fabric_id: int, **more: str) -> int:
    """The event that follows a batch."""
    through = datetime.fromtimestamp(START + 60, UTC).isoformat()
    return events.emit_event(conn, "counters", {"fabric_id": fabric_id, "through": through, "routers": 1, **more})
