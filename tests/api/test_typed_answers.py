"""Models keep their given values in JSON."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import httpx
import numpy as np
import pytest
from pydantic import BaseModel, Field

from api.conftest import Served, bearer, serving
from flitwatch_api.answers import build_model, dump_json
from flitwatch_api.app import create_app
from flitwatch_api.problems import redact_record, without_folders, without_values
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.ingest import store as ingest
from flitwatch_db.people import accounts as people


class Inner(BaseModel):
    """A model with a field whose name is a keyword."""

    class_: str = Field(alias="class")
    note: str | None = None


class Outer(BaseModel):
    """A model with a column."""

    values: list[float | None]
    inner: Inner | None
    inners: list[Inner]


def test_a_model_is_written_as_it_was_given() -> None:
    row = {"class": "green", "of another version": 1}
    given = build_model(
        Outer,
        values=np.array([1.5, np.nan]),
        inner=None,
        inners=[build_model(Inner, row), Inner(**{"class": "b"}, note=None)],
    )
    assert (
        dump_json(given) == b'{"values":[1.5,null],"inner":null,"inners":[{"class":"green"},{"class":"b","note":null}]}'
    )


def test_a_kept_integer_stays_an_integer_and_one_beyond_64_bits_becomes_a_float() -> None:
    assert dump_json(build_model(Outer, values=[1, 2.0], inners=[])) == b'{"values":[1,2.0],"inners":[]}'
    assert (
        dump_json({"a": build_model(Outer, values=[1 << 70], inners=[])})
        == b'{"a":{"values":[1.1805916207174113e+21],"inners":[]}}'
    )


# Refused records: what their reasons quote and where they came from is for who may see names.


REASONS = {
    "cut short 6": "cut short 6",
    "submit: 'alice' is not a time": "submit: … is not a time",
    "nodelist: unbalanced bracket in host list 'alice-ws[1-'": "nodelist: unbalanced bracket in host list …",
    "unbalanced bracket in host list 'alice-ws[1-' at character 9": "unbalanced bracket in host list … at character 9",
    # Values with quotes of their own, and ones that nobody closed.
    'user: "al\'ice" is long': "user: …",
    "user: 'al'ice' is long": "user: …",
    "user: 'a\\'lic\"e' is long": "user: … is long",
    "user: 'al'ice is long": "user: …",
    "user: 'alice and the rest": "user: …",
    "'alice' and \"bob": "…",
    "between 'alice' and 'bob' lies nothing": "between … lies nothing",
    "job “alice” is long, ‘bob’": "job …",
    "job “alice” is long": "job … is long",
    "it is `alice`": "it is …",
    "the database refuses this row: duplicate key\nDETAIL:  Key (user)=(alice)": "the database refuses this row: duplicate key",
    "/home/alice of oslo/in/jobs.txt is empty": "jobs.txt is empty",
    "": "",
}


@pytest.mark.parametrize("reason", REASONS)
def test_values_are_cut_out_of_reasons(reason: str) -> None:
    assert without_values(reason) == REASONS[reason]


def test_sources_lose_their_folders() -> None:
    assert without_folders("sacct:/home/alice/in/s1.txt#rejected") == "sacct:s1.txt#rejected"
    assert without_folders("/home/alice: old/s1.txt") == "s1.txt"
    assert without_folders("in/alice/s1.txt") == "s1.txt" and without_folders("ldms.x") == "ldms.x"
    assert redact_record({"count": 3}) == {"count": 3} and redact_record({"reason": None}) == {"reason": None}


@pytest.fixture
def site(embedded_db: str) -> Iterator[tuple[Served, str]]:
    reason = "submit: 'alicevictim' is not a time"
    with connect(embedded_db, role="writer") as conn:
        ingest.add_dead_letters(
            conn,
            [ingest.DeadLetter("slurm", 0, 1, reason, b"x", "sacct:/home/alicevictim/s1.txt", "line 3, 'alicevictim'")],
        )
        events.emit_event(conn, "dead_letter", {"count": 1, "reason": reason})
    with serving(Settings(db=embedded_db, web=None, api_anonymous="user")) as served:
        yield served, embedded_db


def test_names_in_refused_records_are_for_who_may_see_names(site: tuple[Served, str]) -> None:
    served, url = site
    with connect(url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "ops", "operator")
        headers = {
            scopes: bearer(people.add_token(conn, "ops", "t", scopes.split(), 1)[1])
            for scopes in ("read", "read names")
        }
    for path in ("/api/v1/ingest/status", "/api/v1/ingest/dead-letters"):
        for below in ({}, headers["read"]):
            answer = served.http.get(path, headers=below)
            assert "alicevictim" not in answer.text and "submit: … is not a time" in answer.text, path
            assert "sacct:s1.txt" in answer.text and "line 3, …" in answer.text
        whole = served.http.get(path, headers=headers["read names"]).text
        assert "submit: 'alicevictim' is not a time" in whole and "/home/alicevictim/s1.txt" in whole


def test_the_event_stream_quotes_no_values(site: tuple[Served, str]) -> None:
    address = f"{site[0].url}/api/v1/events?kinds=dead_letter"
    with httpx.stream("GET", address, headers={"Last-Event-ID": "0"}, timeout=10) as answer:
        data = next(line for line in answer.iter_lines() if line.startswith("data:"))
    assert data == 'data: {"count":1,"reason":"submit: … is not a time"}'


# An application that nobody uses any more is freed: a process that makes several does not grow by each.


@pytest.mark.system("processes")
def test_an_application_that_nobody_holds_is_freed() -> None:
    made = weakref.ref(create_app(Settings()))
    gc.collect()
    assert made() is None
