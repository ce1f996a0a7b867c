"""The page in a real Chromium, over the real API and a real PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from api.estimates import add_measured_machine
from integration.incidents import IncidentSite, draws, is_felt
from support.browser import run
from support.databases import server_folder
from support.planted_cases import CASES, Case, plant_case
from support.planted_flows import FABRIC
from support.planted_machine import BEGIN_S

from e2e.beat import Beat
from e2e.site import PAGE, ROOT, fill, flitwatch, served
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.incidents import store
from flitwatch_db.incidents.store import of_explanation
from flitwatch_db.jobs import store as jobs
from flitwatch_db.migrations import migrate_database
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.incidents import Minute
from flitwatch_domain.jobs import Job
from flitwatch_ops.embedded import Embedded
from flitwatch_research.studies import registry

pytestmark = pytest.mark.integration
#: The areas of the page's own checks.
AREAS = re.findall(r"^  (\w+): \[", (ROOT / "web" / "tests" / "e2e" / "run.mjs").read_text(), re.MULTILINE)
assert AREAS, "run.mjs lists its areas in another way"
MEASURED = "data/variability/perlmutter_milc_{}.csv"


def test_every_study_has_a_card() -> None:
    """The Lab's cards are the studies that a worker knows."""
    text = (ROOT / "web" / "src" / "features" / "lab" / "studies.ts").read_text()
    assert set(re.findall(r'study: "([^"]+)"', text)) == set(registry.STUDIES)


@pytest.mark.shared
@pytest.mark.system("browser")
def test_the_measured_fabrics(shared: Path, embedded_db: str, browser: dict[str, str]) -> None:
    """Edison's hot links, a tree and a dragonfly without a counter: imported as a user does, then looked at."""
    fill(embedded_db, shared / "data")
    with served(embedded_db) as url:
        run("site.mjs", {**browser, "FLITWATCH_URL": url}, timeout_s=480)


@pytest.mark.system("browser")
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("area", AREAS)
def test_every_view_on_synthetic_data(browser: dict[str, str], area: str) -> None:
    """Keyboard, address, time axis, staleness, hostile names and accessibility, on a machine of 3,264 routers."""
    own = {name: value for name, value in browser.items() if name != "FLITWATCH_URL"}
    run("run.mjs", own, 900, ".", area)


@pytest.mark.system("browser")
def test_the_page_names_who_was_planted(embedded_db: str, browser: dict[str, str]) -> None:
    """An incident of the twin: the job's page and the API name the job that was planted."""
    seed = 1
    draw = next(one for one in draws(seed, 40, quiet=False) if is_felt(one, seed))
    observation = IncidentSite(embedded_db, seed).day(draw)[-1]
    assert observation.planted is not None
    with served(embedded_db) as url:
        names = {
            "FLITWATCH_URL": url,
            "FLITWATCH_JOB": observation.answer["job_id"],
            "FLITWATCH_PLANTED": observation.planted,
        }
        run("explanation.mjs", {**browser, **names}, timeout_s=300)


@pytest.mark.system("browser")
def test_a_stored_incident_has_a_page(embedded_db: str, browser: dict[str, str]) -> None:
    """What was found of a planted job, as it is stored: the list, the page, its notes and its file; and a second incident that turned out to be the
    same."""
    seed = 1
    draw = next(one for one in draws(seed, 40, quiet=False) if is_felt(one, seed))
    site = IncidentSite(embedded_db, seed)
    observation = site.day(draw)[-1]
    found = of_explanation(observation.answer)
    assert observation.planted is not None and found is not None
    found["slowdown"] |= {"lost_s": 348.0, "lost_low_s": 310.0, "lost_high_s": 390.0}
    began, job = found["slowdown"]["since"].timestamp(), observation.answer["job_pk"]
    minutes = [Minute(60 * (began // 60 + at), 4.0 - at, 0.9 if at else None) for at in range(3)]
    with connect(embedded_db, role="writer") as conn:
        incident = store.store_finding(conn, site.fabric_id, job, True, found, final=True)
        store.add_minutes(conn, incident, minutes)
        store.set_span(conn, incident, began, began + 300)
        merged = conn.execute(
            "INSERT INTO incident (fabric_id, simulated, began_at, merged_into) VALUES (%s, true, now(), %s) RETURNING incident_id",
            [site.fabric_id, incident],
        ).fetchone()
    assert merged is not None
    names = {
        "INCIDENT": incident,
        "MERGED": merged[0],
        "JOB": observation.answer["job_id"],
        "PLANTED": observation.planted,
    }
    with served(embedded_db) as url:
        known = {f"FLITWATCH_{name}": str(value) for name, value in names.items()}
        run("incident.mjs", {**browser, **known, "FLITWATCH_URL": url}, timeout_s=300)


@pytest.mark.system("browser")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_planted_incidents_are_named_on_every_page(case: Case, embedded_db: str, browser: dict[str, str]) -> None:
    """Home, the pages of the slowed job, the culprit and an innocent one, and the list, as `tests/api/test_incident_cases.py` asks REST."""
    plant_case(embedded_db, case)
    asked = datetime.fromtimestamp(BEGIN_S + case.asked_s, UTC).isoformat()
    during = datetime.fromtimestamp(BEGIN_S + case.slow_s + 110, UTC).isoformat()
    with served(embedded_db) as url:
        names = {"URL": url, "ASKED": asked, "DURING": during, "STATE": "over" if case.over else "open"}
        run("planted.mjs", browser | {f"FLITWATCH_{name}": value for name, value in names.items()}, timeout_s=300)


@pytest.mark.system("browser")
def test_page_and_terminal_name_people_alike(embedded_db: str, browser: dict[str, str]) -> None:
    """Plain on a site that has only simulated machines; with a measured one, pseudonyms below operator."""
    case = CASES["the aggressor starts"]
    plant_case(embedded_db, case)
    at = datetime.fromtimestamp(BEGIN_S + case.slow_s + 110, UTC).isoformat()

    def named(role: str) -> str:
        with served(embedded_db, anonymous=role) as url:
            said = flitwatch("job", "1", "--url", url, "--at", at)
            (name,) = re.findall(r"^job 2: ([^,]+),.*named$", said, re.MULTILINE)
            names = {"URL": url, "AT": at, "NAME": name, "MACHINE": FABRIC.name}
            run("names.mjs", browser | {f"FLITWATCH_{key}": value for key, value in names.items()}, timeout_s=120)
        return str(name)

    assert named("user") == "u1"
    with connect(embedded_db, role="writer") as conn:
        add_measured_machine(conn)
    assert named("operator") == "u1"
    assert named("user").startswith("user-")


@pytest.mark.system("browser")
def test_one_visit_finds_what_another_made(embedded_db: str, browser: dict[str, str]) -> None:
    """A job by parts of its number and name, its user's name by the caller's rights, and a task's result by its address."""
    job = Job(job_id="4896334", cluster="c", user="ann", name="amg", state="RUNNING", start_s=1e9, simulated=True)
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(conn, [job], fabrics.save_fabric(conn, build_xgft(2, [2, 2], [1, 1])))
    with served(embedded_db) as url:
        run("shared.mjs", {**browser, "FLITWATCH_URL": url, "FLITWATCH_NAME": "ann"}, timeout_s=120)
        with connect(embedded_db, role="writer") as conn:
            add_measured_machine(conn)
        run("shared.mjs", {**browser, "FLITWATCH_URL": url, "FLITWATCH_NAME": ""}, timeout_s=120)


@pytest.mark.system("browser")
def test_the_page_reports_planted_cables_as_rest_does(embedded_db: str, browser: dict[str, str]) -> None:
    """REST, `flitwatch top`, alerts and metrics: tests/api/test_findings.py."""
    from support import planted_cables

    planted_cables.plant(embedded_db)
    conditions = {fabric: list(cables.values()) for fabric, cables in planted_cables.CONDITIONS.items()}
    with served(embedded_db) as url:
        run("cables.mjs", {**browser, "FLITWATCH_URL": url, "FLITWATCH_CABLES": json.dumps(conditions)}, timeout_s=120)


@pytest.mark.system("browser")
def test_the_page_names_where_planted_congestion_begins(embedded_db: str, browser: dict[str, str]) -> None:
    """Roots of the packet engine: the job's page prints the root, its tree and its feeders as the API does; on quiet machines none."""
    from support.planted_roots import END, JOBS, plant

    plant(embedded_db)
    with served(embedded_db) as url:
        names = {"FLITWATCH_URL": url, "FLITWATCH_JOBS": json.dumps(JOBS), "FLITWATCH_AT": str(END)}
        run("roots.mjs", {**browser, **names}, timeout_s=300)


@pytest.mark.shared
@pytest.mark.system("browser")
@pytest.mark.timeout(700)
def test_verdicts_on_measured_runs(shared: Path, embedded_db: str, browser: dict[str, str]) -> None:
    """Two files on the blame page, a worker that judges them, and the estimate that opens: runs of a Slingshot machine."""
    from support.tasks import worker

    names = {f"FLITWATCH_{part.upper()}": os.fspath(shared / MEASURED.format(part)) for part in ("runs", "exposure")}
    with served(embedded_db) as url, worker(embedded_db):
        run("measured.mjs", {**browser, **names, "FLITWATCH_URL": url}, timeout_s=600)


@pytest.mark.system("browser")
def test_an_alert_by_mail(embedded_db: str, browser: dict[str, str]) -> None:
    """A contact point added on the page gets a test mail, and the mail of an alert that fires afterwards, from a real server."""
    from alerting.receivers import SLOW, config
    from support.alerts import foretell, running, smtp_sink

    with smtp_sink() as (sink, server):
        chosen = config(rules=(SLOW,), mail={"server": server, "sender": "flitwatch@site.example"})
        with running(embedded_db, chosen), served(embedded_db, anonymous="operator") as url:
            node = shutil.which("node") or "node"
            script = [node, os.fspath(ROOT / "web" / "tests" / "e2e" / "mail.mjs")]
            verbs = {"fire": lambda: foretell(embedded_db, 150, 140, 160)}
            said = _conversation(script, {**browser, "FLITWATCH_URL": url}, verbs)
    assert said[-1] == "2 of 2 passed", "\n".join(said)
    test, alert = sink.mails
    assert [test["To"], alert["To"]] == ["network-team@site.example"] * 2
    assert test["Subject"] == "[Flitwatch] Test mail" and "1 firing" in alert["Subject"]
    assert "slow-ahead" in alert["Subject"] and "[simulated]" in alert.get_body(("plain",)).get_content()


@pytest.mark.system("browser")
def test_the_centres_own_login(embedded_db: str, browser: dict[str, str]) -> None:
    """There and back, and out of both, with a real OpenID Connect provider."""
    from api.conftest import serving
    from support.openid import a_provider, settings

    with a_provider() as provider, serving(settings(embedded_db, provider.issuer, web=PAGE)) as site:
        provider.tell(sites=[site.url], people={"s-1": {"preferred_username": "ann"}, "s-2": {}})
        run("login.mjs", {**browser, "FLITWATCH_URL": site.url}, timeout_s=480)


@pytest.mark.system("browser")
def test_the_database_goes_away_under_the_page(browser: dict[str, str]) -> None:
    """Stale data are called stale, and the page recovers by itself once the database is back."""
    server = Embedded(server_folder(), durable=False)
    server.start()
    try:
        migrate_database(server.url)
        beat = Beat(server.url)
        beat.start()
        with served(server.url) as url:
            script = [shutil.which("node") or "node", os.fspath(ROOT / "web" / "tests" / "e2e" / "recovery.mjs")]
            said = _conversation(
                script, {**browser, "FLITWATCH_URL": url}, {"stop": server.stop, "start": server.start}
            )
        beat.end()
    finally:
        server.destroy()
    assert said[-1] == "1 of 1 passed", "\n".join(said)


@pytest.mark.system("browser")
def test_what_arrives_shows_at_its_source(embedded_db: str, browser: dict[str, str], tmp_path: Path) -> None:
    """An empty site: every source says "nothing yet", and a real remote write and import show at theirs with the right count."""
    from support.counted import bring_in

    with served(embedded_db) as url:
        script = [shutil.which("node") or "node", os.fspath(ROOT / "web" / "tests" / "e2e" / "sources.mjs")]
        verbs = {"import": lambda: bring_in(embedded_db, tmp_path)}
        said = _conversation(script, {**browser, "FLITWATCH_URL": url}, verbs)
    assert said[-1] == "1 of 1 passed", "\n".join(said)


@pytest.mark.system("browser")
def test_spans_of_a_month_and_of_a_year(embedded_db: str, browser: dict[str, str]) -> None:
    """A year with a planted shift: the curve shows it at its day, days without counters as a gap, and years without any as nothing."""
    from support.planted_year import END_S, SHIFT_S, START_S
    from support.planted_year import fill as plant_a_year

    from flitwatch_db.counters.rollups import roll_up_hours

    plant_a_year(embedded_db)
    with connect(embedded_db, role="keeper", autocommit=True) as conn:
        roll_up_hours(conn, settled_s=0)
    with served(embedded_db) as url:
        axis = {"FLITWATCH_AXIS": json.dumps({"from": START_S, "to": END_S}), "FLITWATCH_SHIFT": str(SHIFT_S)}
        run("spans.mjs", {**browser, "FLITWATCH_URL": url, **axis}, timeout_s=300)


def _conversation(command: list[str], environment: dict[str, str], verbs: dict[str, Callable[[], object]]) -> list[str]:
    """Run a script, do what a line of it asks for, and return the other lines."""
    said = []
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in map(str.strip, process.stdout):
            if line in verbs:
                verbs[line]()
                process.stdin.write("done\n")
                process.stdin.flush()
            else:
                said.append(line)
    return said
