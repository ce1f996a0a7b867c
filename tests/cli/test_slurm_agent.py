"""API answers accepted by the agent before it queries Slurm: from a real API, and from servers with late, wrong or unexpected answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from api.conftest import serving

from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import Forbidden, Unavailable
from flitwatch_slurm import questions
from flitwatch_slurm.agent import Agent
from flitwatch_slurm.cluster import Pending
from flitwatch_slurm.pending_jobs import Limits, Notes, would_act
from flitwatch_slurm.questions import Api, PlacedAdvice, Places, Question

ITEM = {
    "action": "delay",
    "retry_after_s": 60.0,
    "usual_s": 100.0,
    "expected_slowdown": {"mean": 1.4},
    "reasons": [{"kind": "congestion", "text": "busy"}],
    "candidates": [],
    "preferred": None,
    "stale": False,
}
STATE = {"applications": [], "groups": [], "pseudonyms": False}
WAITING = Pending("7", "ann", 1, "Priority", None, None, 0, "milc", False, "", "", "p", False)
BUSY = PlacedAdvice("delay", 60.0, 100.0, 1.4, "busy", False)


@contextmanager
def answering(status: int, body: bytes, pause_s: float = 0.0) -> Iterator[str]:
    """A server that gives every request this answer, with a pause after each of its bytes; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                for at in range(len(body)) if pause_s else ():
                    self.wfile.write(body[at : at + 1])
                    time.sleep(pause_s)
                self.wfile.write(b"" if pause_s else body)
            except OSError:
                pass  # The agent waits no longer.

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_pseudonyms_are_refused_with_the_scope_that_is_missing(embedded_db: str, tmp_path: Path) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "slurm", "service")
        few = people.add_token(conn, "slurm", "agent", ["read", "advice"])[1]
        enough = people.add_token(conn, "slurm", "agent", ["read", "names", "advice"])[1]
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        with pytest.raises(Forbidden, match="scope names"):
            Agent(Api(api.url, few), tmp_path / "advice").cycle()
        assert not (tmp_path / "advice").exists()
        assert Api(api.url, enough).state()["pseudonyms"] is False
        with pytest.raises(Unavailable, match=r"refuses the agent with 401\. Create a valid token"):
            Api(api.url, "fwt_of_long_ago").state()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Welcome</html>",
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{}",
        b'{"applications": [{"application": "a"}], "groups": [], "pseudonyms": false}',
        b'{"applications": [], "groups": [{"fabric_id": [], "group": 1, "nodes": "n1"}], "pseudonyms": false}',
    ],
)
def test_a_state_that_is_none_is_no_advice_and_ends_no_agent(body: bytes, tmp_path: Path) -> None:
    with answering(200, body) as url, pytest.raises(Unavailable, match=r"not an API that this agent knows.*--api"):
        Agent(Api(url), tmp_path / "advice").cycle()
    assert not (tmp_path / "advice").exists()


@pytest.mark.parametrize(
    "items",
    [
        [],
        [ITEM, ITEM],
        [None],
        [{}],
        [ITEM | {"action": "cancel"}],
        [ITEM | {"retry_after_s": "soon"}],
        [ITEM | {"expected_slowdown": 3}],
        [ITEM | {"reasons": 3}],
        "none",
    ],
)
def test_an_answer_that_is_none_is_no_advice(items: object) -> None:
    body = json.dumps({"items": items}).encode()
    with answering(200, body) as url, pytest.raises(Unavailable, match="not an API that this agent knows"):
        Api(url).ask(Places([], [], {}), [Question("ann", "milc", 1)])


@pytest.mark.parametrize(
    ("status", "said"), [(500, "answers 500"), (401, "refuses the agent with 401"), (403, "refuses"), (302, "302")]
)
def test_a_refusal_is_said_and_is_no_advice(status: int, said: str) -> None:
    with answering(status, b"broken") as url, pytest.raises(Unavailable, match=said):
        Api(url).state()


def test_an_answer_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, all of them would take an hour; and one that is longer than what is read."""
    monkeypatch.setattr(questions, "ANSWER_LIMIT_S", 0.3)
    with answering(200, b" " * 36_000 + b"{}", pause_s=0.1) as url, pytest.raises(Unavailable, match="not complete"):
        Api(url).state()
    monkeypatch.setattr(questions, "ANSWER_LIMIT_S", 10.0)
    monkeypatch.setattr(questions, "MOST_ANSWER_BYTES", 1000)
    body = json.dumps(STATE | {"more": "x" * 2000}).encode()
    with answering(200, body) as url, pytest.raises(Unavailable, match="not complete"):
        Api(url).state()


def test_the_mark_of_a_job_is_known_when_another_tool_wrote_over_it(tmp_path: Path) -> None:
    notes = Notes.load_next_to(tmp_path / "advice")
    notes.restored([replace(WAITING, mark="delay", since_s=100), replace(WAITING, job_id="8")])
    notes.marks["8"] = ("prefer", 200)
    notes.keep()
    again = Notes.load_next_to(tmp_path / "advice")
    lost, own, new = again.restored(
        [WAITING, replace(WAITING, job_id="8", mark="released", since_s=300), replace(WAITING, job_id="9")]
    )
    assert (lost.mark, lost.since_s) == ("delay", 100) and (own.mark, own.since_s) == ("released", 300)
    assert new.mark is None
    # The number of a job that waits no longer may come again.
    again.restored([])
    again.keep()
    assert Notes.load_next_to(tmp_path / "advice").restored([WAITING])[0].mark is None


@pytest.mark.parametrize("kept", [b"", b"[1]", b'{"7": 3}', b'{"7": ["delay", "x"]}', b"\xff"])
def test_broken_notes_are_none(kept: bytes, tmp_path: Path) -> None:
    (tmp_path / "advice.jobs").write_bytes(kept)
    notes = Notes.load_next_to(tmp_path / "advice")
    assert notes.restored([WAITING]) == [WAITING]
    notes.marks["7"] = ("delay", 5)
    notes.keep()
    assert Notes.load_next_to(tmp_path / "advice").marks == {"7": ("delay", 5)}


@pytest.mark.parametrize("mark", [None, "prefer", "released"])
def test_a_begin_time_or_hold_that_is_not_ours_is_left_alone(mark: str | None) -> None:
    """Slurm names the reason of a begin time only when it next looks at the job."""
    where = Places([], [], {})
    job = replace(WAITING, mark=mark, since_s=int(time.time()))
    assert would_act(job, BUSY, where, Limits())
    assert not would_act(replace(job, reason="None", eligible_s=time.time() + 3600), BUSY, where, Limits())
    assert not would_act(replace(job, reason="JobHeldAdmin"), BUSY, where, Limits())
