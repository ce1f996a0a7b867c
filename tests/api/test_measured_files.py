"""A user's own runs over REST: two files, a task, an ordinary estimate; and rejected input."""

from __future__ import annotations

import csv
import gzip
import http.client
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from ml.conftest import Context
from support.run_tables import EXPOSURE_COLUMNS, RUN_COLUMNS, USERS, tables
from support.tasks import worker
from support.waiting import eventually

from api.conftest import bearer, serving
from flitwatch.main import main
from flitwatch_api.security import MAX_BODY_BYTES
from flitwatch_api.settings import Settings
from flitwatch_db import connect, tasks
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_db.people import accounts as people
from flitwatch_db.people.erasure import erase_user
from flitwatch_db.runs import store as runs
from flitwatch_db.tasks import files
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.runs import Run
from flitwatch_ml.tasks import HANDLERS

FILES = "/api/v1/tasks/files"
PEOPLE = {"una": "user", "ugo": "user", "otto": "operator"}


def text(rows: list[list[Any]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()


RUNS, EXPOSURE = text([RUN_COLUMNS, *tables()[0]]), text([EXPOSURE_COLUMNS, *tables()[1]])


class TaskContext(Context):
    """Of a task with a number."""

    def __init__(self, dsn: str, task_id: int) -> None:
        super().__init__(dsn)
        self.task_id = task_id


@dataclass(frozen=True)
class Site:
    """A served site, a client of each person, and its database."""

    url: str
    http: dict[str, httpx.Client]

    def upload(self, who: str, content: bytes) -> int:
        answer = self.http[who].post(FILES, content=content)
        assert answer.status_code == 201 and answer.json()["bytes"] == len(content), answer.text
        return int(answer.json()["file"])

    def start(self, who: str, runs: int, exposure: int, name: str, **more: Any) -> httpx.Response:
        args = {"name": name, "runs": runs, "exposure": exposure, "shuffles": 5, **more}
        return self.http[who].post("/api/v1/tasks", json={"name": "ml.blame_measured", "args": args})

    def work(self, task_id: int) -> dict[str, Any] | FlitwatchError:
        """Do a task as a worker does, and end its row so."""
        with connect(self.url, role="writer", autocommit=True) as conn:
            args = tasks.get_task(conn, task_id).args
            given: dict[str, Any] | FlitwatchError
            try:
                given = dict(HANDLERS["ml.blame_measured"](args, TaskContext(self.url, task_id)))  # type: ignore[arg-type]
            except FlitwatchError as problem:
                given = problem
            state = "failed" if isinstance(given, FlitwatchError) else "succeeded"
            conn.execute("UPDATE task SET state = %s, finished_at = now() WHERE task_id = %s", [state, task_id])
        return given

    def judge(
        self, who: str, name: str, first: bytes = RUNS, second: bytes = EXPOSURE
    ) -> dict[str, Any] | FlitwatchError:
        begun = self.start(who, self.upload(who, first), self.upload(who, second), name)
        assert begun.status_code == 202, begun.text
        return self.work(begun.json()["task_id"])

    def held(self) -> int:
        """Files, and pieces of files."""
        with connect(self.url) as conn:
            row = conn.execute(
                "SELECT (SELECT count(*) FROM task_file) + (SELECT count(*) FROM task_file_piece)"
            ).fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture
def site(embedded_db: str) -> Iterator[Site]:
    scopes = ["read", "tasks"]
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        tokens = {}
        for name, role in PEOPLE.items():
            people.add_account(conn, name, role)
            more = ["operate", "names"] if role == "operator" else []
            tokens[name] = people.add_token(conn, name, "t", [*scopes, *more])[1]
    with serving(Settings(db=embedded_db, web=None, api_anonymous="user", api_tasks_visit=50)) as served:
        clients = {
            name: httpx.Client(base_url=served.url, timeout=60, headers=bearer(one)) for name, one in tokens.items()
        }
        clients["visitor"] = httpx.Client(base_url=served.url, timeout=60)
        yield Site(embedded_db, clients)
        for client in clients.values():
            client.close()


def blame(site: Site, who: str, **query: Any) -> dict[str, Any]:
    answer = site.http[who].get("/api/v1/estimates/blame", params={"limit": 1000, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


@pytest.mark.system("processes")
def test_the_stored_estimate_says_what_the_command_says(site: Site, tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    # Of runs on differing nodes: node-hours go by the nodes of each.
    measured = [[*row[:3], 32 + at, *row[4:]] for at, row in enumerate(tables()[0])]
    first = text([RUN_COLUMNS, *measured])
    paths = [tmp_path / "runs.csv", tmp_path / "exposure.csv"]
    for path, content in zip(paths, (first, EXPOSURE), strict=True):
        path.write_bytes(content)
    options = ["--shuffles", "5", "--json"]
    main(["blame", "--runs", str(paths[0]), "--exposure", str(paths[1]), *options])
    said = json.loads(capfd.readouterr().out)
    done = site.judge("otto", "mine", gzip.compress(first), EXPOSURE.decode().encode("utf-16"))
    assert isinstance(done, dict) and done["score"]["found"] == said["named"] == 1
    main(
        ["import", "runs", str(paths[0]), "--exposure", str(paths[1]), "--name", "by hand", "--db", site.url, *options]
    )
    imported = json.loads(capfd.readouterr().out)
    assert imported["named"] == 1 and imported["calibration"] == said["calibration"] and imported["nodes"] == 0
    by_name = {user["user"]: user for user in said["users"]}
    assert len(by_name) == USERS
    for name in ("mine", "by hand"):
        answer = blame(site, "otto", exe=name, nodes=0)
        assert {entry["name"] for entry in answer["entries"]} == set(by_name) and answer["estimate"][
            "source"
        ] == "files"
        for entry in answer["entries"]:
            user = by_name[entry["name"]]
            for key in ("verdict", "q", "p", "score", "effect_s", "exposed_runs", "lost_node_hours"):
                assert entry[key] == user[key], (name, entry["name"], key)
            assert [entry["effect_low_s"], entry["effect_high_s"]] == (user["effect_interval_s"] or [None, None])
        assert answer["calibration"] == said["calibration"] and answer["drivers"] == said["drivers"]
        assert answer["notes"] == said["notes"] and "not proof" in answer["caveat"]
        # Runs of files have names; a number would be that of a recorded run.
        assert set(answer["runs"]["run_id"]) == set(answer["runs"]["job_id"]) == {None}
        assert answer["runs"]["run_name"] == [row[0] for row in measured]
        detail = site.http["otto"].get(f"/api/v1/estimates/blame/{answer['estimate']['estimate_id']}/user/1").json()
        assert (
            set(detail["overlap"]) == {None}
            and sum(one > 0 for one in detail["exposure"]) == detail["entry"]["exposed_runs"]
        )
    u0 = by_name["u0"]
    there = {row[0] for row in tables()[1] if row[1] == "u0"}
    hours = sum(row[3] for row in measured if row[0] in there) / 3600
    assert u0["lost_node_hours"] == pytest.approx(u0["effect_s"] * hours)


@pytest.mark.system("processes")
def test_a_set_is_listed_alongside_applications_counts_among_several_and_raises_no_alert(site: Site) -> None:
    for name in ("one", "two"):
        assert isinstance(site.judge("otto", name), dict)
    listed = site.http["otto"].get("/api/v1/estimates").json()["items"]
    assert [(one["exe"], one["nodes"], one["runs"], one["source"]) for one in listed] == [
        ("two", 64, 90, "files"),
        ("one", 64, 90, "files"),
    ]
    assert listed[0]["blame"]["estimate_id"] and "steps" in listed[0]["forecast"]["lacks"]
    several = site.http["otto"].get("/api/v1/estimates/blame/several").json()
    assert [(one["name"], one["found_in"]) for one in several["items"]] == [("u0", 2)] and several["sets"] == 2
    assert len(site.http["otto"].get("/api/v1/estimates/versions", params={"kind": "blame"}).json()["items"]) == 2
    assert site.http["otto"].get("/api/v1/estimates/deviation").json()["lacking"] == []
    with connect(site.url) as conn:
        # Alerts, advice and explanations go by this table.
        assert conn.execute("SELECT count(*) FROM estimate_state").fetchone() == (0,)


@pytest.mark.system("processes")
def test_whoever_wrote_the_names_reads_them_and_nobody_learns_a_pseudonym(site: Site) -> None:
    assert isinstance(site.judge("una", "hers"), dict)
    mine = blame(site, "una", exe="hers")
    assert mine["entries"][0]["name"] == "u0" and mine["runs"]["run_name"][0] == "r0"
    assert isinstance(site.judge("una", "again"), dict)
    seen = [
        {entry["place"]: entry["name"] for entry in blame(site, "ugo", exe=exe)["entries"]} for exe in ("hers", "again")
    ]
    usual = pseudonyms_of(site)
    names = {f"u{number}" for number in range(USERS)}
    for one in seen:
        assert len(set(one.values())) == USERS and not set(one.values()) & (names | {usual(name) for name in names})
    # The same people, in the same places, under other pseudonyms.
    assert all(seen[0][place] != seen[1][place] for place in seen[0])
    theirs = blame(site, "ugo", exe="hers")
    assert set(theirs["runs"]["run_name"]) == {None} and theirs["notes"] == []
    assert site.http["ugo"].get("/api/v1/estimates/blame/several", params={"least_sets": 0}).json()["sets"] == 0
    # Visitors without a login own what their visit made.
    assert isinstance(site.judge("visitor", "of a visit"), dict)
    assert blame(site, "visitor", exe="of a visit")["entries"][0]["name"] == "u0"
    assert blame(site, "ugo", exe="of a visit")["entries"][0]["name"].startswith("user-")


def pseudonyms_of(site: Site):  # type: ignore[no-untyped-def]
    from flitwatch_api.names import Names

    with connect(site.url) as conn:
        row = conn.execute("SELECT value #>> '{}' FROM setting WHERE key = 'pseudonym_key'").fetchone()
    assert row is not None
    return Names(row[0].encode()).user


ODD: dict[str, tuple[bytes, bytes, str]] = {
    "an empty file": (b"", EXPOSURE, "runs.csv:1: the header lacks run, start, time_s"),
    "two empty files": (b"", b"\n", "runs.csv:1: the header lacks"),
    "bytes that are no text": (RUNS, bytes(range(128, 256)) * 40, "exposure.csv"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, EXPOSURE, "runs.csv"),
    "an archive": (b"PK\x03\x04" + bytes(60), EXPOSURE, "runs.csv: is a ZIP archive"),
    "gzip cut short": (gzip.compress(RUNS)[:200], EXPOSURE, "runs.csv: is damaged or incomplete"),
    "the same content twice": (RUNS, RUNS, "exposure.csv:1: the header lacks user, amount"),
    "the files the wrong way round": (EXPOSURE, RUNS, "runs.csv:1: the header lacks start, time_s"),
    "exposure of unknown runs": (RUNS, EXPOSURE + b"r999,u1,3\n", f"exposure.csv:{len(tables()[1]) + 2}: run 'r999' is not in runs.csv"),
    "a negative amount": (RUNS, b"run,user,amount\nr0,alice,-1\n", "exposure.csv:2: amount cannot be negative"),
    "a user twice": (RUNS, EXPOSURE + b"r0,alice,1\nr0,alice,1\n", "and this user are listed twice"),
    "a run without a start": (b"run,start,time_s\nr0,,3\n", EXPOSURE, "runs.csv:2: a run has no start"),
    "few runs": (
        text([RUN_COLUMNS, *tables()[0][:12]]),
        text([EXPOSURE_COLUMNS, *[row for row in tables()[1] if int(row[0][1:]) < 12]]),
        "cannot tell: not enough data: needs 20 runs, has 12",
    ),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_a_bad_file_fails_with_one_line_and_leaves_nothing(site: Site, odd: str) -> None:
    first, second, words = ODD[odd]
    failed = site.judge("una", "odd", first, second)
    assert isinstance(failed, FlitwatchError) and words in str(failed), failed
    assert "\n" not in str(failed) and "alice" not in str(failed) and "/proc" not in str(failed)
    assert site.held() == 0
    assert site.http["una"].get("/api/v1/estimates").json()["items"] == []


@pytest.mark.system("processes")
def test_files_go_with_their_task_however_it_ends_and_with_the_day(site: Site) -> None:
    assert isinstance(site.judge("una", "fine"), dict) and site.held() == 0
    begun = site.start("una", site.upload("una", RUNS), site.upload("una", EXPOSURE), "stopped").json()
    assert site.held() == 4
    assert site.http["una"].post(f"/api/v1/tasks/{begun['task_id']}/cancel").status_code == 202 and site.held() == 0
    site.upload("una", RUNS)
    with connect(site.url) as conn:
        conn.execute("UPDATE task_file SET created_at = now() - interval '25 hours'")
    kept = site.upload("una", b"x")
    maintain_database(site.url)
    with connect(site.url) as conn:
        assert conn.execute("SELECT file_id FROM task_file").fetchall() == [(kept,)]
    assert site.http["ugo"].delete(f"{FILES}/{kept}").status_code == 404
    assert site.http["una"].delete(f"{FILES}/{kept}").status_code == 204 and site.held() == 0


def test_only_who_uploaded_or_an_operator_may_use_a_file_once_and_as_two(site: Site) -> None:
    hers = [site.upload("una", RUNS), site.upload("una", EXPOSURE)]
    for who in ("ugo", "visitor"):
        refused = site.start(who, *hers, "theirs")
        assert refused.status_code == 404 and "no file" in refused.json()["detail"] and refused.json()["advice"]
        # As for a number that there never was.
        assert refused.json()["detail"].replace(f"{hers[0]} and {hers[1]}", "8 and 9") == site.start(who, 8_000, 9_000, "x").json()["detail"].replace("8000 and 9000", "8 and 9")  # fmt: skip
    assert site.start("una", hers[0], hers[0], "twice").status_code == 422
    assert site.start("una", hers[0], 9_999, "half").status_code == 404
    for wrong in (0, -1, 2**63, "1", None, 1.5):
        assert site.start("una", hers[0], wrong, "wrong").status_code == 422  # type: ignore[arg-type]
    for name in ("", " x", "a/b", "../etc", "a\nb", "x" * 201, "\u200b"):
        assert site.start("una", *hers, name).status_code == 422, name
    with connect(site.url) as conn:
        assert conn.execute("SELECT count(*) FROM task").fetchone() == (0,)
    assert site.start("otto", *hers, "by an operator").status_code == 202
    assert site.start("una", *hers, "again").status_code == 404


@pytest.mark.system("processes")
def test_the_name_of_a_recorded_application_is_refused(site: Site) -> None:
    with connect(site.url, role="writer") as conn:
        runs.upsert_run(
            conn, Run(run_key="r", exe="/home/eve/bin/amg", job_id="1", start_s=1e9, ranks=(0,), nodes=("n1",))
        )
    failed = site.judge("una", "amg")
    assert isinstance(failed, FlitwatchError) and "another name" in str(failed) and "eve" not in str(failed)


@pytest.mark.system("processes")
def test_a_full_upload_store_drops_the_largest_users_oldest_file(site: Site) -> None:
    """Four addresses took all places for a day before."""
    hosts = [f"127.0.0.{number}" for number in range(10, 24)]
    for host in hosts[:3]:
        statuses = [uploaded_from(site, host) for _ in range(files.WAITING_ADDRESS + 1)]
        assert statuses == [201] * files.WAITING_ADDRESS + [429]
    # All places are taken: the next host gets as many as the others are left with.
    assert [uploaded_from(site, hosts[3]) for _ in range(4)] == [201, 201, 201, 429]
    # Further hosts get a place as long as some host has more than one.
    assert [uploaded_from(site, host) for host in hosts[4:]] == [201] * 8 + [429] * 2
    assert site.held() == 2 * files.WAITING_VISITS
    assert site.upload("una", b"x")


def test_files_of_callers_without_a_login_are_deleted_after_an_hour(site: Site) -> None:
    with connect(site.url, role="owner", autocommit=True) as conn:
        for _ in range(2):
            kept = site.upload("una", b"x")
            assert uploaded_from(site, "127.0.0.10") == 201
            conn.execute("UPDATE task_file SET created_at = now() - interval '61 minutes'")
            # By whoever uploads next, and by maintenance.
            assert uploaded_from(site, "127.0.0.11") == 201
            assert conn.execute("SELECT count(*) FROM task_file WHERE created_by <> 'una'").fetchall() == [(1,)]
            conn.execute("UPDATE task_file SET created_at = now() - interval '61 minutes'")
            assert maintain_database(site.url)["dropped"]["task_file of visitors"] == 1
            assert conn.execute("SELECT max(file_id) FROM task_file").fetchall() == [(kept,)]


def uploaded_from(site: Site, address: str) -> int:
    """The status of an upload without a login from an address of this machine."""
    with httpx.Client(transport=httpx.HTTPTransport(local_address=address), base_url=site.http["una"].base_url) as one:
        return one.post(FILES, content=b"x").status_code


@pytest.mark.system("processes")
def test_too_many_files_and_too_long_ones_are_refused_with_advice(site: Site, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    waiting = [site.upload("una", b"x") for _ in range(files.WAITING_EACH)]
    refused = site.http["una"].post(FILES, content=b"x")
    assert (
        refused.status_code == 429
        and str(waiting[0]) in refused.json()["detail"]
        and "DELETE" in refused.json()["advice"]
    )
    assert int(refused.headers["Retry-After"]) > 0
    # Visits that bring no cookie are of one address.
    for _ in range(files.WAITING_ADDRESS):
        assert httpx.post(site.http["una"].base_url.join(FILES), content=b"x").status_code == 201
    assert httpx.post(site.http["una"].base_url.join(FILES), content=b"x").status_code == 429
    before = site.held()
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 3 * MAX_BODY_BYTES)
    for body in (bytes(4 * MAX_BODY_BYTES), iter([bytes(MAX_BODY_BYTES)] * 4)):
        long = site.http["ugo"].post(FILES, content=body)
        assert (
            long.status_code == 413
            and "MAX_FILE_BYTES" in long.json()["detail"]
            and "Compress" in long.json()["advice"]
        )
    # What says beforehand that it is too long is not even read.
    address = site.http["ugo"].base_url
    conn = http.client.HTTPConnection(address.host, address.port, timeout=20)
    conn.putrequest("POST", FILES)
    for header in (("Content-Length", str(65 << 20)), *site.http["ugo"].headers.items()):
        if header[0].lower() in ("content-length", "authorization"):
            conn.putheader(*header)
    conn.endheaders()
    declared = conn.getresponse()
    assert declared.status == 413 and "67,108,864" in declared.read().decode()
    conn.close()
    assert site.held() == before
    # Everywhere else the limit stays.
    assert site.http["ugo"].post("/api/v1/tasks", content=bytes(2 * MAX_BODY_BYTES)).status_code == 413


def test_a_large_file_comes_whole_in_pieces(site: Site) -> None:
    content = np.random.default_rng(0).bytes(5 * files.PIECE_BYTES + 17)
    number = site.upload("una", content)
    with connect(site.url, role="writer") as conn:
        files.claim_files(conn, task := tasks.start_task(conn, "demo.count", {}, created_by="una"), [number], "una")
        assert b"".join(files.read_pieces(conn, task, number)) == content


def test_a_user_who_is_erased_leaves_the_estimate_and_all_that_waits(site: Site) -> None:
    assert isinstance(site.judge("una", "kept"), dict)
    begun = site.start("una", site.upload("una", RUNS), site.upload("una", EXPOSURE), "late").json()
    with connect(site.url, role="owner", autocommit=True) as conn:
        found = erase_user(conn, "u0")
    assert found["estimate_entry"] == 1 and found["task_file"] == 2 and site.held() == 0
    answer = blame(site, "una", exe="kept")
    assert answer["total"] == USERS - 1 and "u0" not in {entry["name"] for entry in answer["entries"]}
    assert '"u0"' not in json.dumps(answer)
    gone = site.work(begun["task_id"])
    assert isinstance(gone, FlitwatchError) and "Upload it again" in str(gone)
    with connect(site.url, role="owner", autocommit=True) as conn:
        erase_user(conn, "una")
        assert conn.execute("SELECT count(*) FROM estimate WHERE created_by IS NOT NULL").fetchone() == (0,)
        assert conn.execute("SELECT count(*) FROM estimate").fetchone() == (1,)


@pytest.mark.shared
@pytest.mark.integration
@pytest.mark.system("numeric")
def test_a_worker_judges_the_measured_runs_as_the_command_does(site: Site, shared: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    folder = shared / "data" / "variability"
    paths = [folder / f"perlmutter_milc_{part}.csv" for part in ("runs", "exposure")]
    first, second = (site.upload("otto", path.read_bytes()) for path in paths)
    task = site.start("otto", first, second, "milc, measured").json()["task_id"]
    bad = site.start("otto", site.upload("otto", b"\0" * 99), site.upload("otto", b"x"), "bad").json()["task_id"]
    main(["blame", "--runs", str(paths[0]), "--exposure", str(paths[1]), "--shuffles", "5", "--json"])
    said = json.loads(capfd.readouterr().out)
    with worker(site.url):

        def tasks() -> dict[int, dict]:
            rows = [site.http["otto"].get(f"/api/v1/tasks/{number}").json() for number in (task, bad)]
            return {row["task_id"]: row for row in rows}

        def all_ended() -> bool:
            return all(row["state"] in ("succeeded", "failed") for row in tasks().values())

        eventually(all_ended, 240, 0.2, what="both tasks to end", detail=tasks)
        ended = tasks()
    assert ended[task]["state"] == "succeeded", ended[task]["error"]
    assert ended[bad]["state"] == "failed" and ended[bad]["error"]["message"].startswith("runs.csv")
    assert site.held() == 0
    answers = [blame(site, "otto", exe="milc, measured")]
    while answers[-1]["next_cursor"]:
        answers.append(blame(site, "otto", exe="milc, measured", cursor=answers[-1]["next_cursor"]))
    kept = {entry["name"]: entry for answer in answers for entry in answer["entries"]}
    keys = ("verdict", "q", "p", "score", "effect_s", "exposed_runs", "lost_node_hours")
    assert {name: [entry[key] for key in keys] for name, entry in kept.items()} == {
        user["user"]: [user[key] for key in keys] for user in said["users"]
    }
    assert len(kept) > 1_000 and answers[0]["calibration"] == said["calibration"]
