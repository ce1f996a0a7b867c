"""Four planted incidents: REST, the command line, the alert and the exported evidence agree on each, and are right.

The aggressor starts while its victim runs, continues after the victim's end, or starts before the victim. In the fourth case, only minutes remain.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.databases import Server
from support.planted_cases import CASES, CULPRIT_END_S, CULPRIT_S, Case, plant_case
from support.planted_machine import BEGIN_S

from api.conftest import Served, serving
from flitwatch.command_line import cli
from flitwatch_alerting.config import read_config
from flitwatch_alerting.evaluate import dry_run
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import evidence


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def planted_case(request: pytest.FixtureRequest, _embedded_template: Server) -> Iterator[tuple[Served, str, Case]]:
    case = request.param
    url = _embedded_template.create()
    plant_case(url, case)
    with serving(Settings(db=url)) as served:
        yield served, url, case
    _embedded_template.drop(url)


def test_rest_names_the_planted_job_on_home_its_own_page_its_victims_and_the_incidents(
    planted_case: tuple[Served, str, Case],
) -> None:
    served, _, case = planted_case
    at = BEGIN_S + case.asked_s
    (head,) = served.get("/incidents")["items"]
    assert [cause["job_id"] for cause in head["causes"]] == ["2"] and head["slowed"] == 1
    assert head["state"] == ("over" if case.over else "open")
    made = served.get("/jobs/1/explanation", at=at)
    assert (made["verdict"], made["named"], made["incident_id"]) == ("named", "2", head["incident_id"])
    assert served.get("/jobs/2/explanation", at=at)["slowed"]["incidents"] == [head["incident_id"]]
    for other in ("3", "4"):
        assert served.get(f"/jobs/{other}/explanation", at=at)["slowed"] is None
    home = served.get("/incident", fabric=head["fabric"], at=at)
    if case.over:
        assert home["verdict"] != "incident"
        home = served.get("/incident", fabric=head["fabric"], at=BEGIN_S + CULPRIT_END_S + 600)["last"]
    else:
        assert home["verdict"] == "incident"
    assert (home["incident_id"], home["aggressor"]["job_id"]) == (head["incident_id"], "2")
    assert all(re.match(r"Job 2 (has been slowing|slowed) ", summary["title"]) for summary in (home, head))


def test_home_and_the_jobs_pages_agree_at_every_moment(planted_case: tuple[Served, str, Case]) -> None:
    """Whom home names the slow jobs name, whom a slow job names home names, and nobody is there who does not run."""
    served, _, case = planted_case
    (machine,) = served.get("/fabrics")["items"]
    rng = np.random.default_rng(5)
    for second in np.sort(rng.uniform(case.start_s + 20, min(case.asked_s, 1000), 12)).tolist():
        at = BEGIN_S + second
        home = served.get("/incident", fabric=machine["name"], at=at)
        running = {job["job_id"] for job in served.get(f"/fabrics/{machine['name']}/occupancy", at=at)["jobs"]}
        pages = {job: served.get(f"/jobs/{job}/explanation", at=at) for job in sorted(running)}
        slow_now = {
            job for job, page in pages.items() if page["slowdown"] is not None and page["slowdown"]["until"] is None
        }
        named_now = {pages[job]["named"] for job in slow_now if pages[job]["named"] is not None}
        if named_now:
            assert home["verdict"] == "incident" and home["aggressor"]["job_id"] in named_now, (second, home["title"])
        if home["verdict"] == "incident":
            who = home["aggressor"]["job_id"]
            assert who == "2" and who in running, (second, home["title"])
            # Whom it slows names it, or is not slow for long enough; its page leads to the same incident.
            for victim in home["victims"]:
                page = served.get(f"/jobs/{victim['job_id']}/explanation", at=at)
                assert page["named"] in (who, None) and page["incident_id"] == home["incident_id"]
        assert {one["job_id"] for one in home["others"]} <= slow_now


def test_the_command_line_says_so_too(planted_case: tuple[Served, str, Case]) -> None:
    served, url, case = planted_case
    (head,) = served.get("/incidents")["items"]
    at = ["--at", str(BEGIN_S + case.asked_s)]
    culprit = CliRunner().invoke(cli, ["job", "2", "--db", url, *at])
    assert "slowed: Slowed 1 job by " in culprit.output and f"incident {head['incident_id']})" in culprit.output
    victim = json.loads(CliRunner().invoke(cli, ["job", "1", "--db", url, "--json", *at]).output)
    assert (victim["named"], victim["incident_id"]) == ("2", head["incident_id"])
    assert head["title"] in CliRunner().invoke(cli, ["incidents", "--db", url]).output


def test_the_alert_names_it_while_it_lasts(planted_case: tuple[Served, str, Case]) -> None:
    served, url, case = planted_case
    (head,) = served.get("/incidents")["items"]
    rule = next(one for one in read_config().rules if one.signal == "incident")
    with connect(url, role="reader") as conn:
        (fired,) = dry_run(conn, rule, BEGIN_S, BEGIN_S + min(case.asked_s, 1800))["alerts"]
    assert fired["labels"]["incident"] == str(head["incident_id"]) and fired["summary"] == head["title"]
    assert abs(fired["fired_s"] - BEGIN_S - CULPRIT_S) <= 130, fired
    if case.over:
        assert fired["resolved_s"] is not None and abs(fired["resolved_s"] - BEGIN_S - CULPRIT_END_S) <= 90
    else:
        assert fired["resolved_s"] is None


def test_what_is_exported_says_so_too(planted_case: tuple[Served, str, Case], tmp_path: Path) -> None:
    served, url, case = planted_case
    (head,) = served.get("/incidents")["items"]
    page = served.http.get("/api/v1/jobs/1/case", params={"at": BEGIN_S + case.asked_s}).text
    assert "job 2" in page
    with connect(url, role="reader") as conn:
        evidence.export_evidence(conn, "1", tmp_path / "case.zip")
    with zipfile.ZipFile(tmp_path / "case.zip") as archive:
        filed = json.loads(archive.read("explanation.json"))
    assert (filed["named"], filed["incident_id"]) == ("2", head["incident_id"])
    assert head["title"] in served.http.get("/api/v1/incidents/export").text
