"""The topics of docs/contracts/log.md."""

from __future__ import annotations

JOBS = "flitwatch.jobs.v1"
RUNS = "flitwatch.runs.v1"
REJECTED = "flitwatch.rejected.v1"
SAMPLES = "flitwatch.samples.v1"
EVENTS = "flitwatch.events.v1"

#: LDMS row schemas: one topic each, as `store_avro_kafka` names them with `topic = ldms.%S`.
LDMS_PREFIX = "ldms."
LDMS_PATTERN = r"^ldms\..*"

#: Headers that collectors set.
SOURCE = "source"
SEQUENCE = "sequence"
SIMULATED = "simulated"
WHERE = "where"
REASON = "reason"
#: Header of a record that the embedded log hands out in place of a batch that it cannot read: why. Its value is what is stored.
DAMAGED = "damaged"


def ldms_topic(schema: str) -> str:
    """The topic of an LDMS row schema."""
    return LDMS_PREFIX + schema


def writer_pattern(ldms_pattern: str = LDMS_PATTERN) -> str:
    """One anchored pattern for all that the writer reads: the LDMS topics and ours, without the events it writes itself.

    POSIX extended syntax, which PostgreSQL and librdkafka both understand: plain groups only.
    """
    ours = "|".join(topic.replace(".", r"\.") for topic in (JOBS, RUNS, REJECTED, SAMPLES))
    return f"^({ldms_pattern.removeprefix('^')}|({ours})$)"
