"""Holes that peers of this platform had to fix (docs/benchmarks/holes.md), those that no other test closes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from api.conftest import Served, serving
from api.world import World, seed
from flitwatch.main import cli
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.archive import restore_archive, write_archive
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job


def signed(algorithm: str, key: bytes) -> str:
    """A JSON web token of an admin: `none`, or HMAC with a key."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    head = part(json.dumps({"alg": algorithm, "typ": "JWT"}).encode())
    body = part(json.dumps({"sub": "admin", "role": "admin", "scopes": ["admin"], "exp": 1 << 40}).encode())
    seal = b"" if algorithm == "none" else hmac.new(key, f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{part(seal)}"


def test_nothing_signed_by_an_empty_key_is_believed(world: World) -> None:
    empty = hashlib.sha256(b"").hexdigest()
    secrets = [
        "",
        " ",
        "null",
        "undefined",
        "0",
        empty,
        signed("none", b""),
        signed("HS256", b""),
        signed("HS256", b"secret"),
    ]
    with serving(Settings(db=world.url, web=None, api_anonymous="none")) as served:
        for secret in secrets:
            assert (
                served.http.get("/api/v1/jobs", headers={"Authorization": f"Bearer {secret}".strip()}).status_code
                == 401
            ), secret
            for cookie in ("flitwatch-session", "__Host-flitwatch-session"):
                answer = served.http.get("/api/v1/jobs", headers={"Cookie": f"{cookie}={secret}".strip()})
                assert answer.status_code == 401, secret
            login = served.http.post("/api/v1/session", json={"name": "admin", "password": secret})
            assert login.status_code in (400, 401, 422), secret


@pytest.mark.parametrize("key", ['""', "null", None])
def test_without_a_key_no_pseudonym_is_shown(embedded_db: str, key: str | None) -> None:
    seed(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        if key is None:
            conn.execute("DELETE FROM setting WHERE key = 'pseudonym_key'")
        else:
            conn.execute("UPDATE setting SET value = %s::jsonb WHERE key = 'pseudonym_key'", [key])
    with serving(Settings(db=embedded_db, web=None)) as served:
        answer = served.http.get("/api/v1/jobs")
        assert answer.status_code == 503 and "key for pseudonyms" in answer.json()["detail"]
        for path in ("/api/v1/jobs/100", "/api/v1/search?q=amg"):
            assert served.http.get(path).status_code == 503 and "user-" not in served.http.get(path).text


def test_sql_in_the_names_of_counters_is_refused(api: Served) -> None:
    for name in (
        'rt_flits"; DROP TABLE job; --',
        "rt_flits) FROM router_1s; DELETE FROM job; --",
        "ratio' OR '1'='1",
        "pg_sleep(9)",
        "*",
        "user_name",
    ):
        for path in ("/fabrics/small/timeseries", "/fabrics/small/stalls", "/fabrics/small/frames"):
            answer = api.http.get(
                f"/api/v1{path}",
                params={"routers": "1", "counters": name, "metric": name, "at": 1, "from": 0, "to": 60},
            )
            assert answer.status_code < 500, (path, name, answer.text)
        assert api.http.get(
            "/api/v1/fabrics/small/timeseries", params={"routers": "1", "counters": name, "from": 0, "to": 60}
        ).status_code in (400, 404, 422)
    assert api.get("/jobs")["items"]


def test_names_with_a_path_write_no_file_elsewhere(
    embedded_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"cluster": "../../up", "job_id": "7", "user": "../u", "name": "/etc/cron.d/x"}
    with connect(embedded_db, role="writer") as conn:
        with pytest.raises(BadInput, match="is not a Slurm job id"):
            jobs.upsert_jobs(conn, [Job(cluster="c", job_id="../../../etc/passwd", state="COMPLETED")])
        jobs.upsert_jobs(conn, [Job(state="COMPLETED", start_s=1e9, end_s=2e9, nodes=1, node_list="", **names)])
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    made = CliRunner().invoke(cli, ["db", "evidence", names["job_id"], "--db", embedded_db, "--json"])
    assert made.exit_code == 0, made.output
    (file,) = inner.iterdir()
    assert zipfile.is_zipfile(file) and [p.name for p in tmp_path.iterdir()] == ["a"]
    write_archive(embedded_db, inner / "archive", jobs=[names["job_id"]])
    assert sorted(p.name for p in inner.iterdir()) == sorted([file.name, "archive"])
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["b"]
    (jobs_file,) = (inner / "archive").glob("*/*/job.parquet")
    assert pq.read_table(jobs_file).to_pylist()[0]["cluster"] == names["cluster"]
    with connect(embedded_db, role="owner") as conn:
        conn.execute("DELETE FROM job")
    assert restore_archive(embedded_db, inner / "archive")["jobs"] == 1
