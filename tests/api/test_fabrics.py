"""Stored fabrics; entity tags; addresses by name and number."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from ingest.writing import drain_log

from api.conftest import Served, bearer, serving
from api.database import SECONDS, T0, THROUGH, SampleDatabase, seed
from flitwatch.command_line import cli
from flitwatch_api.app import create_app
from flitwatch_api.openapi import render_description
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.archive import restore_archive, write_archive
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadInput
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_ingest.writer import WriterSettings
from ingest import odd


def test_the_list_says_how_far_data_reach(api: Served, database: SampleDatabase) -> None:
    items = {item["name"]: item for item in api.get("/fabrics")["items"]}
    assert set(items) == {"small", "still", "tree"}
    small = items["small"]
    assert (small["routers"], small["endpoints"], small["links"], small["groups"]) == (32, 64, 280, [0, 1, 2, 3])
    assert datetime.fromisoformat(small["first_ts"]).timestamp() == T0
    assert datetime.fromisoformat(small["last_ts"]).timestamp() == T0 + SECONDS
    assert datetime.fromisoformat(small["complete_through"]).timestamp() == THROUGH
    assert items["still"]["snapshot"] and items["still"]["last_ts"] is None


def test_a_fabric_is_found_by_number_and_by_name(api: Served, database: SampleDatabase) -> None:
    assert api.get(f"/fabrics/{database.small_id}") == api.get("/fabrics/small")
    problem = api.refused("/fabrics/nowhere", 404)
    assert "small" in problem["advice"]


def test_routers_are_those_of_the_model(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/routers")
    assert got["name"] == list(database.small.routers.name)
    assert got["group"] == database.small.routers.group.tolist()
    assert got["nodes"] == [2] * 32
    assert got["sampled"] == [True] * 30 + [False] * 2
    assert api.get("/fabrics/still/routers")["sampled"] == [True] * 16 + [False] * 16


def test_links_lead_between_routers_unless_terminals_are_asked_for(api: Served, database: SampleDatabase) -> None:
    links, size = database.small.links, 32
    mask = database.small.router_links()
    got = api.get("/fabrics/small/links")
    assert got["link"] == np.flatnonzero(mask).tolist()
    assert got["src"] == links.src[mask].tolist() and got["dst_port"] == links.dst_port[mask].tolist()
    blue = api.get("/fabrics/small/links", **{"class": "blue", "group": 2})
    group = database.small.routers.group
    want = mask & database.small.of_class("blue") & ((group[links.src % size] == 2) | (group[links.dst % size] == 2))
    assert blue["link"] == np.flatnonzero(want).tolist() and set(blue["class"]) == {"blue"}
    all_links = api.get("/fabrics/small/links", terminals="true")
    assert len(all_links["link"]) == len(links)
    terminal = all_links["class"].index("terminal")
    ends = {all_links["src_endpoint"][terminal], all_links["dst_endpoint"][terminal]}
    assert None in ends and len(ends) == 2


def test_an_unknown_class_or_group_says_what_there_is(api: Served) -> None:
    assert "blue" in api.refused("/fabrics/small/links", 400, **{"class": "red"})["advice"]
    assert "0, 1, 2, 3" in api.refused("/fabrics/small/links", 404, group=9)["advice"]


def test_endpoints(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/endpoints")
    assert got["node"] == list(database.small.endpoints.node)
    assert got["router"] == database.small.endpoints.router.tolist()


def test_a_copy_that_is_current_is_not_sent_again(api: Served) -> None:
    for what in ("routers", "links", "endpoints"):
        first = api.http.get(f"/api/v1/fabrics/small/{what}")
        tag = first.headers["etag"]
        again = api.http.get(f"/api/v1/fabrics/small/{what}", headers={"If-None-Match": f'"other", {tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        other = api.http.get(f"/api/v1/fabrics/small/{what}", headers={"If-None-Match": '"other"'})
        assert other.status_code == 200 and other.content == first.content


def test_big_answers_are_compressed_on_request(api: Served) -> None:
    plain = api.http.get("/api/v1/fabrics/small/links", headers={"Accept-Encoding": "identity"})
    packed = api.http.get("/api/v1/fabrics/small/links", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
    assert packed.json() == plain.json()


def test_a_router_has_its_tiles_with_their_sums(api: Served, database: SampleDatabase) -> None:
    at = T0 + 110
    got = api.get("/fabrics/small/routers/6", at=at, window="60s")
    assert got["name"] == database.small.routers.name[6] and len(got["nodes"]) == 2
    start = (T0 + 50 - T0 // 10 * 10) // 10
    flits, stalls = (
        database.port_flits[start : start + 6, 6].sum(axis=0),
        database.port_stalls[start : start + 6, 6].sum(axis=0),
    )
    assert len(got["tiles"]) == 48
    table = database.small.counted_links()[6]
    for tile in got["tiles"]:
        port = tile["port"]
        assert tile["name"] == f"{port // 8}_{port % 8}"
        if table[port] < 0:
            assert (tile["link"], tile["class"], tile["peer"], tile["flits"]) == (None, None, None, None)
        else:
            assert tile["link"] == table[port]
            assert (tile["flits"], tile["stall_cycles"]) == (flits[port], stalls[port])
            assert np.isclose(tile["ratio"], stalls[port] / flits[port], rtol=1e-4)
            src = database.small.links.src[table[port]]
            assert (
                (tile["peer"]["router"] == src)
                if src < 32
                else (tile["peer"]["node"] == database.small.endpoints.node[src - 32])
            )


def test_a_router_names_the_jobs_on_it(api: Served, database: SampleDatabase) -> None:
    at_100 = api.get("/fabrics/small/routers/3", at=T0 + 99)["jobs"]
    assert {job["job_id"] for job in at_100} == {"100", "101"}
    assert {job["job_id"] for job in api.get("/fabrics/small/routers/3", at=T0 + 20)["jobs"]} == {"100"}
    assert "0 to 31" in api.refused("/fabrics/small/routers/32", 404)["advice"]


def test_a_switch_shows_its_cabled_ports(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/tree/routers/0", at=T0 + 110)
    assert [tile["port"] for tile in got["tiles"]] == np.flatnonzero(database.tree.counted_links()[0] >= 0).tolist()


# Holes that peers of this platform had to fix (docs/benchmarks/holes.md), those that no other test closes.


def signed(algorithm: str, key: bytes) -> str:
    """A JSON web token of an admin: `none`, or HMAC with a key."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    head = part(json.dumps({"alg": algorithm, "typ": "JWT"}).encode())
    body = part(json.dumps({"sub": "admin", "role": "admin", "scopes": ["admin"], "exp": 1 << 40}).encode())
    seal = b"" if algorithm == "none" else hmac.new(key, f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{part(seal)}"


@pytest.mark.system("processes")
def test_nothing_signed_by_an_empty_key_is_believed(database: SampleDatabase) -> None:
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
    with serving(Settings(db=database.url, web=None, api_anonymous="none")) as served:
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


# The API over a database full of records that nobody would send: every page of data answers, whoever asks.


#: Where the identities that fill a path stand in the answers of lists.
IDENTITIES = (
    "job_pk",
    "run_id",
    "job_id",
    "user",
    "exe",
    "application",
    "name",
    "node",
    "router",
    "cluster",
    "schema_id",
    "dead_letter_id",
)


@pytest.fixture(
    params=["viewer", *(pytest.param(who, marks=pytest.mark.system("processes")) for who in ("operator", "names"))]
)
def asking(request: pytest.FixtureRequest, embedded_db: str, topic: str) -> Iterator[tuple[Served, dict[str, str]]]:
    rng = random.Random(7)
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, build_dragonfly(1, 2, 4, name="odd"))
    odd.publish(embedded_db, odd.records(rng, topic), rng)
    drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=f"^ldms\\..*{topic}$"), limit_s=120)
    headers: dict[str, str] = {}
    if request.param == "names":
        with connect(embedded_db, role="gate", autocommit=True) as conn:
            people.add_account(conn, "ada", "admin")
            scopes = ["read", "names", "operate", "tasks", "advice", "admin"]
            headers = bearer(people.add_token(conn, "ada", "test", scopes)[1])
    anonymous = "operator" if request.param == "operator" else "viewer"
    with serving(Settings(db=embedded_db, web=None, api_anonymous=anonymous)) as served:
        yield served, headers


def found_in(answer: Any, into: dict[str, set[Any]]) -> None:
    """Collect identities from an answer."""
    if isinstance(answer, list):
        for one in answer:
            found_in(one, into)
    elif isinstance(answer, dict):
        for key, value in answer.items():
            if key in IDENTITIES and isinstance(value, str | int):
                into.setdefault(key, set()).add(value)
            found_in(value, into)


@pytest.mark.system("processes")
@pytest.mark.integration
def test_every_read_answers_over_odd_records(asking: tuple[Served, dict[str, str]]) -> None:
    served, headers = asking
    described = json.loads(render_description(create_app(Settings(web=None))))
    paths = [path for path, methods in described["paths"].items() if "get" in methods and not path.endswith("/events")]
    known: dict[str, set[Any]] = {"fabric": {"odd"}}
    failed: dict[str, str] = {}
    asked = 0

    def ask(path: str) -> None:
        nonlocal asked
        asked += 1
        answer = served.http.get(path, headers=headers)
        if answer.status_code >= 500 and answer.status_code != 503:
            failed[path] = answer.text[:300]
        elif answer.headers.get("content-type", "").startswith("application/json"):
            found_in(answer.json(), known)

    for path in sorted(paths, key=lambda path: path.count("{")):
        if "{" not in path:
            ask(path)
            ask(f"{path}?limit=500")
            continue
        names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
        if len(names) == 1:
            for value in sorted(known.get(names[0], {1}), key=str)[:40]:
                ask(path.replace(f"{{{names[0]}}}", str(value)))
    for query in (
        "search?q=odd",
        "search?q=%E4%B8%80",
        "fabrics/odd/timeseries?routers=0,1",
        "jobs?user=u",
        "ingest/dead-letters?limit=500",
    ):
        ask(f"/api/v1/{query}")
    assert failed == {} and asked > 100
