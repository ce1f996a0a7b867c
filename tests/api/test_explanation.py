"""GET jobs/{id}/explanation over a served API: shapes, names, and odd worlds where nothing may be claimed."""

from __future__ import annotations

import subprocess
import sys

import orjson
import pytest
from fixtures.databases import Server

from api.conftest import Served, bearer, serving
from api.world import T0, seed
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people


@pytest.mark.parametrize("job", ["100", "101", "102", "103", "104", "105_7"])
def test_nobody_is_named_where_nothing_shows_it(api: Served, job: str) -> None:
    """Random counters, jobs that come and go, runs of a few steps: no slowness is shown, so nobody is named."""
    made = api.get(f"/jobs/{job}/explanation", cluster="c1")
    assert made["verdict"] in ("cannot tell", "not slow") and made["named"] is None
    assert bool(made["reasons"]) == (made["verdict"] == "cannot tell")
    assert made["remedies"] == [] and made["title"] and made["detail"]


def test_a_job_that_is_not_there(api: Served) -> None:
    assert "no job" in api.refused("/jobs/999/explanation", 404)["detail"]
    assert "of cluster" in api.refused("/jobs/100/explanation", 404, cluster="c9")["detail"]


def test_which_of_two_clusters(api: Served) -> None:
    assert api.get("/jobs/100/explanation", cluster="c2")["cluster"] == "c2"


@pytest.fixture(scope="module")
def private(_embedded_template: Server):
    url = _embedded_template.create()
    seed(url)
    # A run of job 101 whose last steps take twice as long, and three runs before it.
    with connect(url, role="writer") as conn:
        for number in range(4):
            own = number == 3
            row = conn.execute(
                "INSERT INTO run (run_key, job_pk, job_id, exe, start_ts, ranks, simulated) SELECT %s, CASE WHEN %s THEN job_pk END, %s, 'milc',"
                " to_timestamp(%s), 6, true FROM job WHERE job_id = '101' RETURNING run_id",
                [f"milc-{number}", own, "101" if own else None, T0 + 50 - 1000 * (3 - number)],
            ).fetchone()
            assert row is not None
            for step in range(14):
                slow = 2.0 if own and step >= 6 else 1.0
                conn.execute("INSERT INTO run_step (run_id, step, time_s, rank_time_ns) VALUES (%s, %s, %s, '{}')", [row[0], step, slow * (8 + 0.01 * number)])  # fmt: skip
    with serving(Settings(db=url)) as served:
        yield served, url
    _embedded_template.drop(url)


def test_names_are_pseudonyms_below_their_scope(private: tuple[Served, str]) -> None:
    served, url = private
    with connect(url, role="gate", autocommit=True) as conn:
        people.add(conn, "otto", "operator")
        token = people.add_token(conn, "otto", "names", ["read", "names"])[1]
    hidden = served.get("/jobs/101/explanation")
    seen = served.http.get("/api/v1/jobs/101/explanation", headers=bearer(token)).json()
    assert hidden["user"].startswith("user-") and seen["user"] == "bob"
    assert {one["user"] for one in seen["candidates"]} == {"ann", "eve"}
    assert all(one["user"].startswith("user-") for one in hidden["candidates"])
    assert not {"bob", "ann", "eve"} & set(str(hidden).split("'"))


def test_the_slowness_is_found_and_told_the_same_everywhere(private: tuple[Served, str], tmp_path) -> None:
    served, url = private
    made = served.get("/jobs/101/explanation")
    assert made["slowdown"]["factor"] == pytest.approx(2.0, rel=0.02) and made["slowdown"]["first_step"] == 6
    for where in (["--url", served.url], ["--db", url]):
        done = subprocess.run([sys.executable, "-m", "flitwatch.main", "job", "101", "--json", *where], capture_output=True, check=True, timeout=60)  # fmt: skip
        told = orjson.loads(done.stdout)
        assert {name: told[name] for name in ("verdict", "title", "detail", "reasons", "named")} == {
            name: made[name] for name in ("verdict", "title", "detail", "reasons", "named")
        }
    text = subprocess.run([sys.executable, "-m", "flitwatch.main", "job", "101", "--url", served.url], capture_output=True, check=True, text=True, timeout=60)  # fmt: skip
    assert made["title"] in text.stdout


def test_the_answer_of_a_moment_knows_nothing_that_came_later(private: tuple[Served, str]) -> None:
    """The steps are slow from the sixth on, 48 s after the run's start: an answer from before it sees no slowness."""
    served, _ = private
    early = served.get("/jobs/101/explanation", at=T0 + 50 + 40)
    assert early["state"] == "RUNNING" and early["end"] is None and early["slowdown"] is None
    assert all(
        one["start"] <= early["as_of"] and (one["end"] is None or one["end"] <= early["as_of"])
        for one in early["candidates"]
    )
    late = served.get("/jobs/101/explanation", at=T0 + 50 + 150)
    assert late["slowdown"]["first_step"] == 6 and late["slowdown"]["last_step"] < 13
    assert "had not started" in served.refused("/jobs/101/explanation", 400, at=T0 - 5000)["detail"]
