"""Estimates: paged rankings, the runs behind a name, the heat map, backtests, forecasts of running jobs, pseudonyms."""

# ruff: noqa: F811 (a fixture that is imported)

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from support.planted_machine import FABRIC

from api.conftest import serving
from api.estimates import EXE, PEOPLE, RESTS, RUNS, SERVES, blame_entry, estimated, head, relevance  # noqa: F401
from flitwatch import stored
from flitwatch.main import main
from flitwatch_api.names import Names
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.estimates import store as estimate_store
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import TABLE_II
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep


def test_every_application_says_how_its_estimates_stand(estimated) -> None:
    api, there = estimated
    items = api.get("/estimates")["items"]
    amg = items[0]
    assert len(items) == 1, items
    assert (amg["exe"], amg["nodes"], amg["runs"], amg["running"]) == ("amg", 128, RUNS, 1)
    assert {kind: amg[kind]["estimate_id"] for kind in ("blame", "deviation", "forecast")} == {
        kind: there[kind] for kind in ("blame", "deviation", "forecast")
    }
    assert [v["kind"] for v in api.get("/estimates/versions", limit=2)["items"]] == ["forecast", "deviation"]


def test_blame_is_ranked_in_pages_and_leads_to_the_runs_behind_a_name(estimated) -> None:
    api, there = estimated
    first = api.get("/estimates/blame", exe="amg", nodes=128, limit=2)
    assert (first["found"], first["testable"], first["total"]) == (2, 2, 3)
    assert [e["place"] for e in first["entries"]] == [1, 2] and len(first["runs"]["run_id"]) == RUNS
    rest = api.get("/estimates/blame", limit=2, cursor=first["next_cursor"])
    assert rest["entries"][0]["reason"] == "exposed in 2 runs, needs 5" and rest["entries"][0]["q"] is None
    assert first["entries"][0]["verdict"] == "named" and first["entries"][0]["effect_s"] == 30
    assert rest["entries"][0]["verdict"] == "cannot tell" and "older version" in rest["entries"][0]["reasons"][0]
    assert rest["next_cursor"] is None
    detail = api.get(f"/estimates/blame/{there['blame']}/user/2")
    assert detail["exposure"] == [2.0] * RUNS and detail["job_id"][-1] == "77"
    assert detail["entry"] == first["entries"][1]


def test_names_of_several_sets_stand_with_the_evidence_of_each(estimated, capfd) -> None:
    api, there = estimated
    with connect(there["url"], role="writer") as conn:
        milc = replace(head("blame", score={}, result={}), exe="/opt/milc", nodes=64)
        number = estimate_store.save_estimate(
            conn, milc, entries={"user": [blame_entry("ann", 1), blame_entry("eve", 2)]}
        )
        estimate_store.set_state(conn, "blame", "/opt/milc", 64, runs=RUNS, newest_run=1, estimate_id=number)
    try:
        found = api.get("/estimates/blame/several")
        shown = [one["name"] for one in api.get("/estimates/blame", exe="amg", nodes=128)["entries"]]
        assert (found["sets"], found["total"], found["definition"]) == (2, 1, "ours")
        (ann,) = found["items"]
        assert (ann["name"], ann["found_in"], ann["tested_in"], ann["verdict"]) == (shown[0], 2, 2, "named")
        assert {(one["exe"], one["nodes"], one["place"]) for one in ann["evidence"]} == {
            ("amg", 128, 1),
            ("milc", 64, 1),
        }
        assert all(one["effect_s"] == 30 and one["simulated"] for one in ann["evidence"])
        assert api.get("/estimates/blame/several", definition="paper")["items"] == []
        everybody = api.get("/estimates/blame/several", least_sets=0)["items"]
        assert [one["name"] for one in everybody] == shown and everybody[2]["verdict"] == "cannot tell"
        main(["blamed", "--json", "--db", there["url"]])
        printed = json.loads(capfd.readouterr().out)["items"]
        assert [(one["name"], one["found_in"], one["q"]) for one in printed] == [(PEOPLE[0], 2, ann["q"])]
        main(["blamed", "--json", "--url", api.url])
        assert json.loads(capfd.readouterr().out)["items"] == found["items"]
        main(["blamed", "--db", there["url"]])
        assert "ann: named, found in 2 of 2 sets tested" in capfd.readouterr().out
    finally:
        with connect(there["url"], role="writer") as conn:
            conn.execute("DELETE FROM estimate_state WHERE exe = '/opt/milc'")
            conn.execute("DELETE FROM estimate WHERE exe = '/opt/milc'")


def test_nobody_below_operator_reads_a_name(estimated) -> None:
    api, there = estimated
    paths = [
        "/estimates/blame/several?least_sets=0",
        "/estimates/blame",
        "/estimates/blame?by=application",
        f"/estimates/blame/{there['blame']}/user/1",
        "/forecasts",
        "/jobs/77/outlook",
    ]
    for path in paths:
        text = api.http.get(f"/api/v1{path}").text
        assert not any(f'"{name}"' in text for name in (*PEOPLE, "vasp"))
    first = api.get("/estimates/blame")["entries"][0]
    assert first["pseudonym"] and first["name"].startswith("user-") and len(first["name"]) == 13
    # The same person has the same pseudonym everywhere.
    assert api.get("/forecasts")["items"][0]["user"] == first["name"]


@pytest.mark.system("processes")
def test_folders_of_executables_are_neither_shown_nor_confirmed_below_operator(estimated) -> None:
    api, there = estimated
    last = there["runs"][-1]
    paths = ["/runs", "/runs?exe=amg", f"/runs/{last}/steps", f"/runs/{last}/forecast", "/estimates", "/estimates/versions?exe=amg", "/estimates/blame?exe=amg",
             "/estimates/deviation", "/estimates/forecast?exe=amg", "/forecasts", "/jobs/77", "/jobs/77/outlook", "/advice/state"]  # fmt: skip
    for path in paths:
        answer = api.http.get(f"/api/v1{path}")
        assert answer.status_code == 200 and "amg" in answer.text and "/home" not in answer.text, path
    assert api.get("/runs", exe=EXE)["items"] == api.get("/estimates/versions", exe=EXE)["items"] == []
    for kind in ("blame", "forecast"):
        api.refused(f"/estimates/{kind}", 404, exe=EXE, nodes=128)
    asked = {"name": "ml.blame", "args": {"exe": "amg", "nodes": 128}}
    begun = api.http.post("/api/v1/tasks", json=asked)
    assert begun.status_code == 202 and begun.json()["args"] == asked["args"]
    asked["args"]["exe"] = EXE
    assert api.http.post("/api/v1/tasks", json=asked).status_code == 403
    with connect(there["url"], role="reader") as conn:
        assert conn.execute("SELECT args ->> 'exe' FROM task WHERE name = 'ml.blame'").fetchall() == [(EXE,)]
    with serving(Settings(db=there["url"], web=None, api_anonymous="operator")) as seeing:
        assert seeing.get("/estimates")["items"][0]["exe"] == EXE
        assert len(seeing.get("/runs", exe=EXE)["items"]) == RUNS and seeing.get("/runs", exe="amg")["items"] == []


def test_operators_read_names_and_people_their_own() -> None:
    assert Names(None).user("ann") == "ann" and not Names(None).pseudonyms
    some = Names(b"key", own="ann")
    assert some.user("ann") == "ann" and some.user("bob") == Names(b"key").user("bob") != Names(b"other").user("bob")
    assert some.user("vasp")[5:] != some.application("vasp")[4:]


def test_the_heat_map_has_a_column_for_every_counter_of_the_paper(estimated) -> None:
    api, _ = estimated
    rates, deltas = (api.get("/estimates/drivers", inputs=inputs) for inputs in ("rates", "deltas"))
    (row,) = rates["sets"]
    assert [c["abbreviation"] for c in rates["counters"]] == [c.abbreviation for c in TABLE_II]
    known = {c["abbreviation"]: value for c, value in zip(rates["counters"], row["rank"], strict=True)}
    assert known["RT_RB_STL"] == 1.0 and known["PT_FLIT_VC0"] is None
    assert row["mape"] == 6.0 and deltas["sets"][0]["mape"] == 3.0


def test_an_estimate_of_an_older_version_gives_no_answer_in_words(estimated) -> None:
    api, _ = estimated
    (row,) = api.get("/estimates/drivers")["sets"]
    assert api.get("/estimates/deviation")["sets"] == [row]
    assert row["groups"] == [] and row["answer"] == ["cannot tell: made with an older version; run the estimate again"]
    assert set(row["place"]) == {None}


def test_features_of_any_fabric_have_columns_and_their_groups_an_answer(estimated, capfd) -> None:
    api, there = estimated
    group = {"name": "stalls at the network cards", "features": ["nic.tx_wait_cycles"], "explained": 0.6, "low": 0.52, "high": 0.68, "kept": 8, "folds": 10, "verdict": "carries"}  # fmt: skip
    rates = relevance(6.0) | {"place": [2, 1], "groups": [group]}
    found = {
        "counters": ["jobs that met it", "nic.tx_wait_cycles"],
        "technology": "infiniband",
        "rates": rates,
        "deltas": rates,
    }
    with connect(there["url"], role="writer") as conn:
        fat_tree = replace(head("deviation", result=found), exe="/opt/milc", nodes=64)
        number = estimate_store.save_estimate(conn, fat_tree)
    try:
        answer = api.get("/estimates/deviation")
        assert [one["abbreviation"] for one in answer["counters"]][-2:] == found["counters"]
        lay, card = answer["counters"][-2:]
        assert (lay["meaning"], card["meaning"]) == ("placement", "stalls at the network cards")
        assert "PortXmitWait" in card["vendor"] or "port_xmit_wait" in card["vendor"]
        (row,) = [one for one in answer["sets"] if one["estimate"]["nodes"] == 64]
        assert row["groups"] == [group] and row["place"][-2:] == [2, 1] and row["rank"][0] is None
        words = (
            "stalls at the network cards: prediction error reduced by 60 % (95 %: 52 to 68 %), kept in 8 of 10 folds"
        )
        assert row["answer"] == [words]
        stored.show_drivers({**answer, "sets": [row]})
        said = capfd.readouterr().out
        assert words in said and said.index("nic.tx_wait_cycles") < said.index("jobs that met it")
    finally:
        with connect(there["url"], role="writer") as conn:
            conn.execute("DELETE FROM estimate WHERE estimate_id = %s", [number])


def test_another_definition_of_what_everybody_sees_takes_an_operator(estimated) -> None:
    api, there = estimated
    for kind in ("deviation", "forecast"):
        asked = {"name": f"ml.{kind}", "args": {"exe": "amg", "nodes": 128, "definition": "paper"}}
        assert api.http.post("/api/v1/tasks", json=asked).status_code == 403
        asked["args"] |= {"definition": "theirs"}
        assert api.http.post("/api/v1/tasks", json=asked).status_code == 422
        asked["args"] |= {"definition": "ours"}
        assert api.http.post("/api/v1/tasks", json=asked).status_code == 202
    with serving(Settings(db=there["url"], web=None, api_anonymous="operator")) as seeing:
        asked["args"] |= {"exe": EXE, "definition": "paper"}
        assert seeing.http.post("/api/v1/tasks", json=asked).status_code == 202


def test_backtests_say_what_serves_and_why(estimated) -> None:
    api, _ = estimated
    got = api.get("/estimates/forecast", exe="amg")
    assert got["serves"] == SERVES and got["backtests"][0]["mape"]["ratio"] == 8.0
    assert got["drift"]["coverage90"] == 0.75 and got["step"] == list(range(6))


def test_a_forecast_says_what_it_rests_on_and_one_of_an_older_version_that_it_cannot(estimated) -> None:
    api, there = estimated
    got = api.get("/estimates/forecast", exe="amg")
    assert got["rests_on"] == [RESTS] and got["rests_on_lacks"] is None
    with connect(there["url"], role="writer") as conn:
        old = head("forecast", result={"serves": SERVES, "backtests": [], "curve_s": [1.0], "notes": []})
        number = estimate_store.save_estimate(conn, old)
    try:
        got = api.get("/estimates/forecast", estimate=number)
        assert got["rests_on"] == [] and "older version" in got["rests_on_lacks"]
    finally:
        with connect(there["url"], role="writer") as conn:
            conn.execute("DELETE FROM estimate WHERE estimate_id = %s", [number])


def test_a_running_job_has_a_band_and_its_earlier_forecasts(estimated) -> None:
    api, there = estimated
    (item,) = api.get("/forecasts")["items"]
    assert (item["job_id"], item["steps"], item["newest"]["expected_s"], item["backtest_mape"]) == ("77", 3, 50.0, 7.5)
    got = api.get(f"/runs/{there['runs'][-1]}/forecast")
    assert got["running"] and got["observed"]["time_s"] == [10.0, 11.0, 12.0]
    assert [made["after_steps"] for made in got["made"]] == [2, 3]
    band = got["band"]
    assert band["step"] == [3, 4, 5]
    assert sum(band["expected_s"]) == pytest.approx(50) and sum(band["low_s"]) == pytest.approx(45)
    assert got["newest"]["slowdown"] == pytest.approx(50 / 42) and got["newest"]["observed_s"] is None
    finished = api.get(f"/runs/{there['runs'][0]}/forecast")
    assert not finished["running"] and finished["band"] is None and "too early" in finished["lacks"]


def test_the_slowest_running_jobs_come_with_their_newest_steps_and_the_slowdown_of_these(estimated) -> None:
    api, there = estimated
    with connect(there["url"], role="writer") as conn:
        before = conn.execute(
            "SELECT step, rank_time_ns, time_s FROM run_step WHERE run_id = %s", [there["runs"][-1]]
        ).fetchall()
        slow = [RunStep(2, np.full(128, 24 * 10**9))]
        runs.upsert_steps(conn, there["runs"][-1], slow)
    try:
        got = api.get("/runs/slowest", fabric="toy")
        (item,) = got["items"]
        assert (got["running"], item["job_id"], item["earlier_runs"]) == (1, "77", RUNS - 1)
        assert item["recent"] == {"step": [0, 1, 2], "time_s": [10.0, 11.0, 24.0], "usual_s": [10.0, 11.0, 12.0]}
        assert item["slowdown"] == pytest.approx(45 / 33)
        assert item["run_time"]["ends"] is None and "needs 19" in item["run_time"]["lacks"]
        assert item["user"].startswith("user-") and item["name"].startswith("app-") and item["exe"] == "amg"
        here, everywhere = (api.get("/forecasts", **asked)["items"] for asked in ({"fabric": "toy"}, {}))
        assert [one["run_id"] for one in here] == [one["run_id"] for one in everywhere] == [there["runs"][-1]]
        api.refused("/runs/slowest", 404, fabric="none")
    finally:
        with connect(there["url"], role="writer") as conn:
            runs.upsert_steps(conn, there["runs"][-1], [RunStep(step, np.array(times)) for step, times, _ in before])


def test_another_machine_has_no_running_job_of_this_one(estimated) -> None:
    api, _ = estimated
    (other,) = [one["name"] for one in api.get("/fabrics")["items"] if one["name"] != "toy"][:1]
    assert api.get("/runs/slowest", fabric=other) == {"recent_s": 1800, "running": 0, "items": []}
    assert api.get("/forecasts", fabric=other)["items"] == []


@pytest.mark.parametrize(("ago_s", "runs_now"), [(20.0, True), (110.0, True), (200.0, False), (1200.0, False)])
def test_a_run_whose_job_is_unknown_runs_only_while_steps_come(embedded_db: str, ago_s: float, runs_now: bool) -> None:
    """Steps of about 10 s, the last `ago_s` ago: twelve of them without a word are an end, whoever runs it."""
    with connect(embedded_db, role="writer") as conn:
        run_id = runs.upsert_run(
            conn, Run(run_key="lost", exe="amg", start_s=time.time() - ago_s - 30, ranks=(0,), nodes=("n",))
        )
        runs.upsert_steps(conn, run_id, [RunStep(step, np.array([10_000_000_000])) for step in range(3)])
    with serving(Settings(db=embedded_db)) as served:
        assert [one["run_id"] for one in served.get("/forecasts")["items"]] == [run_id] * runs_now
        assert served.get(f"/runs/{run_id}/forecast")["running"] == runs_now


def test_a_job_without_steps_is_held_against_its_past_and_its_routers(estimated) -> None:
    api, _ = estimated
    got = api.get("/jobs/77/outlook")
    assert got["past"][0] == {
        "basis": "user, name, size",
        "jobs": 4,
        "p10_s": 1000,
        "p50_s": 1000,
        "p90_s": 1000,
        "longer": 1.0,
    }
    assert got["stalls"], got
    assert got["stalls"]["job"] == 3.0 and got["stalls"]["machine"] == 1.5 and got["stalls"]["percentile"] == 0.75
    assert [n["job_id"] for n in got["neighbours"]] == ["78"]
    assert got["neighbours"][0]["blamed"] == ["amg"]
    assert api.get("/jobs/78/outlook")["past"][0]["p50_s"] is None


def test_a_job_without_steps_has_a_run_time_by_jobs_that_lasted_as_long_or_says_what_lacks(
    embedded_db: str, capfd
) -> None:
    now = time.time()

    def job(number: str, begun_s: float, lasted_s: float | None, user: str = "bob", name: str = "vasp") -> Job:
        ended = {} if lasted_s is None else {"end_s": begun_s + lasted_s}
        state = "RUNNING" if lasted_s is None else "COMPLETED"
        return Job(cluster="c", job_id=number, user=user, name=name, state=state, start_s=begun_s, nodes=8, **ended)

    with connect(embedded_db, role="writer") as conn:
        past = [job(str(100 + n), now - 90_000 + 600 * n, 100.0 + 200 * n) for n in range(60)]
        jobs.upsert_jobs(conn, [*past, job("77", now - 4101, None), job("78", now - 4101, None, "eve", "lammps")])
    with serving(Settings(db=embedded_db, web=None)) as served:
        run_time = served.get("/jobs/77/outlook")["run_time"]
        # 39 of the 60 took longer: 4300 to 11,900 s.
        assert run_time["jobs"] == 39 and run_time["basis"] == "user, name, size" and run_time["tested"] == 20
        assert run_time["expected_s"] == pytest.approx(8100, abs=1)
        assert (run_time["low_s"], run_time["high_s"]) == (pytest.approx(4500, abs=1), pytest.approx(11_700, abs=1))
        ends = [datetime.fromisoformat(run_time[name]).timestamp() for name in ("ends", "ends_low", "ends_high")]
        assert ends == pytest.approx([now - 4101 + seconds for seconds in (8100, 4500, 11_700)], abs=2)
        assert "39 completed jobs of the same user, name and size" in run_time["rests_on"] and run_time["lacks"] is None
        unknown = served.get("/jobs/78/outlook")["run_time"]
        assert unknown["expected_s"] is None and "needs 19 similar completed jobs" in unknown["lacks"]
        assert served.get("/jobs/100/outlook")["run_time"] is None, "it has ended"
        listed = {one["job_id"]: one for one in served.get("/forecasts/jobs")["items"]}
        assert set(listed) == {"77", "78"} and listed["77"]["run_time"]["low_s"] == run_time["low_s"]
        assert listed["77"]["user"].startswith("user-") and listed["77"]["name"].startswith("app-")
        main(["forecast", "--job", "77", "--url", served.url])
        printed = capfd.readouterr().out
        assert "8100 s in all (4500 to 11.7 k s, 90 %)" in printed and "rests on 39 completed jobs" in printed
        assert re.search(r"ends about \S+ \S+ UTC, between \S+ \S+ and \S+ \S+ UTC \(90 %\)", printed)
        main(["forecast", "--job", "78", "--url", served.url])
        assert "cannot tell: needs 19" in capfd.readouterr().out
        with connect(embedded_db, role="writer") as conn:
            machine_id = fabrics.save_fabric(conn, FABRIC)
            placed = replace(job("79", now - 60, None), node_list=FABRIC.endpoints.node[0], simulated=True)
            jobs.upsert_jobs(conn, [placed], machine_id)
        of_machine, of_all = (served.get("/forecasts/jobs", **of)["items"] for of in ({"fabric": FABRIC.name}, {}))
        assert [one["job_id"] for one in of_machine] == ["79"] and {one["job_id"] for one in of_all} == {
            "77",
            "78",
            "79",
        }


def test_what_is_not_there_is_said(estimated) -> None:
    api, there = estimated
    assert "lists the applications" in api.refused("/estimates/blame", 404, exe="umt")["advice"]
    api.refused(f"/estimates/blame/{there['blame']}/user/9", 404)
    api.refused(f"/estimates/blame/{there['forecast']}/user/1", 404)
    api.refused("/runs/99999/forecast", 404)
    api.refused("/jobs/none/outlook", 404)
    api.refused("/estimates/deviation", 422, inputs="both")
