"""Baseline for the decoder: the same records decoded by a plain library, on one core in the same run."""

from __future__ import annotations

import io
import json
import time
from typing import Any, TypedDict

from flitwatch_research.ingest_bench.load import Order

FOR_S = 2.0


class Baseline(TypedDict):
    """A library's name, and its decoded values per second on one core."""

    name: str
    values_per_s_per_core: int


def measure_baseline(order: Order) -> Baseline:
    """Decode records of the load with fastavro or orjson for two seconds of CPU time."""
    pool = order.pools(only=0)[0]
    records = pool.second(0, int(time.time()))[:500]
    if order.form == "avro":
        import fastavro

        name = "fastavro.schemaless_reader"
        schema = fastavro.parse_schema(json.loads(pool.set.avro_schema()))

        def decode(record: bytes) -> Any:
            return fastavro.schemaless_reader(io.BytesIO(record[5:]), schema, None)
    else:
        import orjson

        name = "orjson.loads"

        def decode(record: bytes) -> Any:
            return orjson.loads(record)

    done, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < FOR_S:
        for record in records:
            decode(record)
        done += len(records)
    return {"name": name, "values_per_s_per_core": round(done * len(pool.set.metrics) / spent)}
