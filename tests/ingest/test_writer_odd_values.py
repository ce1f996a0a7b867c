"""Odd records through the real writer: it is still running; every record is stored or a dead letter."""

from __future__ import annotations

import random

import pytest

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_ingest.writer.pending_rows import OUR_FAULT, header_text
from flitwatch_stream.log import Record
from ingest import odd

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("seed", range(4))
def test_odd_records_are_stored_or_dead_letters_and_stop_nothing(embedded_db: str, topic: str, seed: int) -> None:
    rng = random.Random(seed)
    sent = odd.records(rng, topic)
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, build_dragonfly(1, 2, 4, name="odd"))
    odd.publish(embedded_db, sent, rng)
    drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=f"^ldms\\..*{topic}$"), limit_s=120)
    with connect(embedded_db, autocommit=True) as conn:
        read = dict(conn.execute("SELECT topic, position FROM stream_position").fetchall())
        assert read == {name: len(found) for name, found in sent.items()}
        letters = conn.execute("SELECT topic, reason FROM dead_letter").fetchall()
        assert [reason for _, reason in letters if OUR_FAULT in reason or not reason or len(reason) > 500] == []
        assert conn.execute("SELECT count(*) FROM job WHERE job_id = '999999'").fetchone() == (1,)


def test_a_header_without_a_value_names_nobody() -> None:
    record = Record("t", 0, 0, 0, None, b"", [("source", None), ("source", b"a\0b"), ("sequence", b"\xff")])  # type: ignore[list-item]
    assert (header_text(record, "source"), header_text(record, "sequence"), header_text(record, "where")) == (
        "a\ufffdb",
        "\ufffd",
        "",
    )
