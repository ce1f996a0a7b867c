"""Summaries of packet samples through the real writer: each once, rollups agree, bad ones are dead letters."""

from __future__ import annotations

import json
import random

import pytest
from ingest.writing import drain_log

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_ingest.writer import WriterSettings
from flitwatch_research.namespaces import figure_214
from flitwatch_stream import topics
from flitwatch_stream.backends import open_log

pytestmark = pytest.mark.integration

START_S = 1_795_000_000
COLUMNS = ("tested", "tested_bytes", "traffic", "traffic_variance", "congested", "congested_variance")


@pytest.fixture
def database(embedded_db: str) -> str:
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, figure_214())
    return embedded_db


def summary(rng: random.Random, **changes) -> dict:
    links = rng.sample(range(18), rng.randrange(1, 6))
    return {
        "fabric": "figure-2.14",
        "host": rng.choice(["h2", "h3"]),
        "job": rng.choice([None, "42", "43"]),
        "tag": rng.choice([None, "2"]),
        "phase": rng.choice([None, "x", "y"]),
        "start": START_S + 10 * rng.randrange(40),
        "variant": "one-bit",
        "longest_path": rng.randrange(1, 6),
        "link": links,
        **{column: [rng.randrange(1000) for _ in links] for column in COLUMNS},
        "traffic": [rng.randrange(-500, 500) for _ in links],
        "packets": {"decoded": rng.randrange(100), "unmarked": 3},
    } | changes


def carry(url: str, records: list[tuple[dict | bytes, str | None, int | None]]) -> None:
    with open_log(url) as log, log.producer() as producer:
        for value, source, sequence in records:
            headers = [] if source is None else [("source", source.encode()), ("sequence", str(sequence).encode())]
            raw = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.append(topics.SAMPLES, raw, key=b"k", headers=headers)
        producer.flush()
    drain_log(url, url, settings=WriterSettings(), limit_s=60)


def test_each_summary_counts_once_in_seconds_minutes_and_hours(database):
    rng = random.Random(5)
    made = [summary(rng) for _ in range(200)]
    numbered = [(value, f"sampler:{value['host']}", number) for number, value in enumerate(made, start=1)]
    carry(database, numbered[:120])
    carry(database, numbered[60:])  # a collector that crashed publishes again
    expected: dict[tuple, list[float]] = {}
    for value in made:
        context = (value["job"], value["tag"], value["phase"])
        for place, link in enumerate(value["link"]):
            row = expected.setdefault((*context, value["start"], link), [0.0] * 6)
            for column, name in enumerate(COLUMNS):
                row[column] += value[name][place]
    with connect(database) as conn:
        sums = ", ".join(COLUMNS)
        found = conn.execute(
            f"SELECT job_id, tag, phase, extract(epoch FROM ts)::int, link, {sums} FROM sample_1s JOIN sample_context USING (context_id)".encode()
        ).fetchall()
        assert {tuple(row[:5]): list(row[5:]) for row in found} == expected
        totals = ", ".join(f"sum({name})" for name in COLUMNS)
        by_table = [
            conn.execute(
                f"SELECT context_id, link, {totals} FROM {table} GROUP BY 1, 2 ORDER BY 1, 2".encode()
            ).fetchall()
            for table in ("sample_1s", "sample_1m", "sample_1h")
        ]
        assert by_table[0] == by_table[1] == by_table[2]
        (decoded,) = conn.execute("SELECT sum(packets) FROM sample_host_1m WHERE outcome = 'decoded'").fetchone()
        assert decoded == sum(value["packets"]["decoded"] for value in made)
        longest = conn.execute("SELECT max(longest_path) FROM sample_context").fetchone()[0]
        assert longest == max(value["longest_path"] for value in made)


def test_bad_summaries_are_dead_letters_alongside_good_ones(database):
    rng = random.Random(6)
    good = summary(rng, link=[1], **{column: [1] for column in COLUMNS})
    bad = {
        b"{": "Invalid JSON",
        json.dumps(good | {"fabric": "elsewhere"}).encode(): "'elsewhere' is not in the database",
        json.dumps(good | {"link": [18]}).encode(): "link 18",
        json.dumps(good | {"traffic": [1, 2]}).encode(): "differ in length",
        json.dumps(good | {"traffic_variance": [-1]}).encode(): "traffic_variance",
        json.dumps(good | {"traffic": [1e300]}).encode(): "traffic",
        json.dumps(good | {"start": -5}).encode(): "start",
        json.dumps(good | {"variant": "two-bit"}).encode(): "variant",
        json.dumps(good | {"job": "a\0"}).encode(): "job",
        json.dumps(good | {"packets": {"decoded": -1}}).encode(): "packets",
    }
    # A host that decoded nothing still says what came.
    quiet = good | {column: [] for column in COLUMNS} | {"link": [], "job": "never", "packets": {"unmarked": 7}}
    carry(database, [(good, None, None), (quiet, None, None), *((raw, None, None) for raw in bad), (good, None, None)])
    with connect(database) as conn:
        letters = dict(
            conn.execute("SELECT raw, reason FROM dead_letter WHERE topic = %s", [topics.SAMPLES]).fetchall()
        )
        assert {bytes(raw) for raw in letters} == set(bad)
        for raw, reason in letters.items():
            assert bad[bytes(raw)] in reason
        assert conn.execute("SELECT sum(tested) FROM sample_1h").fetchone() == (2.0,)
        assert conn.execute("SELECT count(*) FROM sample_context WHERE job_id = 'never'").fetchone() == (0,)
        assert conn.execute("SELECT sum(packets) FROM sample_host_1m WHERE outcome = 'unmarked'").fetchone() == (
            2 * 3 + 7,
        )
