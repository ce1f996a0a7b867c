"""Decision records: numbered without gaps, short, uniform, and listed in the index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from api.conftest import Served, bearer, operating, serving
from flitwatch_api.names import replace_names
from flitwatch_api.settings import Settings
from flitwatch_db import connect, tasks
from flitwatch_db.estimates.recommendations import Recommendation, as_json, save_recommendation
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_db.runs import store as runs
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run
from flitwatch_simulation.tasks import HANDLERS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "adr"

RECORDS = sorted(FOLDER.glob("[0-9]*.md"))

PARTS = ["Context", "Decision", "Consequences"]

HEADING = re.compile(r"# (\d{4}) (.+)\n\nStatus: (accepted|superseded by \d{4})\n")


def test_numbers_follow_one_another_and_are_few() -> None:
    assert [record.name[:4] for record in RECORDS] == [f"{number:04}" for number in range(1, len(RECORDS) + 1)]
    assert 0 < len(RECORDS) <= 60, "merge records of one topic"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_is_short_and_has_its_parts(record: Path) -> None:
    text = record.read_text()
    heading = HEADING.match(text)
    assert heading is not None and heading[1] == record.name[:4], text[:200]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == PARTS
    assert len(text.split()) <= 300


def test_the_index_lists_every_record_with_its_title_and_status() -> None:
    rows = re.findall(r"^\| (\d{4}) \| \[(.+)\]\((\S+)\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    headings = [(record, HEADING.match(record.read_text())) for record in RECORDS]
    assert sorted(rows) == [(found[1], found[2], record.name, found[3]) for record, found in headings if found]


@pytest.mark.parametrize("folder", ["adr", "benchmarks"])
def test_links_of_records_and_measurements_lead_somewhere(folder: str) -> None:
    for page in sorted((FOLDER.parent / folder).glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


# Recommendations through the API: heads, evidence, parts, refusals, names of others.


DETAIL = {
    "why": [{"text": "busiest link", "value": 2.5, "unit": "MB"}],
    "before": {"time_s": 0.006, "max_load_bytes": 4e6, "congested_links": 12, "label": "ftree"},
    "after": {"time_s": 0.002, "max_load_bytes": 1e6, "congested_links": 0, "label": "optimised"},
    "alternatives": [{"label": "adaptive", "time_s": None}],
    "reconstruction": None,
    "routes": None,
    "parameters": {"pattern": "shift"},
}

GAIN = {"factor": 3.0, "low": None, "high": None, "level": 0.9, "runs": 1, "basis": "one simulated pair"}

MATRIX = {
    "by": "group",
    "labels": ["0", "1"],
    "true": [[0, 1], [2, 0]],
    "reconstructed": [[0, 1.5], [2, 0]],
    "difference": [[0, 0.5], [0, 0]],
}

ROUTES = Recommendation(
    "routes", "recommended", "Routes for tree", "3 times as fast", DETAIL, True, GAIN, fabric="tree", task_id=7, authorised=True,
    parts={"lfts": b"Unicast lids\n", "matrix_router": as_json({**MATRIX, "by": "router"}), "matrix_group": as_json(MATRIX)},
)  # fmt: skip

MODE = Recommendation(
    "routing_mode",
    "refused",
    "Mode of job 42",
    "too few samples",
    {**DETAIL, "before": None, "after": None},
    False,
    job_id="42",
    user="ann",
    application="milc",
    authorised=True,
)


@pytest.fixture
def served(embedded_db: str) -> Iterator[tuple[Served, list[int]]]:
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(conn, [Job(cluster="c", job_id="42", user="ann", state="RUNNING", start_s=1e9)])
        runs.upsert_run(conn, Run(run_key="r", exe="milc", ranks=(0,), nodes=("nid00001",)))
        numbers = [save_recommendation(conn, ROUTES), save_recommendation(conn, replace(MODE, created_by="the site"))]
    with serving(Settings(db=embedded_db, web=None)) as made:
        made.http.headers.update(operating(embedded_db))
        yield made, numbers


def test_heads_are_listed_filtered_and_paged(served: tuple[Served, list[int]]) -> None:
    api, (routes, mode) = served
    listed = api.get("/advice")["items"]
    assert [row["recommendation_id"] for row in listed] == [mode, routes]
    assert (
        listed[0]["gain"] is None
        and listed[0]["user"].startswith("user-")
        and listed[0]["application"] == "milc"
        and listed[0]["has_lfts"] is False
    )
    assert listed[1]["gain"]["factor"] == 3 and listed[1]["has_matrix"] and not listed[1]["has_links"]
    for filters, expected in (
        ({"kind": "routes"}, [routes]),
        ({"state": "refused"}, [mode]),
        ({"job": "42"}, [mode]),
        ({"fabric": "tree"}, [routes]),
        ({"fabric": "x"}, []),
    ):
        found = api.get("/advice", **filters)["items"]
        assert [row["recommendation_id"] for row in found] == expected
    page = api.get("/advice", limit=1)
    following = api.get("/advice", limit=1, cursor=page["next_cursor"])
    assert following["items"][0]["recommendation_id"] == routes and following["next_cursor"] is None
    api.refused("/advice", 422, kind="coffee")


def test_evidence_and_parts(served: tuple[Served, list[int]]) -> None:
    api, (routes, mode) = served
    shown = api.get(f"/advice/{routes}")
    assert shown["after"]["time_s"] == 0.002 and shown["why"][0]["unit"] == "MB" and shown["task_id"] == 7
    dump = api.http.get(f"/api/v1/advice/{routes}/lfts")
    assert dump.text == "Unicast lids\n" and "attachment" in dump.headers["content-disposition"]
    assert api.get(f"/advice/{routes}/matrix", by="group")["difference"] == [[0, 0.5], [0, 0]]
    only = api.get(f"/advice/{routes}/matrix", of="reconstructed")
    assert only["true"] is None and only["reconstructed"][0][1] == 1.5 and only["by"] == "router"
    api.refused(f"/advice/{routes}/links", 404)
    api.refused(f"/advice/{mode}/lfts", 404)
    api.refused(f"/advice/{mode + 1}", 404)


def test_the_old_name_answers_the_same(served: tuple[Served, list[int]]) -> None:
    api, (routes, _) = served
    for path in ("", f"/{routes}", f"/{routes}/matrix"):
        assert api.get(f"/recommendations{path}") == api.get(f"/advice{path}")
    assert api.http.get(f"/api/v1/recommendations/{routes}/lfts").text == "Unicast lids\n"


def test_a_repeated_task_replaces_its_row(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        first, second = save_recommendation(conn, ROUTES), save_recommendation(conn, replace(ROUTES, title="again"))
        rows = conn.execute("SELECT recommendation_id, title FROM recommendation").fetchall()
        parts = conn.execute("SELECT DISTINCT recommendation_id FROM recommendation_part").fetchall()
    assert rows == [(second, "again")] and parts == [(second,)] and second != first


class Telling:
    """A task's context that keeps the reported messages."""

    def __init__(self, url: str, task_id: int) -> None:
        self.dsn, self.task_id, self.messages = url, task_id, ""

    def report(self, done: int, total: int, message: str = "") -> None:
        self.messages += message

    def cancelled(self) -> bool:
        return False


#: A user's name, the folder that tells it, and what is run: in words below scope `names` nowhere, above in the titles.
USER, APPLICATION = "mallory", "/home/mallory/bin/secret-plan"


@pytest.fixture(scope="module")
def advised(_embedded_template) -> Iterator[tuple[Served, str, list[int], str]]:  # type: ignore[no-untyped-def]
    """What `routing.advice` writes and tells about one user's application, with one of an older version that named them in its evidence."""
    url = _embedded_template.create()
    one = {"allocation": ["n1", "n2"], "interval_s": 1.0, "request_flits": 30_000, "request_packets": 10_000}
    observations = {
        mode: [{**one, "stalled_cycles": stalls + k, "cumulative_latency_us": latency} for k in range(8)]
        for mode, stalls, latency in (("ADAPTIVE_0", 60_000, 30_000.0), ("ADAPTIVE_3", 30_000, 20_000.0))
    }
    args = {"application": APPLICATION, "job": "42", "user": USER, "observations": observations}
    with connect(url, role="writer") as conn:
        task_id = tasks.start_task(conn, "routing.advice", args, created_by=USER, authorised=True)
        conn.commit()
        telling = Telling(url, task_id)
        made = HANDLERS["routing.advice"](args, telling)  # type: ignore[arg-type]
        why = [{"text": f"{USER}'s jobs of {APPLICATION.upper()} send most", "value": 1.0, "unit": None}]
        older = replace(
            MODE, user=USER, application=APPLICATION, detail={**DETAIL, "why": why, "parameters": {"who": [USER]}}
        )
        numbers = [made["recommendation_id"], made["placement_recommendation_id"], save_recommendation(conn, older)]
    with connect(url, role="gate", autocommit=True) as conn:
        for name, role in (("vera", "viewer"), ("uli", "user"), ("otto", "operator"), ("slurm", "service")):
            people.add_account(conn, name, role)
    with serving(Settings(db=url, web=None)) as api:
        yield api, url, numbers, telling.messages
    _embedded_template.drop(url)


@pytest.mark.parametrize(
    ("name", "scopes", "sees"),
    [
        ("vera", ["read"], False),
        ("uli", ["read", "tasks"], False),
        ("otto", ["read", "operate"], False),
        ("slurm", ["read", "advice"], False),
        ("otto", ["read", "names"], True),
        ("slurm", ["read", "names"], True),
    ],
)
@pytest.mark.parametrize("path", ["/advice", "/advice/0", "/advice/1", "/advice/2", "/tasks"])
def test_texts_name_nobody_below_scope_names(
    advised: tuple[Served, str, list[int], str], name: str, scopes: list[str], sees: bool, path: str
) -> None:
    api, url, numbers, messages = advised
    with connect(url, role="gate", autocommit=True) as conn:
        headers = bearer(people.add_token(conn, name, "test", scopes)[1])
    if path[-1].isdigit():
        path = f"/advice/{numbers[int(path[-1])]}"
    answer = api.http.get(f"/api/v1{path}", headers=headers)
    assert answer.status_code == 200
    for word in (USER, "secret-plan", "/home"):
        assert (word in answer.text.lower()) is sees, word
        assert word not in messages


def test_a_name_that_is_a_part_of_a_word_stays_in_it() -> None:
    shown = replace_names({"why": ["an answer of an's run", 3, None]}, (("run", "RUN"), ("an", "\\1")))
    assert shown == {"why": ["\\1 answer of \\1's RUN", 3, None]}
    assert replace_names("/home/an/x_an", (("an", "u"), (None, "x"))) == "/home/u/x_u"
