"""Incidents over REST, the search and the command line: the same everywhere, with names permitted for the caller and persistent notes."""

from __future__ import annotations

import asyncio
import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.databases import Server, add_real_job
from support.planted_machine import BEGIN_S, planted, run_of

from api.conftest import Served, serving
from flitwatch.command_line import cli
from flitwatch.hottest import _covers_window, load_hot_lists
from flitwatch_api import incidents as incidents_api
from flitwatch_api import projects as projects_api
from flitwatch_api.settings import Settings
from flitwatch_client import Client
from flitwatch_db import connect
from flitwatch_db.incidents.update import update_incidents
from flitwatch_db.jobs.incident import _has_counters
from flitwatch_db.people import accounts as people

HEADS = {"incident_id", "state", "fabric", "title", "causes", "node_hours", "slowed"}


@pytest.fixture(scope="module")
def planted_incident(_embedded_template: Server):
    """A stored incident: job 2 of u1 slowed job 1 of u0."""
    url = _embedded_template.create()
    planted(url, (60, 360, -3600, 420), count=13, ends_s=(600, 840, None, None))
    run_of(url, "1", [(355, 10_000)], 600)
    add_real_job(url)
    with connect(url, role="writer", autocommit=True) as conn:
        update_incidents(conn, BEGIN_S + 3000)
    with serving(Settings(db=url)) as served:
        yield served, url
    _embedded_template.drop(url)


def operator(url: str, name: str) -> dict[str, str]:
    with connect(url, role="gate", autocommit=True) as conn:
        people.add_account(conn, name, "operator")
        token = people.add_token(conn, name, "names", ["read", "names", "tasks"])[1]
    return {"Authorization": f"Bearer {token}"}


def test_list_page_search_and_job_tell_the_same(planted_incident: tuple[Served, str]) -> None:
    served, _ = planted_incident
    (head,) = served.get("/incidents")["items"]
    one = served.get(f"/incidents/{head['incident_id']}")
    assert {name: one[name] for name in HEADS} == {name: head[name] for name in HEADS}
    assert head["state"] == "over" and [cause["job_id"] for cause in head["causes"]] == ["2"]
    assert [slowed["job_id"] for slowed in one["victims"]] == ["1"] and one["victims"][0]["named"] == ["2"]
    assert one["minutes"] and one["remedies"] and one["notes"] == one["alerts"] == []
    assert served.get("/jobs/2/explanation")["slowed"]["incidents"] == [head["incident_id"]]
    assert served.get("/jobs/1/explanation")["incident_id"] == head["incident_id"]
    last = served.get("/incident", fabric=head["fabric"], at=BEGIN_S + 3000)["last"]
    assert (last["incident_id"], last["title"], last["detail"]) == (head["incident_id"], one["title"], one["detail"])
    hits = [hit for hit in served.get("/search", q="incident")["items"] if hit["kind"] == "incident"]
    assert hits[0]["href"] == f"/incidents/{head['incident_id']}" and "job 2" in hits[0]["detail"]


@pytest.mark.parametrize(("asked", "found"), [({"job": "2"}, 1), ({"job": "1"}, 1), ({"job": "4"}, 0), ({"state": "open"}, 0), ({"from": BEGIN_S + 2000}, 0), ({"to": BEGIN_S + 700}, 1)])  # fmt: skip
def test_a_list_is_narrowed(planted_incident: tuple[Served, str], asked: dict[str, Any], found: int) -> None:
    served, _ = planted_incident
    assert len(served.get("/incidents", **asked)["items"]) == found


def test_top_says_what_home_says_and_nothing_of_a_job_that_began_within_its_window(
    planted_incident: tuple[Served, str],
) -> None:
    served, _ = planted_incident
    (machine,) = served.get("/fabrics")["items"]
    with Client(str(served.http.base_url)) as fw:
        found = load_hot_lists(fw, machine["name"], "ratio", 10)
    home = served.get("/incident", fabric=machine["name"], at=found["at"])
    roles = {job["job_id"]: job["role"] for job in found["jobs"]}
    assert found["incident"] == home["title"] and home["verdict"] == "incident", found
    assert roles["2"] == "causes it" and roles["4"] is None
    assert _covers_window("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC))
    assert not _covers_window("2026-01-01T00:00:01Z", datetime(2026, 1, 1, tzinfo=UTC))
    held = served.get(f"/fabrics/{machine['name']}/occupancy", at=found["at"])
    assert held["nodes_held"] == sum(job["nodes"] for job in held["jobs"])


def test_a_time_without_jobs_and_counters_is_unknown_not_quiet(
    planted_incident: tuple[Served, str],
) -> None:
    served, url = planted_incident
    (machine,) = served.get("/fabrics")["items"]
    before = served.get("/incident", fabric=machine["name"], at=BEGIN_S - 40 * 86_400)
    assert (before["verdict"], before["judged"]["running"]) == ("cannot tell", 0), before
    assert before["detail"] == "No running jobs and no counters are stored for this time."
    with connect(url, role="reader") as conn:
        assert [_has_counters(conn, machine["id"], BEGIN_S + second) for second in (-86_400, 60, 86_400)] == [
            False,
            True,
            False,
        ]
    # Counters that ended an hour ago say nothing, and those of network cards alone do.
    with connect(url, role="owner") as conn, conn.transaction(force_rollback=True):
        end_s = conn.execute("SELECT extract(epoch FROM max(ts))::float8 FROM router_1m").fetchone()[0]  # type: ignore[index]
        assert [_has_counters(conn, machine["id"], end_s + second) for second in (0, 599, 3600)] == [True, True, False]
        conn.execute("DELETE FROM router_1m")
        conn.execute("DELETE FROM router_1h")
        assert _has_counters(conn, machine["id"], end_s)
        # Minutes expire before hours.
        conn.execute("DELETE FROM endpoint_1m")
        assert _has_counters(conn, machine["id"], end_s)
        conn.execute("DELETE FROM endpoint_1h")
        assert not _has_counters(conn, machine["id"], end_s)


def test_counters_of_network_cards_alone_are_reported(_embedded_template: Server) -> None:
    url = _embedded_template.create()
    planted(url, count=3)
    with connect(url, role="owner", autocommit=True) as conn:
        for table in ("router_1s", "router_1m", "router_1h"):
            conn.execute(f"DELETE FROM {table}")
        end_s = conn.execute("SELECT extract(epoch FROM max(ts))::float8 FROM endpoint_1s").fetchone()[0]  # type: ignore[index]
    with serving(Settings(db=url)) as served:
        (machine,) = served.get("/fabrics")["items"]
        assert machine["last_ts"] is None
        assert datetime.fromisoformat(machine["cards_last_ts"]).timestamp() == end_s + 1
        for from_s, counted in ((BEGIN_S - 3600, False), (BEGIN_S, True)):
            answer = served.get(f"/fabrics/{machine['id']}/overview", **{"from": from_s, "to": from_s + 3600})
            assert answer["cards_counted"] is counted and set(answer["coverage"]) == {None}
    with connect(url, role="owner", autocommit=True) as conn:
        for table in ("endpoint_1s", "endpoint_1m", "endpoint_1h"):
            conn.execute(f"DELETE FROM {table}")
    with serving(Settings(db=url)) as served:
        assert served.get("/fabrics")["items"][0]["cards_last_ts"] is None
    _embedded_template.drop(url)


def test_names_are_those_that_the_caller_may_see_and_who_asks_by_a_hidden_one_finds_nothing(
    planted_incident: tuple[Served, str],
) -> None:
    served, url = planted_incident
    (head,) = served.get("/incidents")["items"]
    shown = head["causes"][0]["user"]
    assert shown.startswith("user-") and not served.get("/incidents", user="u1")["items"]
    assert len(served.get("/incidents", user=shown)["items"]) == 1
    seen = served.http.get("/api/v1/incidents", params={"user": "u1"}, headers=operator(url, "otto")).json()["items"]
    assert seen[0]["causes"][0]["user"] == "u1"
    victim = served.get(f"/incidents/{head['incident_id']}")["victims"][0]
    assert victim["user"].startswith("user-")


def test_the_table_file_has_a_row_an_incident(planted_incident: tuple[Served, str]) -> None:
    served, _ = planted_incident
    answered = served.http.get("/api/v1/incidents/export", params={"job": "2"})
    assert answered.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(answered.text))
    (head,) = served.get("/incidents")["items"]
    assert (row["causes"], row["title"], float(row["node_hours"])) == ("2", head["title"], head["node_hours"])


def test_a_name_that_is_a_formula_is_text_in_the_table_file(planted_incident: tuple[Served, str]) -> None:
    served, url = planted_incident
    with connect(url, autocommit=True) as conn:
        (name,) = conn.execute("SELECT name FROM fabric").fetchone()
    try:
        with connect(url, autocommit=True) as conn:
            conn.execute("UPDATE fabric SET name = '=1+1'")
        (row,) = csv.DictReader(io.StringIO(served.http.get("/api/v1/incidents/export").text))
        assert row["fabric"] == "'=1+1"
    finally:
        with connect(url, autocommit=True) as conn:
            conn.execute("UPDATE fabric SET name = %s", [name])


def test_a_note_stays_with_who_wrote_it_and_bad_ones_are_refused(planted_incident: tuple[Served, str]) -> None:
    served, url = planted_incident
    (head,) = served.get("/incidents")["items"]
    path, key = f"/api/v1/incidents/{head['incident_id']}/notes", operator(url, "ada")
    made = served.http.post(path, json={"text": " Held job 2. "}, headers=key)
    assert made.status_code == 201 and made.json()["text"] == "Held job 2."
    kept = served.http.get(f"/api/v1/incidents/{head['incident_id']}", headers=key).json()["notes"]
    assert [(note["author"], note["text"]) for note in kept] == [("ada", "Held job 2.")]
    assert served.get(f"/incidents/{head['incident_id']}")["notes"][0]["author"].startswith("user-")
    for text in ("", "   ", "x" * 2001, "a\0b", "a\x1b[31mb", "a\rb", "\u200b", "a\u202eb"):
        assert served.http.post(path, json={"text": text}, headers=key).status_code == 422
    assert served.http.post("/api/v1/incidents/999/notes", json={"text": "x"}, headers=key).status_code == 404
    assert "there is no incident 999" in served.refused("/incidents/999", 404)["detail"]


def test_jobs_that_nobody_has_examined_are_counted_as_page_and_command_count_them(_embedded_template: Server) -> None:
    url = _embedded_template.create()
    planted(url, (60, 360, -3600, 420), count=13, ends_s=(600, 840, None, None))
    run_of(url, "1", [(355, 10_000)], 600)
    where = ["--db", url, "--from", str(BEGIN_S)]
    with serving(Settings(db=url)) as served, connect(url, role="writer", autocommit=True) as conn:
        waiting = served.get("/incidents", **{"from": BEGIN_S})["unexamined"]
        assert waiting > 0 and served.get("/incidents")["unexamined"] is None
        assert served.get("/incidents", **{"from": BEGIN_S + 86_400})["unexamined"] == 0
        assert "The list is not complete. " in CliRunner().invoke(cli, ["incidents", *where]).output
        update_incidents(conn, BEGIN_S + 3000)
        assert served.get("/incidents", **{"from": BEGIN_S})["unexamined"] == 0
        assert "not complete" not in CliRunner().invoke(cli, ["incidents", *where]).output
    _embedded_template.drop(url)


def test_the_command_prints_what_the_page_shows(planted_incident: tuple[Served, str]) -> None:
    served, url = planted_incident
    (head,) = served.get("/incidents")["items"]
    one = served.get(f"/incidents/{head['incident_id']}")
    for where in (["--db", url], ["--url", str(served.http.base_url)]):
        listed = CliRunner().invoke(cli, ["incidents", "--fabric", head["fabric"], *where])
        assert listed.exit_code == 0 and head["title"] in listed.output, listed.output
        shown = CliRunner().invoke(cli, ["incidents", str(head["incident_id"]), *where])
        assert one["detail"] in shown.output and "slowed: job 1, " in shown.output, shown.output
    empty = CliRunner().invoke(cli, ["incidents", "--state", "open", "--db", url])
    assert empty.output == "There are no stored incidents for this.\n"
    missing = CliRunner().invoke(cli, ["incidents", "999", "--db", url])
    assert missing.exit_code == 1


@pytest.mark.parametrize(
    ("place", "module", "makes"),
    [
        ("projects/climate/report?month=2026-01", projects_api, "build_report"),
        ("projects/climate/report?month=2026-01&format=pdf", projects_api, "render_document"),
        ("incidents/export", incidents_api, "render_table"),
    ],
)
def test_a_long_report_holds_no_other_request_up(
    planted_incident: tuple[Served, str], monkeypatch: pytest.MonkeyPatch, place: str, module: Any, makes: str
) -> None:
    looped: list[bool] = []
    make = getattr(module, makes)

    def watched(*given: Any) -> Any:
        try:
            looped.append(bool(asyncio.get_running_loop()))
        except RuntimeError:
            looped.append(False)
        return make(*given)

    monkeypatch.setattr(module, makes, watched)
    assert planted_incident[0].http.get(f"/api/v1/{place}").status_code == 200
    assert looped == [False]


def test_a_project_reads_what_it_lost_to_whom(planted_incident: tuple[Served, str], tmp_path: Path) -> None:
    served, url = planted_incident
    with connect(url, role="writer", autocommit=True) as conn:
        conn.execute("UPDATE job SET account = 'climate' WHERE job_id = '1'")
    (head,) = served.get("/incidents")["items"]
    month, names = head["began"][:7], operator(url, "opa")
    place = "/api/v1/projects/climate/report"

    def ask(account: str = "climate", month: str = month, **query: str) -> Any:
        return served.http.get(f"/api/v1/projects/{account}/report", params={"month": month, **query}, headers=names)

    made = ask().json()
    (job,) = made["jobs"]
    assert (job["job_id"], job["slowed_by"], job["incident_id"]) == ("1", ["2 (u1)"], head["incident_id"])
    assert made["node_hours"] == pytest.approx(head["node_hours"]) and made["node_hours_low"] < made["node_hours_high"]
    assert made["causes"] == [{"user": "u1", "jobs": 1, "node_hours": pytest.approx(made["node_hours"])}]
    # Nothing is claimed of another project, or of another month.
    for other in (ask("biology").json(), ask(month="2001-01").json()):
        assert other["jobs"] == other["causes"] == [] and other["node_hours"] == 0
    unknown = "In this month, no incident slowed a job of a project with this name."
    assert ask(month="2026-13").status_code == 400
    (row,) = csv.DictReader(io.StringIO(ask(format="csv").text))
    assert (row["job_id"], row["slowed_by"]) == ("1", "2 (u1)")
    assert "<td>2 (u1)</td>" in ask(format="html").text and unknown in ask("biology", format="html").text
    assert ask(format="pdf").content.startswith(b"%PDF-1.4") and b"2 \\(u1\\)" in ask(format="pdf").content
    # The nodes of the slowed job are unknown: so is what was lost, everywhere.
    with connect(url, role="writer", autocommit=True) as conn:
        nodes = conn.execute("SELECT nodes FROM job WHERE job_id = '1'").fetchone()
        conn.execute("UPDATE job SET nodes = NULL WHERE job_id = '1'")
        gone = ask().json()
        assert [gone["node_hours"], gone["jobs"][0]["node_hours"], gone["causes"][0]["node_hours"]] == [None] * 3
        assert "1 slow job lost an unknown number of node-hours" in ask(format="html").text
        assert served.get("/incidents")["items"][0]["node_hours"] is None
        assert "unknown, because" in served.get(f"/incidents/{head['incident_id']}")["detail"]
        listed = CliRunner().invoke(cli, ["incidents", "--db", url])
        assert "node-hours lost: unknown" in listed.output, listed.output
        conn.execute("UPDATE job SET nodes = %s WHERE job_id = '1'", nodes)
    # Who may not see names sees pseudonyms, and finds the project by its own.
    assert served.http.get(place, params={"month": month}).json()["jobs"] == []
    mine = served.get("/jobs/1")["account"]
    shown = served.http.get(f"/api/v1/projects/{mine}/report", params={"month": month}).json()
    assert [one["job_id"] for one in shown["jobs"]] == ["1"] and "u1" not in str(shown["causes"])
    token = tmp_path / "token"
    token.write_text(names["Authorization"].split()[1])
    token.chmod(0o600)
    for kind, start in (("html", b"<!doctype"), ("csv", b"job_id"), ("pdf", b"%PDF")):
        words = ["project", "climate", "--month", month, "--url", served.url, "--token-file", str(token)]
        done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / f"report.{kind}")], catch_exceptions=False)
        assert done.exit_code == 0 and "to u1" in done.output
        assert (tmp_path / f"report.{kind}").read_bytes().startswith(start)
    words[1] = "biology"
    assert CliRunner().invoke(cli, words).output == f"biology, {month}: {unknown}\n"
    with connect(url, role="writer", autocommit=True) as conn:
        conn.execute("UPDATE job SET name = '=1+1' WHERE job_id = '1'")
    (row,) = csv.DictReader(io.StringIO(ask(format="csv").text))
    assert row["name"] == "'=1+1"
