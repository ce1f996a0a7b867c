"""Bad records on the real writer: each becomes a dead letter with its reason and bytes, or a gap. Good records are counted exactly."""

from __future__ import annotations

import json
import os
import random
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import zstandard
from ingest.writing import NODES, START_S, Quarters, append, drain_log, kept, quality, stored

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_stream.backends import open_log

pytestmark = pytest.mark.integration

RAW_BYTES = 64 << 10
LARGE = 10_000_000


@pytest.fixture(params=["embedded", pytest.param("full", marks=pytest.mark.system("stores"))])
def stack(request: pytest.FixtureRequest) -> tuple[str, str]:
    """(database, log): the embedded one's own table, or TimescaleDB and Kafka."""
    if request.param == "embedded":
        url = request.getfixturevalue("embedded_db")
        return url, url
    return request.getfixturevalue("timescale_db"), request.getfixturevalue("kafka")


@pytest.fixture
def fabric(stack: tuple[str, str]) -> Fabric:
    made = build_dragonfly(1, 2, 4, name="bad-input")
    with connect(stack[0]) as conn:
        fabrics.save_fabric(conn, made)
    return made


def carry(stack: tuple[str, str], topic: str, records: list[bytes], registry: str | None = None) -> None:
    """Append in order and write everything."""
    url, log_url = stack
    with open_log(log_url) as log:
        if topic not in log.topics():
            log.create_topic(topic, 1)
        append(log, topic, records)
    drain_log(url, log_url, settings=WriterSettings(registry=registry, pattern=f"^{topic}$"), limit_s=120)


def changed(record: bytes, **values: object) -> bytes:
    """A record with other values, as JSON."""
    return json.dumps(json.loads(record) | values, separators=(",", ":")).encode()


def raw(record: bytes, name: str, text: bytes) -> bytes:
    """A record in which a metric has this text for a value, whether it is JSON or not."""
    head, _, rest = record.partition(b'"%s":' % name.encode())
    return head + b'"%s":' % name.encode() + text + b"," + rest.partition(b",")[2]


#: Of the node that a second ends with.
METRIC = "AR_RTR_0_6_INQ_PRF_INCOMING_FLIT_VC0"


def bad_json(good: bytes) -> dict[str, tuple[bytes, str]]:
    """What may come instead of a record, and the reason that its dead letter gives."""
    return {
        "truncated": (good[: len(good) // 2], "ends too early"),
        "one byte short": (good[:-1], "ends too early"),
        "empty": (b"", "ends too early"),
        "trailing bytes": (good + b"}", "bytes follow the end"),
        "two records": (good + good, "bytes follow the end"),
        "text for a counter": (raw(good, METRIC, b'"1"'), "another type"),
        "list for a counter": (raw(good, METRIC, b"[1,2]"), "another type"),
        "object for a counter": (raw(good, METRIC, b"{}"), "another type"),
        "null for a counter": (raw(good, METRIC, b"null"), "null"),
        "true for a counter": (raw(good, METRIC, b"true"), "another type"),
        "fraction for a counter": (raw(good, METRIC, b"1.5"), "integer"),
        "NaN": (raw(good, METRIC, b"NaN"), "NaN"),
        "infinity": (raw(good, METRIC, b"-Infinity"), "NaN or infinity"),
        "beyond 64 bits": (raw(good, METRIC, b"18446744073709551616"), "64 bits"),
        "below 64 bits": (raw(good, METRIC, b"-9223372036854775809"), "64 bits"),
        "a thousand digits": (raw(good, METRIC, b"9" * 1000), "64 bits"),
        "no time": (good.replace(b'"timestamp"', b'"time"'), "no timestamp"),
        "a list for the time": (b'{"timestamp":[1,2],"other":2}', "timestamp"),
        "a text for the time": (b'{"timestamp":"now","another":2}', "another type"),
        "time before 1970": (changed(good, timestamp=-1.5), "outside 1970 to 2106"),
        "time after 2106": (changed(good, timestamp=2**40), "outside 1970 to 2106"),
        "time far ahead": (changed(good, timestamp=START_S + 2_000_000_000), "future"),
        "a metric twice": (good[:-1] + b',"%s":7}' % METRIC.encode(), "twice"),
        "not an object": (b"[" + good + b"]", ""),
        "deeply nested": (b"[" * 100_000, ""),
        "control character": (raw(good, "job_id", b'"\x01"'), ""),
        "not UTF-8": (raw(good, "job_id", b'"\xff\xfe"'), ""),
        "half a surrogate pair": (raw(good, "job_id", b'"\\ud800"'), ""),
        "unescaped text": (raw(good, "job_id", rb'"a\q"'), ""),
        "SQL in a value": (raw(good, METRIC, b"'; DROP TABLE router_1s; --"), ""),
        "random bytes": (random.Random(1).randbytes(3000).replace(b"\0", b"x"), ""),
        "unknown Avro schema": (b"\0" + struct.pack(">I", 999_999) + good, "999999"),
        "Avro's first bytes alone": (b"\0\0\0", "ends too early"),
        "10 MB of metrics": (
            good[:-1] + b"".join(b',"m%d":1' % i for i in range(LARGE // 12)) + b"}",
            "metrics, more than",
        ),
        "10 MB of a text that does not end": (good[:-1] + b',"m":"' + b"x" * LARGE, ""),
        "10 MB of zeros": (bytes(LARGE), "Avro schema 0"),
    }


def test_sql_in_the_names_of_metrics_is_only_a_name(stack: tuple[str, str], fabric: Fabric, topic: str) -> None:
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    names = ['x"; DROP TABLE router_1s; --', "y'); DELETE FROM fabric; --", "$$z$$", "%s", "a.b/../../c"]
    odd = json.dumps({"timestamp": START_S + 1.5, "component_id": 999_999} | dict.fromkeys(names, 7)).encode()
    carry(stack, feed.topic, [*feed.tick(), odd, *feed.tick()])
    assert stored(stack[0]) == feed.expected() and kept(stack[0]).accepted == 1
    with connect(stack[0], autocommit=True) as conn:
        columns = [row[0] for row in conn.execute("SELECT columns FROM ldms_schema WHERE kind = 'other'").fetchall()]
        assert conn.execute("SELECT count(*) FROM fabric").fetchone() == (1,)
    assert len(columns) == 1 and all(any(name in str(one) for one in columns[0]) for name in names)


@pytest.mark.parametrize(
    ("encoding", "payload"), [(1, b"not zstd"), (1, zstandard.compress(bytes(64 << 20))), (0, b"too short"), (1, b"")]
)
def test_a_batch_of_the_log_that_cannot_be_read_is_a_dead_letter(
    embedded_db: str, topic: str, encoding: int, payload: bytes
) -> None:
    fabric, name = build_dragonfly(1, 2, 4, name="bad-input"), f"ldms.{topic}"
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=name)
    with open_log(embedded_db) as log:
        log.create_topic(name, 1)
        for _ in range(3):
            append(log, name, feed.tick())
        with connect(embedded_db, role="owner") as conn:
            conn.execute("UPDATE log.batch SET encoding = %s, payload = %s WHERE base_offset = 32", [encoding, payload])
        for _ in range(2):
            drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=f"^{name}$"), limit_s=120)
            append(log, name, feed.tick())
    ((_, reason, raw),) = kept(embedded_db).letters
    assert reason.startswith("a batch of 32 records of the log cannot be read: ") and raw == payload[:RAW_BYTES]
    with connect(embedded_db, autocommit=True) as conn:
        newest = conn.execute("SELECT extract(epoch FROM max(ts))::bigint FROM router_1s").fetchone()
    assert newest == (feed.second - 2,)


def test_json_may_be_written_with_spaces(stack: tuple[str, str], fabric: Fabric, topic: str) -> None:
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    records = [*feed.ticks(4)]
    for number, indent in ((0, None), (1, 2), (2, "\t")):
        records[number::4] = [json.dumps(json.loads(one), indent=indent).encode() for one in records[number::4]]
    carry(stack, feed.topic, records)
    assert stored(stack[0]) == feed.expected() and kept(stack[0]).letters == []


def test_bad_json_is_kept_with_its_reason_and_stops_nothing(stack: tuple[str, str], fabric: Fabric, topic: str) -> None:
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    records = [*feed.tick(), *feed.tick()]
    bad = bad_json(records[-1])
    for number, (record, _) in enumerate(bad.values()):
        records.append(record)
        if number % 4 == 0:
            records += feed.tick()
    records += feed.tick()
    carry(stack, feed.topic, records)
    assert stored(stack[0]) == feed.expected()
    letters = kept(stack[0]).letters
    assert len(letters) == len(bad)
    assert [raw for *_, raw in letters] == [record[:RAW_BYTES] for record, _ in bad.values()]
    reasons = {name: reason for name, (_, reason, _) in zip(bad, letters, strict=True)}
    assert {name: reason for name, reason in reasons.items() if not reason or len(reason) > 500} == {}
    assert {name: reason for name, reason in reasons.items() if bad[name][1] not in reason} == {}
    with connect(stack[0], autocommit=True) as conn:
        assert conn.execute("SELECT max(raw_bytes) > 10000000 FROM dead_letter").fetchone() == (True,)


def test_a_metric_twice_in_the_shorter_of_two_known_rows_stops_nothing(
    stack: tuple[str, str], fabric: Fabric, topic: str
) -> None:
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    short = {"timestamp": START_S + 1.5, "component_id": 999_999, "load": 1}
    twice = b'{"timestamp":%d.5,"component_id":999999,"load":1.5,"load":2}' % (START_S + 2)
    carry(stack, feed.topic, [json.dumps(short, separators=(",", ":")).encode(), *feed.tick(), twice, *feed.tick()])
    assert stored(stack[0]) == feed.expected()
    found = kept(stack[0])
    assert found.accepted == 1 and [(reason, raw) for _, reason, raw in found.letters] == [(found.letters[0][1], twice)]
    assert "(load, byte " in found.letters[0][1]


def test_repeats_and_disorder_change_nothing(stack: tuple[str, str], fabric: Fabric, topic: str) -> None:
    rng = random.Random(5)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    first = feed.tick()
    window: list[bytes] = []
    for _ in range(10):
        window += feed.tick()
    repeated = [*window, *rng.choices(window, k=100)]
    rng.shuffle(repeated)
    carry(stack, feed.topic, [*first, *repeated, *feed.tick()])
    assert stored(stack[0]) == feed.expected()
    assert kept(stack[0]).duplicates == 100
    assert quality(stack[0]) == ([], [])
    with connect(stack[0], autocommit=True) as conn:
        counted = conn.execute("SELECT records FROM ldms_schema ORDER BY records").fetchall()
    # One schema for each of a router's four nodes, whose metrics have names of their own.
    assert counted == [(8 * feed.seconds,)] * NODES


def test_a_negative_counter_is_two_resets_and_no_count(stack: tuple[str, str], fabric: Fabric, topic: str) -> None:
    feed = Quarters(fabric, range(1), topic=f"ldms.{topic}")
    records = [*feed.tick(), *feed.tick()]
    *others, hit = feed.tick()
    records += [*others, changed(hit, **{METRIC: -5}), *feed.tick(), *feed.tick()]
    carry(stack, feed.topic, records)
    gaps, letters = quality(stack[0])
    assert letters == []
    # Into the value that cannot be, and back out of it: two segments of one node are unknown, and said to be.
    assert [reason for _, reason, *_ in gaps] == ["reset", "reset"]
    seconds, samples, flits, *_ = stored(stack[0])[0]
    assert (seconds, samples) == (4, 4 * 4 - 2)
    assert flits < feed.expected()[0][2]


def test_counters_beyond_2_to_the_63_count_in_both_formats(
    stack: tuple[str, str], fabric: Fabric, topic: str, tmp_path: Path
) -> None:
    start = 2**64 - 1_000_000
    name = "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0"
    schema = {
        "type": "record",
        "name": "aries_rtr_mmr",
        "fields": [
            {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "component_id", "type": {"type": "long", "logicalType": "unsigned-long"}},
            {"name": name, "type": {"type": "long", "logicalType": "unsigned-long"}},
        ],
    }
    registry = tmp_path / "registry.json"
    registry.write_text(json.dumps({"subjects": {}, "schemas": {"5": json.dumps(schema)}}))
    component = int(fabric.endpoints.component_id[0])
    # Over the end of 64 bits: a wrap, not a reset.
    values = [(start + 300_000 * second) % 2**64 for second in range(8)]
    text = [
        b'{"timestamp":%d.0,"component_id":%d,"%s":%d}' % (START_S + s, component, name.encode(), value)
        for s, value in enumerate(values)
    ]
    signed = [value - 2**64 if value >= 2**63 else value for value in values]
    binary = [
        b"\0\0\0\0\5" + avro_long((START_S + 100 + s) * 1000) + avro_long(component) + avro_long(value)
        for s, value in enumerate(signed)
    ]
    for number, records in enumerate((text, binary), start=1):
        carry(stack, f"ldms.{topic}_{number}", records, str(registry))
        with connect(stack[0], autocommit=True) as conn:
            row = conn.execute("SELECT sum(rt_flits), sum(samples) FROM router_1s").fetchone()
        assert row == (number * 7 * 300_000, number * 7)
    assert quality(stack[0]) == ([], [])


def avro_long(value: int) -> bytes:
    """Avro's zig-zag encoding of a signed long."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest >= 128:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*out, rest])


def test_mutated_records_are_counted_refused_or_gaps_and_none_vanishes(
    stack: tuple[str, str], fabric: Fabric, topic: str
) -> None:
    rng = random.Random(int(os.environ.get("FLITWATCH_SEED", "3")))
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    good = [record for _ in range(30) for record in feed.tick()]
    records = [mutated(record, rng) if rng.random() < 0.3 else record for record in good]
    carry(stack, feed.topic, records)
    with connect(stack[0], autocommit=True) as conn:
        came = conn.execute("SELECT sum(records), sum(dead), sum(duplicates) FROM ingest_minute").fetchone()
        letters = conn.execute("SELECT count(*) FROM dead_letter").fetchone()
    assert came is not None
    assert letters is not None
    assert came[0] == len(records)
    assert came[1] == letters[0] > 0
    # Afterwards the stream goes on as if nothing had been.
    with connect(stack[0]) as conn:
        conn.execute("TRUNCATE router_1s, router_1m, router_1h, port_10s, gap, dead_letter")
    clean = Quarters(fabric, range(8), seed=9, topic=f"ldms.{topic}_clean")
    carry(stack, clean.topic, list(clean.ticks(3)))
    assert stored(stack[0]) == clean.expected()


def mutated(record: bytes, rng: random.Random) -> bytes:
    """A record with bytes changed, dropped, doubled or cut."""
    data = bytearray(record)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randint(1, 20)]
            case 2:
                data[at:at] = data[at : at + rng.randint(1, 20)]
            case _:
                del data[max(1, at) :]
    return bytes(data)


class Registry(BaseHTTPRequestHandler):
    """A schema registry's one answer, by Confluent's REST API."""

    schemas: ClassVar[dict[str, str]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        schema = self.schemas.get(self.path.rpartition("/")[2])
        body = json.dumps({"schema": schema} if schema else {"error_code": 40403}).encode()
        self.send_response(200 if schema else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def registry_server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_schemas_come_from_a_registry_by_http(
    embedded_db: str, topic: str, registry_server: ThreadingHTTPServer
) -> None:
    schema = {
        "type": "record",
        "name": "loads",
        "fields": [
            {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "component_id", "type": "long"},
            {"name": "load", "type": "double"},
        ],
    }
    Registry.schemas = {"9": json.dumps(schema)}
    Registry.asked = []
    records = [
        b"\0\0\0\0\x09" + avro_long((START_S + s) * 1000) + avro_long(3) + struct.pack("<d", s / 4) for s in range(5)
    ]
    unknown = b"\0\0\0\0\x0a" + records[0][5:]
    carry(
        (embedded_db, embedded_db),
        f"ldms.{topic}",
        [*records, unknown, unknown],
        f"http://127.0.0.1:{registry_server.server_port}",
    )
    with connect(embedded_db, autocommit=True) as conn:
        rows = conn.execute("SELECT component_id, f64 FROM observation ORDER BY ts").fetchall()
    assert rows == [(3, [s / 4]) for s in range(5)]
    found = kept(embedded_db)
    assert [raw for *_, raw in found.letters] == [unknown, unknown]
    assert all("10" in reason for _, reason, _ in found.letters)
    assert sorted(Registry.asked) == ["/schemas/ids/10", "/schemas/ids/9"], "each id is asked for once"
