"""Mixed versions: an older API and writer on the schema of a newer version, which expanded or contracted it (ADR 0010)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from io import BytesIO
from pathlib import Path

import httpx
import numpy as np
import psycopg
import pytest
from api.conftest import serving
from click.testing import CliRunner, Result
from ingest.writing import START_S, Quarters, append, drain_log, quality, stored
from psycopg.conninfo import conninfo_to_dict
from support.waiting import eventually

from flitwatch.command_line import cli
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.core.logins import url_for
from flitwatch_db.counters.store import write_port_totals
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.migrations import list_migrations, migrate_database, runner
from flitwatch_domain.errors import Conflict, Unavailable
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.site import check_database
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.system("processes"), pytest.mark.integration]

ROOT = Path(__file__).parents[2]
SQL = Path("db/flitwatch_db/migrations/sql")
LIBRARIES = "libraries"
#: Guards against a hang; a loaded machine takes as long as it takes.
PATIENCE_S = 120.0
NEWER = "the database has a newer version's schema, which this version can use"


class Site:
    """A fabric whose records lie in the log, a database that holds what was carried there, and services of any version's code."""

    def __init__(self, url: str, topic: str, place: Path) -> None:
        fabric = build_dragonfly(1, 2, 4, name="rolling")
        with connect(url) as conn:
            self.fabric_id = fabrics.save_fabric(conn, fabric)
        self.url, self.place = url, place
        self.feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
        with open_log(url) as log:
            log.create_topic(self.feed.topic, 1)

    def send(self, seconds: int) -> None:
        with open_log(self.url) as log:
            append(log, self.feed.topic, self.feed.ticks(seconds))

    def has_come(self) -> bool:
        """Whether every second is there; a writer that ends writes ports, too, to the end."""
        with connect(self.url) as conn:
            found = conn.execute("SELECT count(*) FROM router_1s WHERE samples > 0").fetchone()
        return found == (len(self.feed.routers) * (self.feed.seconds - 1),)

    def import_totals(self) -> None:
        """Counters without time, which an import writes."""
        with connect(url_for(self.url, "writer"), role="writer") as conn:
            one = np.arange(1, dtype=np.int32)
            write_port_totals(conn, self.fabric_id, one, one, np.array([5.0]), np.array([2.0]), "totals.csv")
            assert conn.execute("SELECT router, port, flits, source FROM port_total").fetchall() == [
                (0, 0, 5.0, "totals.csv")
            ]

    def assert_exact(self) -> None:
        assert stored(self.url) == self.feed.expected()
        assert quality(self.url)[1] == []

    @contextmanager
    def service(self, code: Path, name: str, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A service of that code, with its own login; and the file of what it says."""
        said = self.place / f"{name}-{time.monotonic_ns()}"
        argv = [sys.executable, "-m", "flitwatch.main", name, "--db", url_for(self.url, name), *options]
        with said.open("wb") as file:
            process = subprocess.Popen(argv, stdout=file, stderr=file, env=environment_of(code))
        try:
            yield process, said
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def writer(self, code: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        options = ("--topics", f"^{self.feed.topic}$", "--group", self.feed.topic, "--interval", "0.2")
        with self.service(code, "writer", *options) as (process, said):
            yield process, said
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)

    @contextmanager
    def api(self, code: Path) -> Iterator[httpx.Client]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with (
            self.service(code, "api", "--port", str(port)) as (process, said),
            httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as http,
        ):
            until(lambda: process.poll() is not None or answers(http), said)
            assert process.poll() is None, said.read_text()
            yield http

    def assert_served(self, http: httpx.Client) -> None:
        """The API is ready, shows the fabric, and its stalls are those of the feed."""
        assert http.get("/readyz").json()["status"] == "ready"
        assert [one["name"] for one in http.get("/api/v1/fabrics").json()["items"]] == ["rolling"]
        asked = {"at": self.feed.second, "window": f"{self.feed.second - START_S}s"}
        shown = http.get("/api/v1/fabrics/rolling/stalls", params=asked).json()["routers"]
        assert [shown["flits"][:8], shown["stall_cycles"][:8]] == [
            [row[place] for row in self.feed.expected().values()] for place in (2, 3)
        ]


def packages(code: Path) -> list[Path]:
    """Folders of a checkout that hold our packages, and what `install_absent` put there; the compiled one is this checkout's."""
    found = [*code.glob("*/flitwatch*/__init__.py"), *code.glob("services/*/flitwatch*/__init__.py")]
    return [*sorted({path.parents[1] for path in found if "noise_core" not in path.parts}), code / LIBRARIES]


def environment_of(code: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages(code)))}


def until(condition: Callable[[], bool], said: Path) -> None:
    eventually(condition, PATIENCE_S, 0.2, detail=said.read_text)


def answers(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def carry_on(site: Site) -> None:
    """This version's writer, after another's."""
    site.send(3)
    drain_log(
        site.url,
        site.url,
        settings=WriterSettings(pattern=f"^{site.feed.topic}$", group=site.feed.topic),
        limit_s=PATIENCE_S,
    )
    site.assert_exact()


@contextmanager
def newer(folder: Path, **texts: str) -> Iterator[None]:
    """A newer version of this code, meanwhile: with more migrations, by their names."""
    folder.mkdir(exist_ok=True)
    for file in (ROOT / SQL).glob("*.sql"):
        shutil.copy(file, folder)
    for name, text in texts.items():
        (folder / f"{name}.sql").write_text(text)
    migrations = runner.read_migrations(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "list_migrations", lambda: migrations)
        yield


def a_column_more(url: str) -> dict[str, str]:
    """An expansion of every table: a column that the version before knows nothing of."""
    with connect(url) as conn:
        tables = conn.execute(
            "SELECT oid::regclass::text, relname FROM pg_class"
            " WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace IN ('flitwatch'::regnamespace, 'log'::regnamespace)"
        ).fetchall()
    assert len(tables) > 60
    return {
        f"2999_01_01_{number:03}_{name}": f"-- expansion\nALTER TABLE {table} ADD COLUMN later int NOT NULL DEFAULT 7;\n"
        for number, (table, name) in enumerate(sorted(tables))
    }


def test_the_version_before_goes_on_and_comes_back_alongside_an_expansion_and_ends_with_a_contraction(
    embedded_db: str, topic: str, tmp_path: Path
) -> None:
    site, folder = Site(embedded_db, topic, tmp_path), tmp_path / "sql"
    expansions = a_column_more(embedded_db)
    with serving(Settings(db=url_for(embedded_db, "api"), web=None)) as api:
        with site.writer(ROOT) as (_, said):
            site.send(2)
            until(site.has_come, said)
            with newer(folder, **expansions):
                assert migrate_database(embedded_db) == sorted(expansions)
            site.send(3)
            until(site.has_come, said)
        site.assert_exact()
        site.assert_served(api.http)
        site.import_totals()
        # As after `kubectl rollout undo`.
        with site.writer(ROOT) as (_, said):
            site.send(3)
            until(site.has_come, said)
        assert NEWER in said.read_text()
        site.assert_exact()
        with newer(folder):
            carry_on(site)
        site.assert_served(api.http)

        name = "2999_01_02_01_narrower"
        contraction = f"-- contraction: ends versions older than {max(expansions)}\nALTER TABLE stream_position DROP COLUMN later;\n"
        with newer(folder, **{name: contraction}):
            assert migrate_database(embedded_db) == [name] and migrate_database(embedded_db) == []
        unready = api.http.get("/readyz")
        assert unready.status_code == 503 and f"migration {name} ended this version" in unready.json()["detail"]
        assert api.http.get("/healthz").status_code == 200, "a restart mends nothing"
        with pytest.raises(Conflict, match=f"migration {name} ended this version. Use the newer Flitwatch"):
            migrate_database(url_for(embedded_db, "writer"))


def test_a_newer_version_waits_for_the_older_schema_and_two_lines_do_not_mix(embedded_db: str, tmp_path: Path) -> None:
    one, other = {"2999_01_01_01_one": "-- expansion\n"}, {"2999_01_01_02_other": "-- expansion\n"}
    with newer(tmp_path / "one", **one):
        with pytest.raises(Unavailable, match="does not have this version"):
            migrate_database(url_for(embedded_db, "writer"))
        migrate_database(embedded_db)
    with (
        newer(tmp_path / "other", **other),
        pytest.raises(Conflict, match=r"one, which this version does not have; this version has .*other"),
    ):
        migrate_database(embedded_db)


def test_doctor_says_which_versions_a_migration_leaves(embedded_db: str, tmp_path: Path) -> None:
    def tables() -> tuple[str, str]:
        (found,) = (check for check in check_database(embedded_db) if check.name == "tables")
        return found.state, found.detail

    expansion, contraction = "2999_01_01_01_more", "2999_01_01_02_less"
    more = {expansion: "-- expansion\n"}
    less = more | {contraction: f"-- contraction: ends versions older than {expansion}\n"}
    assert tables() == ("ok", "up to date")
    with newer(tmp_path / "less", **less):
        assert tables() == ("warning", f"2 pending migrations; {contraction} ends the versions in use")
    with newer(tmp_path / "more", **more):
        assert tables() == ("warning", "1 pending migrations; the versions in use keep working")
        migrate_database(embedded_db)
    assert tables() == ("ok", "schema of a newer version, which this version can use")
    with newer(tmp_path / "less"):
        assert tables() == ("warning", "1 pending migrations; the versions in use keep working")
        migrate_database(embedded_db)
    with newer(tmp_path / "more"):
        assert tables() == ("ok", "schema of a newer version, which this version can use")
    assert tables() == ("failed", f"schema of a newer version: migration {contraction} ended this version")


def test_an_init_container_waits_for_a_schema_that_lets_it_run(
    embedded_db: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path(conninfo_to_dict(embedded_db)["passfile"]).parents[1]
    argv = ["db", "logins", "--wait", "--folder", str(folder), "--db", embedded_db]
    ended: list[Result] = []
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        conn.execute("INSERT INTO migration VALUES ('2999_01_01_01_future', 'x')")
        thread = threading.Thread(target=lambda: ended.append(CliRunner().invoke(cli, argv)))
        thread.start()

        def waits() -> bool:
            assert thread.is_alive()
            return "waiting for the database: the database has a newer version" in caplog.text

        eventually(waits, PATIENCE_S, what="the command to wait for the database", detail=lambda: caplog.text)
        assert thread.is_alive()
        # As the backup from before the upgrade.
        conn.execute("DELETE FROM migration WHERE name = '2999_01_01_01_future'")
    thread.join(PATIENCE_S)
    assert [one.exit_code for one in ended] == [0]


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the history: git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def names(commit: str) -> set[str]:
    """The migrations of a commit."""
    listed = git("ls-tree", "--name-only", "--full-tree", commit, f"{SQL}/").decode().splitlines()
    return {Path(path).stem for path in listed}


def last_release() -> str:
    """The newest tag that lacks our newest migration; without a tag, the newest commit."""
    newest = list_migrations()[-1].name
    tags = git("tag", "--merged", "HEAD", "--sort=-creatordate").decode().split()
    adding = (
        git("log", "--first-parent", "-m", "--diff-filter=A", "--format=%H", "HEAD", "--", str(SQL)).decode().split()
    )
    for commit in [*tags, "HEAD", *(f"{commit}^" for commit in adding)]:
        if "" < max(names(commit), default="") < newest:
            return commit
    pytest.skip("needs the history: no commit here lacks a migration of ours")


def install_absent(commit: str, folder: Path) -> None:
    """Install the libraries that the code of a commit needs and this version does not, as that commit locked them, into its folder `LIBRARIES`."""
    lock = {entry["name"]: entry for entry in tomllib.loads(git("show", f"{commit}:uv.lock").decode())["package"]}
    here = {re.sub("[-_.]+", "-", found.name).lower() for found in metadata.distributions()}
    absent: dict[str, str] = {}
    to_read = [entry["name"] for entry in lock["flitwatch"]["dependencies"]]
    while to_read:
        name = to_read.pop()
        if name not in here and name not in absent:
            absent[name] = lock[name]["version"]
            to_read += [entry["name"] for entry in lock[name].get("dependencies", ()) if "marker" not in entry]
    wanted = [f"{name}=={version}" for name, version in absent.items()]
    uv = shutil.which("uv") or str(ROOT / ".cache/uv/bin/uv")
    target = ["--python", sys.executable, "--target", str(folder / LIBRARIES)]
    if wanted:
        subprocess.run([uv, "pip", "install", "-q", "--no-deps", *target, *wanted], check=True)


@pytest.fixture
def release(tmp_path: Path) -> tuple[Path, set[str]]:
    """The code of the last release, and its migrations."""
    commit = last_release()
    known = names(commit)
    folder = tmp_path / "release"
    with tarfile.open(fileobj=BytesIO(git("archive", commit, "db", "ingest", "ml", "services"))) as archive:
        archive.extractall(folder, filter="data")
    install_absent(commit, folder)
    asked = [sys.executable, "-c", "import flitwatch_db; print(flitwatch_db.__file__)"]
    assert subprocess.check_output(asked, env=environment_of(folder), text=True).startswith(str(folder))
    return folder, known


@pytest.fixture
def released_db(release: tuple[Path, set[str]], embedded_server: Embedded) -> Iterator[str]:
    """A database that the last release's code made."""
    with psycopg.connect(embedded_server.url_of("postgres", "postgres"), autocommit=True) as conn:
        conn.execute("CREATE DATABASE released OWNER flitwatch")
        url = embedded_server.url_of("released")
        argv = [sys.executable, "-m", "flitwatch.main", "db", "migrate", "--db", url]
        subprocess.run(argv, env=environment_of(release[0]), check=True, capture_output=True)
        yield url
        conn.execute("DROP DATABASE released WITH (FORCE)")


def test_the_last_release_runs_on_this_schema_as_its_marks_say(
    release: tuple[Path, set[str]], released_db: str, topic: str, tmp_path: Path
) -> None:
    code, known = release
    assert set(migrate_database(released_db)) == {m.name for m in list_migrations()} - known
    site = Site(released_db, topic, tmp_path)
    site.send(3)
    ends = [m.name for m in list_migrations() if m.name not in known and m.oldest not in known]
    with site.writer(code) as (process, said):
        until(lambda: process.poll() is not None or site.has_come(), said)
        assert (process.poll() is not None) == bool(ends), said.read_text()
    if ends:
        assert f"migration {ends[0]} ended" in said.read_text()
        return
    assert f"its newest migration is {list_migrations()[-1].name}" in said.read_text()
    site.assert_exact()
    with site.api(code) as http:
        site.assert_served(http)
        carry_on(site)
        site.assert_served(http)
