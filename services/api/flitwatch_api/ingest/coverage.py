"""Record counts by kind of data and step, computed from those by topic."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from flitwatch_api.answers import build_model
from flitwatch_api.ingest import schemas
from flitwatch_db.ingest.reads import Row
from flitwatch_stream.topics import JOBS, LDMS_PREFIX, RUNS, SAMPLES

_SOURCES = {JOBS: "Jobs of the scheduler", RUNS: "Steps of runs", SAMPLES: "Packet samples"}
_COUNTERS = {"router": "Router counters", "endpoint": "Network card counters"}


def name_source(topic: str, kind: str | None) -> str:
    """Return a topic's kind of data. `kind` is that of the devices in its schema, if it has one."""
    if topic.startswith(LDMS_PREFIX):
        return _COUNTERS.get(kind or "", "Other counters")
    return _SOURCES.get(topic, topic)


def build_coverage(rows: Iterable[Row], from_s: float, step_s: int, steps: int) -> schemas.IngestCoverage:
    """Sum the rows of `count_by_step` by kind of data, in alphabetical order."""
    sources: dict[str, schemas.SourceCoverage] = {}
    for row in rows:
        name = name_source(row["topic"], row["kind"])
        if name not in sources:
            zeros = [0] * steps
            sources[name] = build_model(
                schemas.SourceCoverage, source=name, topics=[], records=list(zeros), dead=list(zeros)
            )
        source = sources[name]
        if row["topic"] not in source.topics:
            source.topics.append(row["topic"])
        source.records[row["at"]] += row["records"]
        source.dead[row["at"]] += row["dead"]
    starts = [datetime.fromtimestamp(from_s + at * step_s, UTC) for at in range(steps)]
    return build_model(
        schemas.IngestCoverage, ts=starts, step_s=step_s, sources=[sources[name] for name in sorted(sources)]
    )
