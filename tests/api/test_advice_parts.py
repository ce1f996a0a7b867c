"""Parts of advice: each works with data, says "cannot tell" and changes nothing without data, and is named in `because`."""

from __future__ import annotations

import json
import time
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.bodies import ASKED, NOW, basis, sent
from api.conftest import serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.estimates.advice import group_residents, load_basis, pick_drivers
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.advice.basis import Basis, Congestion, Driver
from flitwatch_domain.advice.decision import give_advice
from flitwatch_domain.advice.pattern import LEAST_PLACED, SERVED, Parts, choose_pattern
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_domain.run_time import PastTimes, Resident, compute_stay_share, predict_interval, whole_time

NAMES = tuple(field.name for field in fields(Parts))
ROW_BUS = "stalls on the row bus"


def get_advice(made: Basis, *names: str, asked=ASKED) -> dict:
    return sent(give_advice(made, asked, str, 0.0, parts=Parts.of(names)))


def saying(answer: dict, part: str) -> dict:
    return next(one for one in answer["because"] if one["part"] == part)


def mallory(**more: object) -> dict:
    return {
        "user": "mallory", "nodes": 64, "estimate_id": 9, "place": 1, "q": 0.01, "groups": ["1/0"], "jobs": ["5"],
        "runs": {"time_s": [100.0] * 10 + [200.0] * 10}, "exposure": [0.0] * 10 + [1.0] * 10, **more,
    }  # fmt: skip


@pytest.mark.parametrize("part", ["forecast", "running", "drivers", "pattern", "routing"])
def test_a_part_without_data_cannot_tell_and_changes_nothing(part: str) -> None:
    made = basis()
    without, with_part = get_advice(made, "counters", "blame"), get_advice(made, "counters", "blame", part)
    assert saying(with_part, part)["known"] is False and saying(with_part, part)["text"]
    for name in ("action", "preferred", "expected_slowdown", "usual_s", "candidates", "routing_mode"):
        assert with_part[name] == without[name]
    alone = get_advice(made, part)
    assert alone["action"] == "start" and alone["expected_slowdown"] is None
    assert [one["part"] for one in alone["because"]] == [part]


@given(st.sets(st.sampled_from(NAMES)))
def test_because_names_the_parts_that_are_on_and_no_other(names: set[str]) -> None:
    answer = get_advice(basis(), *names)
    assert [one["part"] for one in answer["because"]] == [name for name in NAMES if name in names]


def test_because_says_what_each_part_knows() -> None:
    made = basis()
    made.ahead.update({(1, 0): (5.0, NOW - 30), (1, 1): (1.0, NOW - 30)})
    made.blamed["milc"] = [mallory()]
    answer = get_advice(made, "counters", "blame", "forecast")
    assert saying(answer, "counters")["text"] == "1.00 to 5.00 stall cycles per flit now, in 2 of 2 groups"
    assert saying(answer, "forecast")["text"] == "1.00 to 5.00 stall cycles per flit expected for the next hour"
    for technology, words in (("infiniband", "stalls per word"), ("ethernet", "x sending time paused")):
        made.technologies[1] = technology
        assert saying(get_advice(made, "counters"), "counters")["text"] == f"1.00 to 5.00 {words} now, in 2 of 2 groups"
    assert "mallory runs" in saying(answer, "blame")["text"] and saying(answer, "blame")["evidence"].endswith("/user/1")
    made.blamed["milc"] = [mallory(groups=["7/7"])]
    assert saying(get_advice(made, "blame"), "blame") == {
        "part": "blame", "known": True, "text": "no user named by blame for this application runs near these nodes", "evidence": None,
    }  # fmt: skip


def test_congestion_ends_with_the_jobs_that_are_there() -> None:
    made = basis(calm=4.9, busy=5.0)
    made.usual.update({(1, 0): 1.0, (1, 1): 1.0})
    made.residents.update({(1, 0): [Resident("eve", 40, 1e5)], (1, 1): [Resident("bob", 40, 1.0)]})
    assert get_advice(made, "counters")["action"] == "delay"
    got = get_advice(made, "counters", "running")
    assert (got["action"], got["preferred"]) == ("prefer", 1)
    assert get_advice(made, "running")["preferred"] == 1
    assert saying(got, "running")["known"] and "1% to 100%" in saying(got, "running")["text"]


def test_a_blamed_users_jobs_count_for_as_long_as_they_stay() -> None:
    made = basis()
    made.blamed["milc"] = [mallory()]
    made.residents[1, 0] = [Resident("mallory", 64, 15.0), Resident("mallory", 8, 75.0)]
    slowdown = get_advice(made, "blame", "running")["candidates"][0]["expected_slowdown"]["mean"]
    # Half of a run of 150 s alongside them: half-way between 100 s and 200 s of 150 s.
    assert slowdown == pytest.approx(1.0)
    made.residents[1, 0].append(Resident("mallory", 8, None))
    whole = get_advice(made, "blame", "running")["candidates"][0]["expected_slowdown"]["mean"]
    assert whole == pytest.approx(200 / 150), "an unknown end is no early end"


def test_nobody_waits_for_what_will_not_end() -> None:
    made = basis(calm=5.0)
    places = ((1, 0), (1, 1))
    made.usual.update(dict.fromkeys(places, 5.0))
    made.residents.update({place: [Resident("eve", 40, 50_000.0)] for place in places})
    assert get_advice(made, "counters")["action"] == "delay"
    got = get_advice(made, "counters", "running")
    assert got["action"] == "start" and any(one["kind"] == "waiting" for one in got["reasons"])
    made.residents.update({place: [Resident("eve", 40, 600.0)] for place in places})
    assert get_advice(made, "counters", "running")["action"] == "delay"


def test_the_counters_that_drive_the_application_decide() -> None:
    made = basis(calm=1.0, busy=5.0)
    made.kinds[ROW_BUS] = Congestion(now={(1, 0): (50.0, NOW - 30), (1, 1): (10.0, NOW - 30)})
    made.drivers["milc", 64] = Driver(ROW_BUS, "stalls on the row bus explain 60 %", 4)
    made.runs["milc"] = [{**row, "driven": 10 * row["congestion"]} for row in made.runs["milc"]]
    assert get_advice(made, "counters")["preferred"] == 0
    for names in (("drivers",), ("counters", "drivers")):
        got = get_advice(made, *names)
        assert got["preferred"] == 1 and "cycles on the row bus per flit" in got["reasons"][0]["text"]
        assert saying(got, "drivers")["known"]
    made.drivers["milc", 32] = made.drivers.pop(("milc", 64))
    assert get_advice(made, "counters", "drivers")["preferred"] == 0, "found at another size"


def test_drivers_that_carry_and_are_counted_by_group_are_taken_the_first_first() -> None:
    def group(name: str, verdict: str) -> dict:
        return {"name": name, "explained": 0.6, "low": 0.5, "high": 0.7, "kept": 9, "folds": 10, "verdict": verdict}

    groups = [
        group("NIC latency", "carries"),
        group(ROW_BUS, "cannot tell"),
        group("traffic at router tiles", "carries"),
    ]
    found = pick_drivers([{"application": "milc", "nodes": 64, "estimate_id": 4, "groups": groups}])
    assert found["milc", 64].kind == "traffic at router tiles" and "60 %" in found["milc", 64].text
    assert pick_drivers([{"application": "milc", "nodes": 64, "estimate_id": 4, "groups": groups[:2]}]) == {}
    assert pick_drivers([{"application": "milc", "nodes": 64, "estimate_id": 4, "groups": None}]) == {}


def runs(together_s: float, spread_s: float, count: int = 2 * LEAST_PLACED) -> list[dict]:
    return [
        {"nodes": 64, "user": "eve", "time_s": time_s + n % 5, "congestion": 1.0 + n % 7, "groups": groups}
        for n in range(count)
        for time_s, groups in ((together_s, [0]), (spread_s, [0, 1]))
    ]


def test_a_pattern_is_measured_on_the_applications_own_runs_else_by_what_it_sends() -> None:
    assert choose_pattern("milc", runs(100, 130), None).placement == "together"
    assert choose_pattern("milc", runs(130, 100), {"share": 0.0}).placement == "spread", (
        "measured runs go before the rule"
    )
    assert choose_pattern("milc", runs(100, 100), {"share": 0.9}).placement is None
    assert choose_pattern("milc", [], {"share": 0.2}).placement == "spread"
    assert choose_pattern("milc", [], {"share": 0.01, "recommendation_id": 3}).evidence == "/api/v1/advice/3"
    assert choose_pattern("milc", [], {"share": 0.01}).placement == "together"
    assert choose_pattern("milc", [], None).placement is None


def test_a_full_machine_is_not_taken_for_a_pattern() -> None:
    """Runs over several groups see more congestion; at like congestion both take the same time."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(40):
        rows = []
        for _ in range(120):
            full = rng.random() < 0.5
            seen = rng.normal(4.0 if full else 2.0, 0.3)
            groups = [0, 1] if rng.random() < (0.8 if full else 0.2) else [0]
            rows.append({"time_s": 100 * seen + rng.normal(0, 30), "congestion": seen, "groups": groups})
        wrong += choose_pattern("milc", rows, None).placement is not None
    assert wrong <= 6


def test_the_pattern_chooses_among_candidates_that_are_as_good() -> None:
    made = basis(calm=3.0, busy=3.0)
    asked = replace(ASKED, candidates=[["a0", "a1"], ["a0", "b0"]])
    made.runs["milc"] += [{**row, "application": "milc"} for row in runs(151, 151)]
    made.intensity["milc"] = {"share": 0.4, "recommendation_id": 2}
    made.runs["milc"] = [{**row, "groups": None} for row in made.runs["milc"]]
    got = get_advice(made, "counters", "pattern", asked=asked)
    assert (got["action"], got["preferred"]) == ("prefer", 1) and any(
        one["kind"] == "pattern" for one in got["reasons"]
    )
    made.memo.clear()
    made.intensity["milc"] = {"share": 0.01, "recommendation_id": 2}
    assert get_advice(made, "counters", "pattern", asked=asked)["preferred"] == 0
    assert get_advice(made, "pattern", asked=ASKED)["action"] == "start", "both candidates lie in one group"
    hot = replace(asked, candidates=[["a0", "a1"], ["a0", "b0"]])
    made.memo.clear()
    made.groups[1, 1] = (5.0, NOW - 30)
    made.intensity["milc"] = {"share": 0.4, "recommendation_id": 2}
    assert get_advice(made, "counters", "pattern", asked=hot)["preferred"] == 0, (
        "expected slowdowns go before the pattern"
    )


@given(st.lists(st.floats(1, 1e5), min_size=1, max_size=60), st.floats(0, 1e5))
def test_the_time_of_a_running_job_is_that_of_the_jobs_that_took_longer(times: list[float], elapsed: float) -> None:
    longer = [one for one in times if one > elapsed]
    got = whole_time(np.sort(times), elapsed)
    if len(longer) < 19:
        assert got is None
    else:
        assert got == pytest.approx(predict_interval(longer))


def test_what_is_left_of_a_job_is_reported_by_those_of_its_like() -> None:
    past = PastTimes(["ann"] * 30 + ["bob"] * 30, ["milc"] * 60, np.full(60, 64.0), np.repeat([1000.0, 3000.0], 30))
    assert past.left_s("ann", "milc", 64, 400.0) == pytest.approx(600.0)
    assert past.left_s("ann", "milc", 64, 2000.0) == pytest.approx(1000.0), "hers are over: all of that name"
    # Slow by 2 now, it has lost 200 s: it is as far as after 400 s, and the rest takes twice as long.
    assert past.left_s("ann", "milc", 64, 600.0, factor=2.0, lost_s=200.0) == pytest.approx(1200.0)
    assert past.left_s("cyd", "", 64, 400.0) is None and past.left_s("ann", "milc", 8, 400.0) is None
    assert compute_stay_share([Resident("ann", 10, 50.0), Resident("bob", 30, 1e9)], 100.0) == pytest.approx(0.875)
    assert compute_stay_share([Resident("ann", 10, 50.0), Resident("bob", 30, None)], 100.0) is None
    assert compute_stay_share([], 100.0) is None


def test_simulated_and_real_jobs_are_not_alike() -> None:
    past = [{"user": "ann", "name": "m", "nodes": 8, "simulated": True, "time_s": 100.0}] * 30
    row = {
        "user": "ann",
        "name": "m",
        "nodes": 8,
        "here": 8,
        "elapsed_s": 10.0,
        "fabric_id": 1,
        "group_id": 2,
        "factor": 1.0,
        "lost_s": 0.0,
    }
    assert group_residents([{**row, "simulated": True}], past)[1, 2][0].left_s == pytest.approx(90.0)
    assert group_residents([{**row, "simulated": False}], past)[1, 2][0].left_s is None


def test_the_basis_holds_running_jobs_drivers_and_what_was_sent(embedded_db: str) -> None:
    fabric = build_dragonfly(2, 2, 2, endpoints_per_router=2, name="parts")
    names = [str(name) for name in fabric.endpoints.node]
    now = time.time()
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        common = {
            "user": "ann",
            "cluster": "c",
            "name": "milc",
            "nodes": 2,
            "node_list": f"{names[0]},{names[-1]}",
            "simulated": True,
        }
        past = [
            Job(
                job_id=str(n),
                state="COMPLETED",
                submit_s=now - 9e4,
                start_s=now - 9e4 + n,
                end_s=now - 9e4 + n + 5000,
                **common,
            )
            for n in range(30)
        ]
        jobs.upsert_jobs(
            conn,
            [*past, Job(job_id="99", state="RUNNING", submit_s=now - 2000, start_s=now - 2000, **common)],
            fabric_id,
        )
        group = {
            "name": ROW_BUS,
            "explained": 0.6,
            "low": 0.5,
            "high": 0.7,
            "kept": 9,
            "folds": 10,
            "verdict": "carries",
        }
        (number,) = conn.execute(
            "INSERT INTO estimate (kind, exe, nodes, code_version, parameters, data, score, result, simulated)"
            " VALUES ('deviation', 'milc', 2, 'v', '{}', '{}', '{}', %s, true) RETURNING estimate_id",
            [json.dumps({"rates": {"groups": [group]}})],
        ).fetchone()
        conn.execute(
            "INSERT INTO estimate_state (kind, exe, nodes, runs, newest_run, estimate_id) VALUES ('deviation', 'milc', 2, 9, 1, %s)",
            [number],
        )
        conn.execute(
            "INSERT INTO recommendation (kind, state, application, title, reason, detail, simulated, authorised)"
            " VALUES ('placement', 'refused', 'milc', 't', 'r', %s, true, true)",
            [
                json.dumps(
                    {"why": [{"text": "flits sent, as a share of what a NIC can send", "value": 0.2, "unit": None}]}
                )
            ],
        )
        conn.commit()
        held = load_basis(conn)
    assert held.drivers["milc", 2].kind == ROW_BUS and ROW_BUS in held.kinds
    assert held.intensity["milc"]["share"] == pytest.approx(0.2)
    here = [one for place in held.residents.values() for one in place]
    assert {place[0] for place in held.residents} == {fabric_id} and len(held.residents) == 2
    assert all(one.user == "ann" and one.nodes == 1 and one.left_s == pytest.approx(3000, abs=30) for one in here)


@pytest.mark.system("processes")
def test_a_site_chooses_the_parts(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {"user": "ann", "application": "milc", "nodes": 8, "candidates": [["nid00001"]]}
    with serving(Settings(db=embedded_db, web=None)) as api:
        usual = api.http.post("/api/v1/advice", json=job).json()
        assert [one["part"] for one in usual["because"]] == [name for name in NAMES if getattr(SERVED, name)]
    monkeypatch.setenv("FLITWATCH_ADVICE_PARTS", "pattern, forecast")
    with serving(Settings(db=embedded_db, web=None)) as api:
        got = api.http.post("/api/v1/advice", json=job).json()
        batch = api.http.post("/api/v1/advice/batch", json={"jobs": [job]}).json()["items"][0]
        assert (
            [one["part"] for one in got["because"]]
            == ["forecast", "pattern"]
            == [one["part"] for one in batch["because"]]
        )
    monkeypatch.setenv("FLITWATCH_ADVICE_PARTS", "counters,tea")
    with pytest.raises(BadRequest, match=r"FLITWATCH_ADVICE_PARTS.*no part 'tea'.*counters, blame"):
        Settings.read()


def test_the_agent_takes_a_preference_that_has_no_slowdown() -> None:
    from flitwatch_slurm.questions import _parse_advice

    made = basis()
    made.groups.clear()
    made.intensity["milc"] = {"share": 0.4}
    answer = get_advice(made, "pattern", asked=replace(ASKED, candidates=[["a0"], ["a0", "b0"]]))
    assert answer["preferred"] == 1 and answer["expected_slowdown"] is None
    taken = _parse_advice(answer, [3, 4])
    assert (taken.action, taken.chosen, taken.worse) == ("prefer", [4], [])
