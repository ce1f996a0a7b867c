"""Arrays and heterogeneous jobs as a whole, over REST and in the terminal, with summarised verdicts of their tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cli.commands import flitwatch, succeed

from api.conftest import serving
from api.database import T0
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import store
from flitwatch_db.jobs.whole import explain_whole
from flitwatch_domain.errors import NotFound
from flitwatch_domain.jobs import Job

RAN = Job(
    "c9",
    "530_1",
    "COMPLETED",
    user="ann",
    name="sweep",
    start_s=T0,
    end_s=T0 + 60.0,
    nodes=1,
    node_list="x1",
    submit_s=T0 - 60.0,
)
JOBS = [
    RAN,
    replace(RAN, job_id="530_2", state="FAILED"),
    replace(RAN, job_id="530_2", restart=1, state="RUNNING", end_s=None),
    replace(RAN, job_id="530_[3-9]", state="PENDING", start_s=None, end_s=None, node_list=None),
    replace(RAN, job_id="5301_1"),
    replace(RAN, job_id="10+0", state="RUNNING", end_s=None),
    replace(RAN, job_id="10+1", state="RUNNING", end_s=None),
    replace(RAN, job_id="77"),
]


@pytest.mark.parametrize("spelling", ["530", "530_[3-9]", "530[]", "530[].c9"])
def test_an_array_is_shown_with_its_tasks(embedded_db: str, spelling: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        store.upsert_jobs(conn, JOBS)
        whole = explain_whole(conn, spelling)
        assert (whole["job_id"], whole["cluster"], whole["kind"], whole["total"]) == ("530", "c9", "array", 9)
        assert whole["states"] == {"PENDING": 7, "RUNNING": 1, "COMPLETED": 1}
        assert [task["job_id"] for task in whole["tasks"]] == ["530_2", "530_1", "530_[3-9]"]
        assert [task["verdict"] is None for task in whole["tasks"]] == [False, False, True]
        assert sum(whole["verdicts"].values()) == 2 and whole["named"] == {}


def test_a_heterogeneous_job_is_shown_with_its_components(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        store.upsert_jobs(conn, JOBS)
        whole = explain_whole(conn, "10")
        assert (whole["kind"], whole["total"], whole["states"]) == ("heterogeneous", 2, {"RUNNING": 2})
        assert {task["job_id"] for task in whole["tasks"]} == {"10+0", "10+1"}
        for other in ("77", "53", "530_1", "nothing", "10+0"):
            with pytest.raises(NotFound, match="no array"):
                explain_whole(conn, other)
        with pytest.raises(NotFound):
            explain_whole(conn, "530", "c1")


@pytest.mark.system("processes")
def test_the_terminal_shows_an_array_as_rest_does(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        store.upsert_jobs(conn, JOBS)
    with serving(Settings(db=embedded_db, api_anonymous="operator")) as api:
        tasks = api.get("/jobs/530/tasks", at=T0 + 90)
        assert "no array" in api.refused("/jobs/77/tasks", 404)["detail"]
        for where in (["--url", api.url], ["--db", embedded_db]):
            made = succeed("job", "530", *where, "--at", str(T0 + 90))
            assert (made["states"], made["verdicts"], made["total"]) == (
                tasks["states"],
                tasks["verdicts"],
                tasks["total"],
            )
            code, out, _ = flitwatch("job", "530", *where)
            assert code == 0 and out.splitlines()[0] == "job 530: 9 tasks: 7 pending, 1 running, 1 completed"
            assert out.splitlines()[-1] == "job 530_[3-9]: it has not started (pending)"
            code, _, err = flitwatch("job", "999", *where)
            assert code != 0 and "no job" in err
