"""Jobs: filters, order, pages, places, neighbours; runs and their steps."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from api.conftest import Served
from api.database import HOSTILE, T0, THROUGH, SampleDatabase


def ids(answer: dict) -> list[str]:
    return [f"{job['cluster']}:{job['job_id']}" for job in answer["items"]]


def test_the_list_is_newest_first_and_says_where_jobs_are(api: Served) -> None:
    got = api.get("/jobs")
    assert ids(got)[0] == "c1:105_7" and ids(got)[-1] == "c2:100" and got["next_cursor"] is None
    job = next(item for item in got["items"] if item["job_id"] == "101")
    assert (job["routers"], job["groups"], job["fabric_id"]) == (3, [0, 1], 1)
    waiting = got["items"][0]
    assert (waiting["user"], waiting["start"], waiting["elapsed_s"], waiting["routers"]) == (None, None, None, None)
    done = next(item for item in got["items"] if item["job_id"] == "104")
    assert done["elapsed_s"] == 100 and done["runs"] == 1


@pytest.mark.parametrize(
    ("parameters", "want"),
    [
        ({"user": "ann"}, {"c1:100", "c1:102"}),
        ({"user": "ann,eve"}, {"c1:100", "c1:102", "c1:103", "c1:104"}),
        ({"state": "running"}, {"c1:101"}),
        ({"name": "SHARES"}, {"c1:101", "c1:102"}),
        ({"q": "eve"}, {"c1:103", "c1:104"}),
        ({"q": "%"}, set()),
        ({"q": "' OR 1=1 --"}, set()),
        ({"fabric": "small"}, {"c1:100", "c1:101", "c1:102", "c1:103", "c1:104", "c2:100"}),
        ({"fabric": "tree"}, set()),
        ({"at": T0 + 55}, {"c1:100", "c1:101", "c1:102", "c1:104"}),
        ({"from": T0 + 150}, {"c1:101", "c1:103"}),
        ({"from": T0 - 1000, "to": T0 - 500}, {"c2:100"}),
    ],
)
def test_filters(api: Served, parameters: dict, want: set[str]) -> None:
    assert set(ids(api.get("/jobs", **parameters))) == want


@pytest.mark.parametrize(
    "sort",
    ["start", "-start", "submit", "-end", "elapsed_s", "-elapsed_s", "-nodes", "user", "-name", "state", "job_id"],
)
def test_pages_hold_every_job_once_in_order(api: Served, sort: str) -> None:
    whole = api.get("/jobs", sort=sort)["items"]
    seen, cursor = [], None
    while True:
        page = api.get("/jobs", sort=sort, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [job["job_pk"] for job in seen] == [job["job_pk"] for job in whole] and len(seen) == 7
    key = sort.removeprefix("-")
    known = [job[key] for job in whole if job[key] is not None]
    assert known == sorted(known, reverse=sort.startswith("-"))


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJzdGFydCIsMSwyLDNd", "====", "bnVsbA", "\u00e9"])
def test_a_foreign_cursor_is_refused(api: Served, cursor: str) -> None:
    assert "cursor" in api.refused("/jobs", 400, cursor=cursor)["advice"]


def test_a_cursor_belongs_to_its_order_and_cannot_carry_sql(api: Served) -> None:
    from flitwatch_api.parameters import make_cursor

    cursor = api.get("/jobs", limit=1)["next_cursor"]
    api.refused("/jobs", 400, limit=1, sort="nodes", cursor=cursor)
    forged = make_cursor("-start", "infinity'; DROP TABLE job; --", 1, 1.0)
    api.refused("/jobs", 400, cursor=forged)
    assert len(api.get("/jobs")["items"]) == 7


@pytest.mark.parametrize("sort", ["job_pk; DROP TABLE job", "(SELECT 1)", "--start", "password", "-"])
def test_sorting_takes_known_columns_only(api: Served, sort: str) -> None:
    assert "elapsed_s" in api.refused("/jobs", 400, sort=sort)["advice"]


def test_a_job_has_its_place_steps_runs_and_neighbours(api: Served, database: SampleDatabase) -> None:
    job = api.get("/jobs/100", cluster="c1")
    assert job["routers"] == [0, 1, 2, 3] and job["groups"] == [0] and len(job["endpoints"]) == 8
    assert job["steps"][0]["name"] == "amg"
    assert [run["run_key"] for run in api.get("/jobs/104")["runs"]] == ["amg-0"]
    near = {n["job_id"]: (n["shared_routers"], n["shared_groups"], n["overlap_s"]) for n in job["neighbours"]}
    # 103 begins when it ends, 104 runs in another group.
    assert near == {"101": (1, 1, 50), "102": (0, 1, 60)}
    assert [n["job_id"] for n in job["neighbours"]] == ["101", "102"]
    assert [n["start"] for n in job["neighbours"]] == [api.get(f"/jobs/{n}")["start"] for n in ("101", "102")]


def test_the_newest_job_of_an_id_is_meant_unless_a_cluster_is_named(api: Served) -> None:
    assert api.get("/jobs/100")["cluster"] == "c1"
    assert api.get("/jobs/100", cluster="c2")["user"] == "old"
    assert api.get("/jobs/105_7")["neighbours"] == []
    api.refused("/jobs/100", 404, cluster="c3")
    assert "scheduler" in api.refused("/jobs/999", 404)["advice"]


def test_occupancy_at_a_moment(api: Served, database: SampleDatabase) -> None:
    got = api.get("/fabrics/small/occupancy", at=T0 + 55)
    assert {job["job_id"]: job["routers"] for job in got["jobs"]} == {
        "100": [0, 1, 2, 3],
        "101": [3, 4, 8],
        "102": [7],
        "104": [20, 21, 22, 23],
    }
    newest = api.get("/fabrics/small/occupancy")
    assert datetime.fromisoformat(newest["at"]).timestamp() == THROUGH and {j["job_id"] for j in newest["jobs"]} == {
        "101"
    }
    assert api.get("/fabrics/still/occupancy") == {"at": None, "nodes_held": 0, "jobs": []}


def test_steps_stand_alongside_other_runs_of_the_application(api: Served, database: SampleDatabase) -> None:
    every = [api.get(f"/runs/{run_id}/steps") for run_id in database.run_ids[:5]]
    got = every[0]
    assert got["step"] == list(range(6)) and got["others"] == 4
    others = np.array([run["time_s"][:6] for run in every[1:]])
    np.testing.assert_allclose(got["mean_time_s"], others.mean(axis=0))
    np.testing.assert_allclose([got["p10_s"], got["p90_s"]], np.percentile(others, (10, 90), axis=0))
    assert set(got["counters"]) == {"AR_A", "AR_B"} and len(got["counters"]["AR_A"]) == 6
    assert every[4]["counters"] is None and len(every[4]["step"]) == 10
    # The longest run's last step has no other to compare with.
    assert every[4]["mean_time_s"][-1] is None
    alone = api.get(f"/runs/{database.run_ids[5]}/steps")
    assert alone["others"] == 0 and alone["mean_time_s"] is None and alone["run"]["exe"] == HOSTILE
    api.refused("/runs/123456/steps", 404)


def test_runs_are_listed_by_job_and_application(api: Served, database: SampleDatabase) -> None:
    assert len(api.get("/runs")["items"]) == 6
    assert [run["run_key"] for run in api.get("/runs", job="104")["items"]] == ["amg-0"]
    first = api.get("/runs", exe="amg", limit=3)
    second = api.get("/runs", exe="amg", limit=3, cursor=first["next_cursor"])
    assert [run["run_id"] for run in first["items"] + second["items"]] == sorted(database.run_ids[:5], reverse=True)
    assert second["next_cursor"] is None
