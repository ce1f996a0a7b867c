"""Well-formed records with odd names and values."""

from __future__ import annotations

import json
import random
from typing import Any

from ingest.writing import START_S

from flitwatch_stream import topics
from flitwatch_stream.backends import open_log

#: Of no pattern that a database could compress.
LONG = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9000), k=5000)))
TEXTS = [
    LONG, LONG[:300], LONG[:1000],
    "a\0b", "\0", "", " ", "x" * 5000, "é☃", "\U0001f600", "'; DROP TABLE job; --", "\\N", "\t", "\n", "{}", '"', "\x7f", "\u202e", "\x1f", "NULL", "nan", "0",
]  # fmt: skip
NUMBERS = [0, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 1.5, 1e308, 5e-324, -0.0, 10**30]
METRICS = [
    "component_id",
    "producer",
    "instance",
    "port",
    "rtr",
    "aries_rtr_id",
    "job_id",
    "m1",
    "m2",
    "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0",
    "hfi1_0_1_portXmitData",
    "port_xmit_wait",
    *(f"odd{text}" for text in TEXTS),
]
JOB = {
    "cluster": "c", "job_id": "12_3", "state": "COMPLETED", "restart": 0, "user": "u", "account": "a", "name": "n", "partition": "p", "exit_code": "0:0",
    "submit": START_S, "start": START_S, "end": START_S + 9, "nodes": 2, "node_list": "nid[00001-00002]", "simulated": False,
    "steps": [{"step": "batch", "name": "b", "state": "COMPLETED", "start": START_S, "end": START_S + 9, "nodes": 1, "node_list": "nid00001"}],
}  # fmt: skip
RUN = {
    "type": "run",
    "run_key": "k",
    "job_id": "5",
    "exe": "milc",
    "start": START_S,
    "ranks": [{"rank": 0, "node": "nid00001"}, {"rank": 1, "node": None}],
    "counters": ["AR_X"],
    "simulated": False,
}
STEP = {"type": "step", "run_key": "k", "step": 0, "time_ns": [5, 6], "values": [[1], [2]]}
SAMPLE = {
    "fabric": "odd", "host": "h", "job": "j", "tag": "t", "phase": "p", "start": START_S, "variant": "one-bit", "longest_path": 4, "link": [1, 2],
    "tested": [1, 2], "tested_bytes": [1, 2], "traffic": [1, -2], "traffic_variance": [0, 1], "congested": [0, 0], "congested_variance": [0, 0],
    "packets": {"decoded": 5}, "simulated": False,
}  # fmt: skip


def odd(rng: random.Random) -> Any:
    """A text, a number, a list of either, or nothing."""
    one = rng.choice([rng.choice(TEXTS), rng.choice(NUMBERS)])
    return rng.choice([one, one, [one], [one, one], None])


def row(rng: random.Random, second: int) -> dict[str, Any]:
    """Metrics of an LDMS set."""
    time_s = rng.choice([START_S + second, START_S + second + 0.5, 0, 2**32 - 1, START_S + 10**6])
    return {"timestamp": time_s} | {name: odd(rng) for name in rng.sample(METRICS, rng.randint(1, 7))}


def changed(rng: random.Random, value: Any) -> Any:
    """A record in which one value, anywhere, is another."""
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        return {**value, key: changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], changed(rng, value[at]), *value[at + 1 :]]
    return odd(rng)


def odd_headers(rng: random.Random) -> list[tuple[str, bytes]]:
    """Who sent it and its number there, mostly neither."""
    if rng.random() < 0.8:
        return []
    texts = [rng.choice(TEXTS).encode(), rng.randbytes(9), str(rng.choice(NUMBERS)).encode(), "²".encode()]
    return [(topics.SOURCE, rng.choice(texts)), (topics.SEQUENCE, rng.choice(texts))]


def records(rng: random.Random, topic: str) -> dict[str, list[dict[str, Any]]]:
    """Of every kind, by topic; the last job is a good one, 999999."""
    sent = {f"ldms.{kind}{topic}": [row(rng, second) for second in range(120)] for kind in ("", "aries_", "opa_")}
    sent[topics.JOBS] = [changed(rng, JOB | {"job_id": str(n)}) for n in range(120)]
    sent[topics.RUNS] = [changed(rng, rng.choice([RUN, STEP]) | {"run_key": f"k{n // 2}"}) for n in range(120)]
    sent[topics.SAMPLES] = [changed(rng, SAMPLE) for _ in range(120)]
    sent[topics.JOBS].append(JOB | {"job_id": "999999"})
    return sent


def publish(url: str, sent: dict[str, list[dict[str, Any]]], rng: random.Random) -> None:
    """Append all to the log at `url`."""
    with open_log(url) as log:
        for name in sent:
            if name not in log.topics():
                log.create_topic(name, 1)
        with log.producer() as producer:
            for name, found in sent.items():
                for record in found:
                    producer.append(name, json.dumps(record).encode(), partition=0, headers=odd_headers(rng))
            producer.flush()
