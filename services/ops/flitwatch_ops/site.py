"""Site checks that `flitwatch doctor` runs before the platform is started."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

import orjson

from flitwatch_domain.errors import EXTRAS, FlitwatchError
from flitwatch_ops import sizing
from flitwatch_ops.log_limits import LogLimits

State = Literal["ok", "warning", "failed", "skipped"]

#: A larger clock difference puts rows into wrong windows.
CLOCK_LIMIT_S = 2.0
#: For an Aries machine sampled every second, used to estimate the table size from a record of its nodes.
NODES_PER_ROUTER, PORTS_PER_ROUTER = 4, 48


@dataclass(frozen=True)
class Check:
    """Finding of a check; `advice` is the recommended action."""

    name: str
    state: State
    detail: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def check_machine(folder: Path) -> Iterator[Check]:
    """Check this machine: the data folder, its disk, and the programs that optional parts need."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    state: State = "ok" if free > 20e9 else "warning"
    yield Check("disk", state, f"{free / 1e9:.0f} GB free for {folder}", "" if state == "ok" else "Free at least 20 GB")
    for program, purpose, package in (
        ("java", "STACK=full runs Apache Kafka", "openjdk-17-jre-headless"),
        ("sacct", "collecting accounting from a running Slurm", "slurm-client"),
    ):
        program_path = shutil.which(program)
        advice = "" if program_path else f"Only needed for {purpose}: apt-get install {package}"
        yield Check(program, "ok" if program_path else "skipped", program_path or "not on this machine", advice)


def check_estimators() -> Check:
    """Load the libraries of the estimators, and name missing extras."""
    try:
        for library in ("scipy.special", "sklearn.linear_model", "lightgbm"):
            importlib.import_module(library)
    except (ImportError, OSError) as failure:
        return Check(
            "estimators",
            "failed",
            f"blame, drivers and forecasts cannot run: {_format_failure(failure)}",
            "Install flitwatch with its dependencies: pip install flitwatch; libgomp.so.1 is in the system's package libgomp1 (RPM: libgomp)",
        )
    lacking = [
        f"{library} (extra {extra})"
        for module, (library, extra) in EXTRAS.items()
        if importlib.util.find_spec(module) is None
    ]
    without = f"; not installed: {', '.join(lacking)}" if lacking else ""
    return Check("estimators", "ok", f"blame, drivers and forecasts can run{without}")


def check_database(url: str) -> Iterator[Check]:
    """Check the database server: reachability, version and edition, tables, clock, and coverage."""
    from flitwatch_db import connect, detect_edition, migrations
    from flitwatch_db.core.connection import version_and_clock

    try:
        with connect(url, autocommit=True) as connection:
            begun = time.time()
            version, clock_s = version_and_clock(connection)
            middle = (begun + time.time()) / 2
            yield Check("database", "ok", f"PostgreSQL {version}, {detect_edition(connection)} edition")
            yield _check_clock("database clock", clock_s - middle)
            tables = _check_tables(
                pending := migrations.list_pending_migrations(connection),
                migrations.ending_those_in_use(connection),
                migrations.list_newer_migrations(connection),
            )
            yield tables
            if tables.state != "failed" and not pending:
                yield from _check_coverage(connection)
    except Exception as failure:
        yield Check("database", "failed", _format_failure(failure), "Check the URL, the server and its pg_hba.conf")


def _check_tables(waiting: Sequence[str], ending: Sequence[str], newer: Mapping[str, str | None]) -> Check:
    """Check the migrations: pending ones, pending ones that end older versions in use, and those of a newer version."""
    from flitwatch_db import migrations

    if ended := migrations.list_ending_migrations(newer):
        return Check(
            "tables",
            "failed",
            f"schema of a newer version: migration {ended[0]} ended this version",
            "Use the newer one",
        )
    if newer:
        return Check("tables", "ok", "schema of a newer version, which this version can use")
    if ending:
        return Check(
            "tables",
            "warning",
            f"{len(waiting)} pending migrations; {ending[0]} ends the versions in use",
            "Stop the services, then run: flitwatch db migrate",
        )
    if waiting:
        return Check(
            "tables",
            "warning",
            f"{len(waiting)} pending migrations; the versions in use keep working",
            "Run: flitwatch db migrate",
        )
    return Check("tables", "ok", "up to date")


def _check_coverage(connection: Any) -> Iterator[Check]:
    """Check how many recent jobs have a place, how many nodes have counters, and how many counters belong to a fabric."""
    from flitwatch_db.ingest.coverage import read_coverage

    try:
        coverage = read_coverage(connection)
    except Exception as failure:
        yield Check("coverage", "failed", _format_failure(failure), "See the database's log: it answers other queries")
        return
    for name, part, what, advice in (
        ("jobs with a place", coverage.jobs, "jobs of the last 7 days", "Import the topology of their hosts (flitwatch import fabric)"),
        ("nodes with counters", coverage.nodes, "nodes, in the last hour", "Check their switches and samplers"),
        ("counters with a fabric", coverage.counters, "records of the last day", "Import the topology of their devices (flitwatch import fabric)"),
    ):  # fmt: skip
        if not part.items:
            yield Check(name, "skipped", "there are none yet")
            continue
        examples = f"; without: {'; '.join(part.examples)}" if part.examples else ""
        good = part.covered == part.items
        yield Check(
            name,
            "ok" if good else "warning",
            f"{part.covered:,} of {part.items:,} {what}{examples}",
            "" if good else advice,
        )


def _check_clock(name: str, ahead_s: float) -> Check:
    good = abs(ahead_s) <= CLOCK_LIMIT_S
    return Check(
        name,
        "ok" if good else "warning",
        f"{ahead_s:+.2f} s against this machine",
        "" if good else "Synchronise clocks (chrony)",
    )


@dataclass
class TopicRate:
    """Record counts of one topic while listening."""

    records: int = 0
    values: int = 0
    size_bytes: int = 0
    unreadable: int = 0
    components: set[int] = field(default_factory=set)
    newest_s: float = 0.0

    def add(self, value: bytes) -> None:
        """Count one record. The values of an Avro record are estimated from its size, because its schema is in a registry."""
        self.records += 1
        self.size_bytes += len(value)
        if value[:1] == b"\0":
            self.values += len(value) // 5
            return
        try:
            record = orjson.loads(value)
            self.values += len(record)
            if isinstance(record.get("component_id"), int):
                self.components.add(record["component_id"])
            self.newest_s = max(self.newest_s, float(record.get("timestamp", 0.0)))
        except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError):
            self.unreadable += 1


def check_log(url: str, listen_s: float, rates: dict[str, TopicRate], partitions: dict[str, int]) -> Iterator[Check]:
    """Check the log: reachability, topics, and records that arrive while listening. Fill `rates`, and `partitions` of Flitwatch's topics."""
    from flitwatch_stream.backends import open_log
    from flitwatch_stream.topics import LDMS_PREFIX, writer_pattern

    try:
        with open_log(url) as log:
            topics = log.topics()
            ours = sorted(name for name in topics if name.startswith((LDMS_PREFIX, "flitwatch.")))
            partitions.update({name: topics[name] for name in ours})
            yield Check(
                "log",
                "ok",
                f"{len(topics)} topics, {len(ours)} of them for Flitwatch: {', '.join(ours[:6]) or 'none yet'}",
            )
            with log.consumer(f"doctor-{time.time_ns()}", pattern=writer_pattern(), start="latest") as consumer:
                until = time.monotonic() + listen_s
                while (remaining_s := until - time.monotonic()) > 0:
                    for record in consumer.poll(10_000, min(remaining_s, 0.5)):
                        rates.setdefault(record.topic, TopicRate()).add(record.value)
    except FlitwatchError as failure:
        yield Check("log", "failed", _format_failure(failure), "Check the URL, and that the broker is listening")
        return
    yield from _check_arrivals(rates, listen_s)


def _check_arrivals(rates: dict[str, TopicRate], listen_s: float) -> Iterator[Check]:
    if not rates:
        yield Check(
            "records",
            "warning",
            f"no records within {listen_s:.0f} s",
            "Start ldmsd's store or a collector, and try again",
        )
        return
    for topic, rate in sorted(rates.items()):
        detail = f"{rate.records / listen_s:.1f} records/s, {rate.values / listen_s:,.0f} values/s, {rate.size_bytes / listen_s / 1e6:.2f} MB/s, {len(rate.components)} components"
        broken = f"; {rate.unreadable} unreadable" if rate.unreadable else ""
        yield Check(
            topic,
            "warning" if broken else "ok",
            detail + broken,
            "Unreadable records become dead letters" if broken else "",
        )
        if rate.newest_s:
            yield _check_clock(f"{topic} clock", rate.newest_s - time.time())


class LogKeeps(TypedDict):
    """Retention of a log by age and size; None means no limit."""

    hours: float | None
    bytes: int | None


class DiskRate(TypedDict):
    """Bytes per day that a site writes, by the number of routers in its records."""

    routers_estimated: int
    database_bytes_a_day: int
    log_bytes_a_day_uncompressed: int
    log_keeps: LogKeeps | None


def disk_a_day(rates: dict[str, TopicRate], listen_s: float, limits: LogLimits | None) -> DiskRate:
    """Return the bytes per day at the observed rates: in the log before compression, in the database's rows, and kept in the log."""
    components = set().union(*(rate.components for topic, rate in rates.items() if "rtr" in topic)) if rates else set()
    routers = -(-len(components) // NODES_PER_ROUTER)
    tables = sizing.size_tables(sizing.Site(routers, routers * PORTS_PER_ROUTER, 0, 1.0))
    database = sum(table.bytes_a_day for table in tables.values())
    log = sum(rate.size_bytes for rate in rates.values()) / max(listen_s, 1e-9) * sizing.DAY_S
    return {
        "routers_estimated": routers,
        "database_bytes_a_day": int(database),
        "log_bytes_a_day_uncompressed": int(log),
        "log_keeps": None if limits is None else {"hours": limits.hours, "bytes": limits.bytes},
    }


def check_slurm() -> Iterator[Check]:
    """Check that `sacct` works."""
    if shutil.which("sacct") is None:
        return
    try:
        done = subprocess.run(
            ["sacct", "-X", "-n", "-P", "-S", "now-5minutes", "-o", "jobid"], capture_output=True, text=True, timeout=20
        )
    except subprocess.TimeoutExpired:
        yield Check("accounting", "failed", "sacct did not answer in 20 s", "Check slurmdbd")
        return
    good = done.returncode == 0
    detail = f"{len(done.stdout.splitlines())} jobs in the last 5 minutes" if good else _format_failure(done.stderr)
    yield Check("accounting", "ok" if good else "warning", detail, "" if good else "Check slurm.conf and slurmdbd")


def _format_failure(failure: object) -> str:
    return " ".join(str(failure).split())[:300]
