"""GET jobs/{id}/explanation over a served API: shapes, names, and odd databases without any valid claim."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime
from html import escape

import numpy as np
import orjson
import pytest
from support.databases import Server

from api.conftest import Served, bearer, serving
from api.database import T0, seed
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs.parts import unit_of
from flitwatch_db.people import accounts as people
from flitwatch_slurm.job_mail import Order, compose_mail


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


STEP_S = 8.0


def _run_of_101(url: str, factors: list[float]) -> None:
    """A run of job 101 whose steps take so many times as long as those of the three runs before it."""
    with connect(url, role="writer") as conn:
        for number in range(4):
            own = number == 3
            row = conn.execute(
                "INSERT INTO run (run_key, job_pk, job_id, exe, start_ts, ranks, simulated) SELECT %s, CASE WHEN %s THEN job_pk END, %s, 'milc',"
                " to_timestamp(%s), 6, true FROM job WHERE job_id = '101' RETURNING run_id",
                [f"milc-{number}", own, "101" if own else None, T0 + 50 - 1000 * (3 - number)],
            ).fetchone()
            assert row is not None
            for step, factor in enumerate(factors):
                conn.execute(
                    "INSERT INTO run_step (run_id, step, time_s, rank_time_ns) VALUES (%s, %s, %s, '{}')",
                    [row[0], step, (factor if own else 1.0) * (STEP_S + 0.01 * number)],
                )


@pytest.fixture(scope="module")
def private(_embedded_template: Server):
    url = _embedded_template.create()
    seed(url)
    # A run of job 101 whose last steps take twice as long, and three runs before it.
    _run_of_101(url, [1.0] * 6 + [2.0] * 8)
    with serving(Settings(db=url)) as served:
        yield served, url
    _embedded_template.drop(url)


def test_a_long_job_is_slow_where_no_fabric_knows_its_nodes(private: tuple[Served, str]) -> None:
    """Its like took 100 s, it took 450 s: that is slow, and since its place is unknown nobody can say why."""
    served, url = private
    with connect(url, role="writer") as conn:
        for number, seconds in enumerate((98, 100, 102, 101, 450, 99)):
            conn.execute(
                "INSERT INTO job (cluster, job_id, restart, user_name, name, state, nodes, start_ts, end_ts, simulated)"
                " VALUES ('c7', %s, 0, 'zoe', 'cp2k', 'COMPLETED', 4, to_timestamp(%s), to_timestamp(%s), false)",
                [str(700 + number), T0 - 9000 + 1000 * number, T0 - 9000 + 1000 * number + seconds],
            )
    long, usual = (served.get(f"/jobs/{job}/explanation", cluster="c7") for job in ("704", "705"))
    assert long["verdict"] == "cannot tell" and long["slowdown"]["factor"] == pytest.approx(450 / 100.5)
    assert "its nodes on a fabric with counters are unknown" in long["reasons"]
    assert {one["part"]: one["text"] for one in long["chain"]}[
        "since"
    ] == "It records no steps, and its counters show no onset."
    assert usual["verdict"] == "not slow"


def test_names_are_pseudonyms_below_their_scope(private: tuple[Served, str]) -> None:
    served, url = private
    with connect(url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator")
        token = people.add_token(conn, "otto", "names", ["read", "names"])[1]
    hidden = served.get("/jobs/101/explanation")
    seen = served.http.get("/api/v1/jobs/101/explanation", headers=bearer(token)).json()
    assert hidden["user"].startswith("user-") and seen["user"] == "bob"
    assert {one["user"] for one in seen["candidates"]} == {"ann", "eve"}
    assert all(one["user"].startswith("user-") for one in hidden["candidates"])
    assert not {"bob", "ann", "eve"} & set(str(hidden).split("'"))


def test_an_incident_of_a_machine_shows_its_jobs_as_the_caller_may_see_them(private: tuple[Served, str]) -> None:
    """Job 101 is slow while it runs and nobody can be named for it: said so, with the job; names as everywhere."""
    served, url = private
    made = served.get("/incident", fabric="small", at=T0 + 50 + 150)
    assert (made["verdict"], made["aggressor"], made["victims"]) == ("cannot tell", None, []) and made["reasons"]
    assert [one["job_id"] for one in made["others"]] == ["101"] and made["judged"]["slow"] == 1
    assert made["others"][0]["user"].startswith("user-") and "1 job is slow" in made["title"]
    with connect(url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "olga", "operator")
        token = people.add_token(conn, "olga", "names", ["read", "names"])[1]
    seen = served.http.get(
        "/api/v1/incident", params={"fabric": "small", "at": T0 + 50 + 150}, headers=bearer(token)
    ).json()
    assert seen["others"][0]["user"] == "bob"


@pytest.mark.system("numeric")
def test_one_step_near_usual_does_not_end_what_home_shows(_embedded_template: Server) -> None:
    """Job 101 is slow from step 6 to step 12 but for step 9: one unbroken stretch at every moment, over three steps after it ended."""
    url = _embedded_template.create()
    seed(url)
    factors = [1.0] * 6 + [2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 2.0] + [1.0] * 5
    _run_of_101(url, factors)
    ends = T0 + 50 + np.cumsum(np.array(factors) * (STEP_S + 0.03))
    with serving(Settings(db=url)) as served:
        shown = [served.get("/incident", fabric="small", at=end + 0.5) for end in ends]
        over = served.get("/jobs/101/explanation", at=ends[15] + 0.5)["slowdown"]
        open_still = served.get("/jobs/101/explanation", at=ends[14] + 0.5)["slowdown"]
    _embedded_template.drop(url)
    # Two steps twice as long are slow, and three usual ones in a row are its end.
    assert [one["judged"]["slow"] for one in shown] == [0] * 7 + [1] * 8 + [0] * 3
    assert [len(one["others"]) for one in shown] == [0] * 7 + [1] * 8 + [0] * 3
    assert len({one["since"] for one in shown[7:15]}) == 1
    assert open_still["until"] is None and open_still["since"] == over["since"]
    assert datetime.fromisoformat(over["until"]).timestamp() == pytest.approx(ends[12], abs=0.01)


def test_a_machine_where_no_job_can_be_judged_says_so(api: Served) -> None:
    made = api.get("/incident", fabric="small")
    assert made["verdict"] in ("cannot tell", "none") and made["aggressor"] is None and made["last"] is None
    assert bool(made["reasons"]) == (made["verdict"] == "cannot tell")
    assert "there is no fabric" in api.refused("/incident", 404, fabric="nope")["detail"]


@pytest.mark.system("processes")
def test_the_slowness_is_found_and_reported_the_same_everywhere(private: tuple[Served, str], tmp_path) -> None:
    served, url = private
    made = served.get("/jobs/101/explanation")
    assert made["slowdown"]["factor"] == pytest.approx(2.0, rel=0.02) and made["slowdown"]["first_step"] == 6
    for where in (["--url", served.url], ["--db", url]):
        done = subprocess.run(
            [sys.executable, "-m", "flitwatch.main", "job", "101", "--json", *where],
            capture_output=True,
            check=True,
            timeout=60,
        )
        output = orjson.loads(done.stdout)
        assert {name: output[name] for name in ("verdict", "title", "detail", "reasons", "named")} == {
            name: made[name] for name in ("verdict", "title", "detail", "reasons", "named")
        }
    text = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", "job", "101", "--url", served.url],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert made["title"] in text.stdout


def test_the_evidence_is_one_page_that_loads_nothing(private: tuple[Served, str], tmp_path) -> None:
    """The explanation's sentences, pictures of the steps, limits; no names below scope `names`; by the command line too."""
    served, url = private
    made = served.get("/jobs/101/explanation")
    answered = served.http.get("/api/v1/jobs/101/case")
    page = answered.text
    assert answered.status_code == 200 and "default-src 'none'" in answered.headers["content-security-policy"]
    assert made["chain"]
    for one in made["chain"]:
        assert escape(one["text"]) in page
    assert "<svg" in page and "What this does not prove" in page and "/jobs/101/case" in page
    assert not re.search(r"<script|<link|<img|src=|url\(", page)
    with connect(url, role="reader") as conn:
        row = conn.execute("SELECT user_name FROM job WHERE job_id = '101'").fetchone()
    assert row is not None and row[0] not in page
    out = tmp_path / "case.html"
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", "job", "101", "--db", url, "--evidence", str(out), "--json"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert orjson.loads(done.stdout) == {"file": str(out)} and row[0] in out.read_text()


def test_the_evidence_over_rest_holds_no_name(private: tuple[Served, str], tmp_path, capsys) -> None:
    from flitwatch.main import main

    served, url = private
    out = tmp_path / "case.html"
    main(["job", "101", "--url", served.url, "--evidence", str(out), "--json"])
    assert orjson.loads(capsys.readouterr().out) == {"file": str(out)}
    with connect(url, role="reader") as conn:
        row = conn.execute("SELECT user_name FROM job WHERE job_id = '101'").fetchone()
    assert row is not None and row[0] not in out.read_text() and out.stat().st_mode & 0o777 == 0o600


def test_counters_of_a_jobs_own_parts(private: tuple[Served, str]) -> None:
    """The same figures as the series of its routers, with units of the catalogue; what nothing counts is left out."""
    served, _ = private
    job = served.get("/jobs/100", cluster="c1")
    made = served.get("/jobs/100/counters", cluster="c1", **{"from": T0, "to": T0 + 100})
    held = {one["key"]: one for one in made["parts"]}
    assert made["step_s"] == 10 and "blue" in held and held["blue"]["unit"] == "cycles / flit"
    assert not [key for key in held if key.startswith("nic")]
    span = {"from": T0, "to": T0 + 100, "points": 10, "sum": True}
    routers = ",".join(map(str, job["routers"]))
    series = served.get(
        f"/fabrics/{job['fabric_id']}/timeseries", routers=routers, counters="blue_flits,blue_stall_cycles", **span
    )
    assert series["step_s"] == 10 and series["ts"] == made["ts"]
    flits, stalls = (series["values"][name][0] for name in ("blue_flits", "blue_stall_cycles"))
    for value, below, above in zip(held["blue"]["values"], flits, stalls, strict=True):
        assert value == (pytest.approx(above / below, rel=1e-5) if below else None)
    assert (
        "before it starts"
        in served.refused("/jobs/100/counters", 400, cluster="c1", **{"from": T0, "to": T0 - 1})["detail"]
    )


def test_the_unit_of_latency_is_the_catalogues() -> None:
    """Aries counts microseconds (AR_NIC_ORB_PRF_NET_RSP_TRACK_2), not cycles."""
    assert unit_of("latency_us_sum", "rq_packets") == "µs / request"
    assert unit_of("rq_stall_cycles", "rq_flits") == unit_of("blue_stall_cycles", "blue_flits") == "cycles / flit"


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


def test_the_mail_of_a_slow_job_has_its_picture_and_that_of_another_has_none(private: tuple[Served, str]) -> None:
    """What `flitwatch mail` makes of the API's own answers."""
    served, _ = private
    for job, pictures in (("101", 1), ("100", 0)):
        order = Order(f"Slurm Job_id={job} Ended", "ann@site.example", job, "c1")
        made = served.get(f"/jobs/{job}/explanation", cluster="c1")
        mail = compose_mail(order, made, f"{served.url}/jobs/{job}", "slurm")
        assert sum(part.get_content_type() == "image/png" for part in mail.walk()) == pictures
        text = mail.get_body(("plain",)).get_content()
        assert made["title"] in text and ("Time lost" in text) == bool(pictures)
