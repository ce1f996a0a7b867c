"""Topics of docs/contracts/log.md."""

from __future__ import annotations

JOBS = "flitwatch.jobs.v1"
RUNS = "flitwatch.runs.v1"
REJECTED = "flitwatch.rejected.v1"
SAMPLES = "flitwatch.samples.v1"

#: LDMS row schemas have one topic each, with the names of `store_avro_kafka` for `topic = ldms.%S`.
LDMS_PREFIX = "ldms."
LDMS_PATTERN = r"^ldms\..*"

#: Headers set by collectors.
SOURCE = "source"
SEQUENCE = "sequence"
SIMULATED = "simulated"
WHERE = "where"
REASON = "reason"
#: Header of a record that the embedded log returns in place of an unreadable batch: the reason. The record's value is the stored payload.
DAMAGED = "damaged"


def ldms_topic(schema: str) -> str:
    return LDMS_PREFIX + schema


def writer_pattern() -> str:
    """Return one anchored pattern for the writer's input: the LDMS topics and Flitwatch's, except the events that it writes itself.

    The syntax is POSIX extended, which PostgreSQL and librdkafka both support: plain groups only.
    """
    ours = "|".join(topic.replace(".", r"\.") for topic in (JOBS, RUNS, REJECTED, SAMPLES))
    return f"^({LDMS_PATTERN.removeprefix('^')}|({ours})$)"
