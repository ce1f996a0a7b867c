"""Models are written as JSON as they were given."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, Field

from flitwatch_api.answers import build_model, dump_json


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
