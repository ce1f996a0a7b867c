"""Advice from past runs and blamed users, else null with the reason."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st
from integration import congested_site
from support.databases import server_folder
from support.waiting import eventually

from api.bodies import ASKED, NOW, basis, sent
from api.conftest import bearer, operating, serving
from flitwatch_api.advice.http import _advise_job, _advise_jobs
from flitwatch_api.advice.reader import Reader, _join_parts, _split_basis
from flitwatch_api.names import Names
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.migrations import migrate_database
from flitwatch_db.people import accounts as people
from flitwatch_domain.access import Caller
from flitwatch_domain.advice.basis import Basis, Congestion, Driver
from flitwatch_domain.advice.decision import LEAST_RUNS, PlacementQuestion, give_advice
from flitwatch_domain.advice.pattern import SERVED, Parts
from flitwatch_domain.advice.schemas import Advice, AdviceRequest
from flitwatch_domain.errors import Unauthenticated
from flitwatch_domain.run_time import Resident
from flitwatch_ops.embedded import Embedded

#: What these answers rest on, whatever is served by default.
RESTS_ON = Parts.of(("counters", "blame", "routing"))


def ask(made: Basis, asked: PlacementQuestion = ASKED, age_s: float = 0.0) -> dict:
    return sent(give_advice(made, asked, lambda name: f"user-{len(name)}", age_s, parts=RESTS_ON))


def mallory() -> dict[str, Any]:
    """A blamed user, alongside whose jobs the application's runs take twice as long."""
    return {
        "user": "mallory",
        "nodes": 64,
        "estimate_id": 9,
        "place": 1,
        "q": 0.01,
        "groups": ["1/0"],
        "jobs": ["5"],
        "runs": {"time_s": [100.0] * 10 + [200.0] * 10},
        "exposure": [0.0] * 10 + [1.0] * 10,
    }


def test_the_calm_candidate_is_preferred_and_the_figures_are_those_of_past_runs() -> None:
    got = ask(basis())
    calm, busy = (c["expected_slowdown"] for c in got["candidates"])
    assert (got["action"], got["preferred"]) == ("prefer", 0)
    assert calm["mean"] == pytest.approx(101 / 151, rel=0.01) and busy["mean"] == pytest.approx(201 / 151, rel=0.01)
    assert calm["low"] <= calm["mean"] <= calm["high"] and got["usual_s"] == pytest.approx(151, rel=0.01)
    assert got["routing_mode"] is None and any(r["kind"] == "routing_mode" for r in got["reasons"])


def test_runs_on_another_number_of_nodes_give_a_range_and_not_their_time() -> None:
    known_s = ask(basis())["usual_s"]
    assert ask(basis())["usual_range_s"] is None
    for nodes, low_s, high_s in ((32, known_s, 2 * known_s), (128, known_s / 2, known_s)):
        got = ask(basis(), replace(ASKED, nodes=nodes))
        assert got["usual_s"] is None and got["usual_range_s"]["nodes"] == 64
        assert got["usual_range_s"]["low_s"] == pytest.approx(low_s)
        assert got["usual_range_s"]["high_s"] == pytest.approx(high_s)
        assert any("on 64 nodes" in reason["text"] for reason in got["reasons"])
    unknown = ask(basis(), replace(ASKED, nodes=256))
    assert unknown["usual_s"] is None and unknown["usual_range_s"] is None


def test_where_all_is_busy_the_job_waits_unless_its_deadline_forbids_it() -> None:
    made = basis(calm=5.0)
    assert (ask(made)["action"], ask(made)["retry_after_s"]) == ("delay", 600)
    late = ask(made, replace(ASKED, deadline_s=NOW + 700))
    assert late["action"] == "start" and any(r["kind"] == "deadline" for r in late["reasons"])
    assert ask(made, replace(ASKED, deadline_s=NOW + 800))["action"] == "delay"


@pytest.mark.parametrize(
    "why", ["few runs", "old counters", "unknown nodes", "beyond what was seen", "other application", "no candidates"]
)
def test_what_is_not_known_is_null_with_the_reason(why: str) -> None:
    made, asked = basis(), ASKED
    if why == "few runs":
        made.runs["milc"] = made.runs["milc"][: LEAST_RUNS - 1]
    elif why == "old counters":
        made.groups.update({key: (ratio, NOW - 1000) for key, (ratio, _) in made.groups.items()})
    elif why == "unknown nodes":
        asked = replace(ASKED, candidates=[["x"], ["y"]])
    elif why == "beyond what was seen":
        made = basis(50, 60)
    elif why == "other application":
        asked = replace(ASKED, application="hpl")
    else:
        asked = replace(ASKED, candidates=[])
    got = ask(made, asked)
    assert got["action"] == "start" and got["expected_slowdown"] is None
    assert all(c["expected_slowdown"] is None and c["reason"] for c in got["candidates"])
    assert any(r["kind"] == "unknown" for r in got["reasons"])


def test_each_part_can_be_left_out_and_a_forecast_replaces_what_was_counted() -> None:
    made = basis()
    made.ahead.update({(1, 0): (5.0, NOW - 30), (1, 1): (1.0, NOW - 30)})

    def get_advice(**on: bool) -> dict:
        parts = Parts(**{"counters": False, "blame": False, "forecast": False, **on})
        return sent(give_advice(made, ASKED, str, 0.0, parts=parts))

    assert get_advice(counters=True)["preferred"] == 0
    assert get_advice(forecast=True)["preferred"] == 1
    assert get_advice(counters=True, forecast=True)["preferred"] == 1
    assert get_advice()["action"] == "start" and get_advice()["expected_slowdown"] is None
    made.ahead.clear()
    assert get_advice(counters=True, forecast=True)["preferred"] == 0, "without a forecast, what was counted"
    assert get_advice(forecast=True)["expected_slowdown"] is None
    assert sent(give_advice(made, ASKED, str, 0.0)) == sent(give_advice(made, ASKED, str, 0.0, parts=SERVED))


def test_a_blamed_user_nearby_counts_by_the_runs_alongside_their_jobs_and_is_not_named() -> None:
    made = basis()
    made.blamed["milc"] = [mallory()]
    got = ask(made)
    assert got["candidates"][0]["expected_slowdown"]["mean"] == pytest.approx(200 / 150)
    reason = next(r for r in got["reasons"] if r["kind"] == "blamed_user")
    assert (
        reason["evidence"] == "/api/v1/estimates/blame/9/user/1"
        and "mallory" not in reason["text"]
        and "not proof" in reason["text"]
    )
    assert ask(made, replace(ASKED, user="mallory"))["candidates"][0]["expected_slowdown"]["mean"] < 1
    made.blamed["milc"][0]["groups"] = ["2/0"]
    assert ask(made)["candidates"][0]["expected_slowdown"]["mean"] < 1


def test_it_says_when_a_worker_or_the_database_is_away() -> None:
    assert ask(basis())["stale"] is False
    away = ask(replace(basis(), workers=0))
    assert away["stale"] is True and any(r["kind"] == "stale" and "queue ml" in r["text"] for r in away["reasons"])
    old = ask(basis(), age_s=1000)
    assert old["stale"] is True and "still being read" in str(old["reasons"]) and "not answer" not in str(old)
    assert "the database does not answer" in str(sent(give_advice(basis(), ASKED, str, 1.0, True))["reasons"])


async def test_the_first_question_after_a_while_is_answered_from_a_new_state(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flitwatch_api.advice import reader

    monkeypatch.setattr(reader, "REFRESH_S", 0.01)
    monkeypatch.setattr(reader, "IDLE_S", 0.0)
    # However long one reading takes here.
    monkeypatch.setattr(reader, "RENEWED_IN_S", 60.0)
    held = reader.AdviceState(embedded_db)
    try:
        first = (await held.get())[0]
        while held._task is None or not held._task.done():
            await asyncio.sleep(0.05)
        monkeypatch.setattr(reader, "IDLE_S", 300.0)
        again, _, away = await held.get()
        assert again.now_s > first.now_s and not away
    finally:
        await held.stop()


@given(st.floats(0, 20), st.floats(0, 20), st.integers(1, 300))
def test_preferring_never_chooses_the_worse(calm: float, busy: float, nodes: int) -> None:
    got = ask(basis(calm, busy), replace(ASKED, nodes=nodes))
    known = [c["expected_slowdown"]["mean"] for c in got["candidates"] if c["expected_slowdown"]]
    if got["action"] == "prefer":
        assert got["candidates"][got["preferred"]]["expected_slowdown"]["mean"] == min(known)
    if got["action"] == "delay":
        assert min(known) >= 1.15


@pytest.mark.system("processes")
def test_the_service_answers_one_and_several(embedded_db: str) -> None:
    job = {"user": "ann", "application": "milc", "nodes": 8, "candidates": [["nid00001"]]}
    with serving(Settings(db=embedded_db, web=None)) as api:
        got = api.http.post("/api/v1/advice", json=job)
        assert got.status_code == 200, got.text
        assert got.json()["expected_slowdown"] is None and got.json()["stale"] is True
        assert api.get("/advice/state")["pseudonyms"] is True
        batch = api.http.post("/api/v1/advice/batch", json={"jobs": [job, job]}).json()
        assert [item["action"] for item in batch["items"]] == ["start", "start"]
        for wrong in (
            {**job, "nodes": 0},
            {**job, "nodes": True},
            {**job, "nodes": "64"},
            {**job, "candidates": [[]]},
            {"user": "x"},
        ):
            assert api.http.post("/api/v1/advice", json=wrong).status_code == 422


@pytest.mark.system("processes")
async def test_others_are_answered_while_a_largest_batch_is() -> None:
    job = AdviceRequest(
        user="ann", application="milc", nodes=64, candidates=[["a0"] * 3 + ["b0"] * n for n in range(64)]
    )
    request = Request({"type": "http", "state": {"caller": None, "user": None}})
    done: list[object] = []

    async def batch() -> list[Advice]:
        made = await _advise_jobs(request, basis(), 0.0, False, [job] * 200)
        done.append("batch")
        return made

    async def others() -> None:
        for number in range(100):
            await _advise_jobs(request, basis(), 0.0, False, [job])
            done.append(number)

    # The batch begins first; each of the others, one after another, has its answer before the batch has.
    answers, _ = await asyncio.gather(batch(), others())
    assert done == [*range(100), "batch"]
    assert len(answers) == 200 and len(answers[0].candidates) == 64


def test_other_peoples_names_are_unknown_below_scope_names() -> None:
    made = basis()
    made.runs["/home/mallory/bin/milc"] = made.runs.pop("milc")
    made.blamed["/home/mallory/bin/milc"] = [mallory()]

    def answered(user: str, application: str = "milc", own: str = "ann", *, sees: bool = False) -> dict:
        caller = Caller(own, "user", "session", frozenset({"names"} if sees else {"advice"}), "account 1")
        request = Request({"type": "http", "state": {"caller": caller, "user": own}})
        asked = AdviceRequest(user=user, application=application, nodes=64, candidates=ASKED.candidates)
        return sent(_advise_job(request, made, 0.0, False, asked, RESTS_ON))

    unknown, pseudonym = answered("nobody-knows"), Names(b"key").user("mallory")
    assert "mallory" not in str(unknown) and pseudonym in str(unknown["reasons"])
    assert answered("mallory") == unknown and answered("eve") == unknown
    assert answered(pseudonym) == answered("mallory", own="mallory") != unknown
    path = "/home/mallory/bin/milc"
    assert answered("ann", path)["expected_slowdown"] is None
    seen = [answered(user, path, sees=True) for user in ("mallory", "eve")]
    assert "mallory runs" not in str(seen[0]) and "mallory runs" in str(seen[1])


def test_the_basis_is_read_from_the_tables(served_database: str) -> None:
    from flitwatch_db.estimates.advice import load_basis

    with connect(served_database, role="writer") as conn:
        conn.read_only = True
        held = load_basis(conn)
    assert held.workers == 0 and held.nodes and held.groups == {} and held.pseudonym_key


@pytest.fixture
def served_database(database: object) -> str:
    return database.url  # type: ignore[attr-defined]


def test_the_reader_passes_on_every_part_of_the_basis() -> None:
    place, row = (1, 0), {"application": "amg", "time_s": 3.0}
    whole = Basis(
        9.0, 2, "key", {place: (0.5, 9.0)}, {"n1": [place]}, {"amg": [row]}, {"amg": [row]}, {"amg": row}, {},
        {place: (0.6, 9.0)}, {place: 0.4}, {"io": Congestion({place: (0.5, 9.0)})}, {("amg", 4): Driver("io", "text", 7)},
        {place: [Resident("u", 4, None)]}, {"amg": row}, {1: "infiniband"},
    )  # fmt: skip
    assert all(getattr(whole, part.name) for part in fields(Basis) if part.name != "memo")
    assert _join_parts(_split_basis(whole)) == whole
    nothing = Basis(9.0, 0, "")
    assert _join_parts(_split_basis(nothing)) == nothing


@pytest.fixture
def own_server() -> Iterator[tuple[Embedded, str, Path]]:
    """A database's server that a test may stop, with its tables; its URL and folder."""
    place = server_folder()
    server = Embedded(place, durable=False)
    url = server.start()
    try:
        migrate_database(url)
        yield server, url, place
    finally:
        server.destroy()


def test_counts_that_overflowed_are_no_congestion(embedded_db: str) -> None:
    fabric_id = congested_site.seed(embedded_db)
    with connect(embedded_db, role="writer") as conn:
        for second in range(2):
            congested_site.write(conn, fabric_id, int(time.time()) + second, (5.0, 1.0), flits=float("inf"))
    reader = Reader(embedded_db)
    try:
        read = reader.read()
    finally:
        reader.stop()
    assert len(read.nodes) == 4 and read.runs["milc"]
    assert all(math.isfinite(ratio) for ratio, _ in read.groups.values())
    got = ask(read, PlacementQuestion("ann", "milc", 1, [["nid00001"], ["nid00003"]]))
    assert got["action"] == "start" and "nan" not in json.dumps(got)


@pytest.mark.system("processes")
def test_it_answers_from_what_it_knew_while_the_database_is_stopped_and_says_so(
    own_server: tuple[Embedded, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flitwatch_api.advice import reader

    monkeypatch.setattr(reader, "REFRESH_S", 0.3)
    server, url, _ = own_server
    with serving(Settings(db=url, web=None)) as api:
        job = {"user": "ann", "application": "milc", "nodes": 8}

        def away() -> bool:
            got = api.http.post("/api/v1/advice", json=job)
            assert got.status_code == 200, got.text
            said = any("the database does not answer" in reason["text"] for reason in got.json()["reasons"])
            assert got.json()["stale"] is True and (not said or api.get("/advice/state")["stale"])
            return said

        assert not away()
        server.stop()
        eventually(away, every_s=0.2, what="the database to be away")
        server.start()
        eventually(lambda: not away(), every_s=0.2, what="the database to answer again")


@pytest.mark.system("processes")
def test_a_token_known_a_while_ago_is_advised_while_the_database_is_away(
    own_server: tuple[Embedded, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flitwatch_api.people import callers

    # Each request asks the database anew.
    monkeypatch.setattr(callers, "BELIEVED_S", 0.0)
    server, url, place = own_server
    job = {"user": "ann", "application": "milc", "nodes": 8}
    with connect(url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "slurm", "service")
        made = {
            name: people.add_token(conn, "slurm", name, ["read", "advice"], days)
            for name, days in (("good", 1.0), ("revoked", 1.0), ("unseen", 1.0))
        }
    headers = {name: bearer(secret) for name, (_, secret, _) in made.items()}
    with serving(Settings(db=url, web=None, api_anonymous="none", api_connect_timeout_s=0.3)) as api:

        def asked(name: str) -> httpx.Response:
            return api.http.post("/api/v1/advice", json=job, headers=headers[name])

        assert [asked(name).status_code for name in ("good", "revoked")] == [200, 200]
        with connect(url, role="gate", autocommit=True) as conn:
            people.revoke_token(conn, made["revoked"][0])
            # It lives for nine seconds, so it is used as soon as it is made.
            _, secret, ends = people.add_token(conn, "slurm", "short", ["read", "advice"], 1e-4)
        headers["short"] = bearer(secret)
        assert asked("short").status_code == 200 and asked("revoked").status_code == 401
        eventually(lambda: datetime.now(UTC) > ends, every_s=0.2, what="the short token to expire")
        server.stop()
        for _ in range(3):
            got = asked("good")
            assert got.status_code == 200 and got.json()["stale"] is True, got.text
            assert "the database does not answer" in str(got.json()["reasons"])
        batch = api.http.post("/api/v1/advice/batch", json={"jobs": [job]}, headers=headers["good"])
        assert batch.status_code == 200 and batch.json()["items"][0]["stale"] is True
        others = [asked(name) for name in ("revoked", "unseen", "short")]
        others.append(api.http.get("/api/v1/jobs", headers=headers["good"]))
        for refused in others:
            assert refused.status_code == 503, refused.text
            said = refused.text.lower()
            assert str(place) not in said and "socket" not in said and "flitwatch_db" not in said
        monkeypatch.setattr(callers, "REMEMBERED_S", 0.0)
        assert asked("good").status_code == 503


async def test_a_database_that_hangs_is_not_waited_for_by_whom_it_knew(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flitwatch_api.people import callers
    from flitwatch_api.platform import Platform

    monkeypatch.setattr(callers, "ASKED_S", 0.2)
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "slurm", "service")
        number, secret, _ = people.add_token(conn, "slurm", "t", ["advice"])
    headers = [(b"authorization", f"Bearer {secret}".encode())]

    def request() -> Request:
        return Request({"type": "http", "headers": headers, "client": ("127.0.0.1", 1), "state": {}})

    platform = Platform(Settings(db=embedded_db, web=None, api_anonymous="none"))
    await platform.gate.open()
    known = callers.Callers(platform)
    caller = await known.of(request(), from_memory=True)
    monkeypatch.setattr(callers, "BELIEVED_S", 0.0)
    # The table is locked: whoever asks about a token hangs.
    with connect(embedded_db, role="owner") as conn:
        conn.execute("LOCK TABLE token")
        waiting = request()
        assert await known.of(waiting, from_memory=True) == caller and waiting.state.from_memory
        conn.execute("UPDATE token SET revoked_at = now() WHERE token_id = %s", [number])
    # What the hanging question then says counts at once.
    with pytest.raises(Unauthenticated):
        while await known.of(request(), from_memory=True) is not None:
            await asyncio.sleep(0.05)
    await platform.gate.close()


def wide() -> Basis:
    """`basis` whose application's network cards favour a mode, counted over several groups, and enough nodes for it in both groups."""
    made = basis()
    made.nodes.update({f"{name}{n}": [(1, group)] for group, name in enumerate("ab") for n in range(64)})
    made.routing_modes["milc"] = {
        "environment": "MPICH_GNI_ROUTING_MODE=ADAPTIVE_3",
        "recommendation_id": 7,
        "reason": "latency rules",
        "groups": 2,
    }
    return made


def on(**held: int) -> list[str]:
    """So many nodes of each group."""
    return [f"{name}{n}" for name, count in held.items() for n in range(count)]


def of_mode(got: dict) -> dict:
    (why,) = (one for one in got["reasons"] if one["kind"] == "routing_mode")
    (finding,) = (one for one in got["because"] if one["part"] == "routing")
    assert (why["text"], why["evidence"]) == (finding["text"], finding["evidence"])
    assert finding["known"] == (got["routing_mode"] is not None), "unknown is said to be unknown"
    return why


def test_over_several_groups_the_routing_mode_is_the_one_that_the_nic_counters_chose() -> None:
    made = wide()
    asked = replace(ASKED, candidates=[on(a=32, b=32)])
    got = ask(made, asked)
    assert got["routing_mode"] == "ADAPTIVE_3" == got["candidates"][0]["routing_mode"]
    assert of_mode(got) == {
        "kind": "routing_mode",
        "text": "latency rules",
        "evidence": "/api/v1/advice/7",
    }
    made.routing_modes["milc"] = {**made.routing_modes["milc"], "environment": None, "reason": "too few samples"}
    assert ask(made, asked)["routing_mode"] is None and "too few samples" in of_mode(ask(made, asked))["text"]


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (on(a=64), "is in one group"),
        ([*on(a=63), "stranger"], "unknown"),
        (on(a=1), "unknown"),
        # A longer list: the job may get nodes of one group alone.
        (on(a=64, b=8), "unknown"),
        (["stranger"], "unknown"),
    ],
)
def test_where_the_job_may_stand_in_one_group_no_mode_is_advised(candidate: list[str], words: str) -> None:
    got = ask(wide(), replace(ASKED, candidates=[candidate]))
    assert got["routing_mode"] is None and words in of_mode(got)["text"]


@pytest.mark.parametrize("candidate", [on(a=63, b=40), [*on(a=40, b=23), "stranger"]])
def test_a_list_that_one_group_cannot_hold_lies_over_several(candidate: list[str]) -> None:
    assert ask(wide(), replace(ASKED, candidates=[candidate]))["routing_mode"] == "ADAPTIVE_3"


def test_without_a_place_or_with_unlike_places_the_mode_is_unknown_and_each_candidate_has_its_own() -> None:
    assert ask(wide(), replace(ASKED, candidates=[]))["routing_mode"] is None
    made = wide()
    made.groups[1, 1] = made.groups[1, 0]
    got = ask(made, replace(ASKED, candidates=[on(a=64), on(a=32, b=32)]))
    assert got["action"] == "start" and got["routing_mode"] is None and "has its own" in of_mode(got)["text"]
    assert [one["routing_mode"] for one in got["candidates"]] == [None, "ADAPTIVE_3"]
    # Group 1 is busy: the candidate within group 0 is preferred, and there the mode is unknown.
    got = ask(wide(), replace(ASKED, candidates=[on(a=64), on(a=32, b=32)]))
    assert got["preferred"] == 0 and got["routing_mode"] is None and "is in one group" in of_mode(got)["text"]


@pytest.mark.parametrize(("groups", "words"), [(1, "within one group"), (None, "unknown")])
def test_what_cards_counted_within_one_group_says_nothing_of_several(groups: int | None, words: str) -> None:
    made = wide()
    made.routing_modes["milc"] = {**made.routing_modes["milc"], "groups": groups}
    got = ask(made, replace(ASKED, candidates=[on(a=32, b=32)]))
    assert got["routing_mode"] is None and words in of_mode(got)["text"]


def test_a_new_recommendation_of_a_mode_comes_with_the_basis(embedded_db: str) -> None:
    from flitwatch_db.estimates.advice import load_basis

    with connect(embedded_db, role="writer") as conn:
        for mode, groups in (("ADAPTIVE_0", 2), ("ADAPTIVE_3", 3), ("ADAPTIVE_2", 1), ("ADAPTIVE_1", None)):
            conn.execute(
                "INSERT INTO recommendation (kind, state, application, title, reason, environment, detail, simulated, authorised)"
                " VALUES ('routing_mode', 'recommended', 'milc', 't', 'r', 'MPICH_GNI_ROUTING_MODE=' || %s,"
                " jsonb_build_object('parameters', jsonb_build_object('groups', %s::int)), true, true)",
                [mode, groups],
            )
        conn.commit()
        found = load_basis(conn).routing_modes["milc"]
        assert found["environment"].endswith("ADAPTIVE_3") and found["groups"] == 3, "the newest over several groups"


def test_each_candidate_has_its_action() -> None:
    assert [c["action"] for c in ask(basis())["candidates"]] == ["prefer", "delay"]
    assert [c["action"] for c in ask(basis(calm=5.0))["candidates"]] == ["delay", "delay"]


@pytest.mark.system("processes")
@pytest.mark.parametrize(
    ("name", "scopes", "steers"),
    [
        ("anonymous", None, False),
        ("uli", ["tasks", "read"], False),
        ("otto", ["tasks", "read"], False),
        ("otto", ["tasks", "operate"], True),
        ("slurm", ["tasks", "read"], True),
    ],
)
def test_only_recommendations_of_who_may_make_them_steer_advice(
    embedded_db: str, name: str, scopes: list[str] | None, steers: bool
) -> None:
    """Whoever invents observations asks themselves what if; the operator's answer stays what it was."""
    from support.routing_modes import NODES, as_json, observed, stored

    from flitwatch_db import tasks
    from flitwatch_simulation.tasks import HANDLERS

    class Context:
        dsn = embedded_db

        def __init__(self, task_id: int) -> None:
            self.task_id = task_id

        def report(self, *_: object) -> None:
            pass

        def cancelled(self) -> bool:
            return False

    with connect(embedded_db, role="gate", autocommit=True) as conn:
        for one, role in (("uli", "user"), ("otto", "operator"), ("slurm", "service"), ("ola", "operator")):
            people.add_account(conn, one, role)
        writer = {} if scopes is None else bearer(people.add_token(conn, name, "t", scopes)[1])
        operator = bearer(people.add_token(conn, "ola", "t", ["read", "names", "advice", "operate"])[1])
    args = {
        "application": "milc",
        "observations": {"ADAPTIVE_0": as_json(observed(3, 2)), "ADAPTIVE_3": as_json(observed(2, 1, pace=1.2))},
    }
    stored(embedded_db)
    with serving(Settings(db=embedded_db, web=None, advice_parts=("routing",))) as api:
        begun = api.http.post("/api/v1/tasks", json={"name": "routing.advice", "args": args}, headers=writer)
        assert begun.status_code == 202, begun.text
        with connect(embedded_db, role="writer") as conn:
            task = tasks.get_task(conn, begun.json()["task_id"])
        made = HANDLERS["routing.advice"](task.args, Context(task.task_id))  # type: ignore[arg-type]
        assert made["mode"] == "ADAPTIVE_3", "the what-if has its answer either way"
        got = api.http.post(
            "/api/v1/advice",
            json={"user": "x", "application": "milc", "nodes": len(NODES), "candidates": [NODES]},
            headers=operator,
        ).json()
        assert got["routing_mode"] == ("ADAPTIVE_3" if steers else None)
        listed = api.http.get("/api/v1/recommendations", headers=operator).json()["items"]
        assert {row["kind"] for row in listed} == ({"routing_mode", "placement"} if steers else set())
        # The author has it, with whose and what kind of figures it holds; an operator finds it by its number; nobody else does.
        number = made["recommendation_id"]
        seen = api.http.get(f"/api/v1/recommendations/{number}", headers=operator).json()
        assert (seen["created_by"], seen["authorised"], seen["figures"]) == (task.created_by, steers, "given")
        mine = api.http.get("/api/v1/recommendations", headers=writer)
        if mine.status_code == 200:
            assert number in {row["recommendation_id"] for row in mine.json()["items"]}
        with connect(embedded_db, role="gate", autocommit=True) as conn:
            people.add_account(conn, "vera", "viewer")
            other = bearer(people.add_token(conn, "vera", "t", ["read"])[1])
        for path in ("", "/lfts", "/matrix", "/links") if not steers else ():
            assert api.http.get(f"/api/v1/recommendations/{number}{path}", headers=other).status_code in (403, 404)


def test_an_estimates_parameters_are_an_operators(embedded_db: str) -> None:
    operator = operating(embedded_db)
    asked = {"name": "ml.blame", "args": {"exe": "amg", "nodes": 64, "least_nodes": 1}}
    with serving(Settings(db=embedded_db, web=None)) as api:
        refused = api.http.post("/api/v1/tasks", json=asked)
        assert refused.status_code == 403 and "operate" in refused.json()["detail"]
        assert api.http.post("/api/v1/tasks", json=asked, headers=operator).status_code == 202
