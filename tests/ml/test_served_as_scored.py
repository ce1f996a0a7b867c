"""The production task on the jobs of a simulated campaign returns the figures scored by the scorecard."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from flitwatch_db import connect
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import TABLE_II
from flitwatch_domain.generators import cori_like
from flitwatch_domain.neighbourhood import CIRCUMSTANCES
from flitwatch_ml import tasks
from flitwatch_ml.blame import CalendarBlame, PresenceBlame
from flitwatch_ml.work import blame as work
from flitwatch_research.campaign import COUNTER_NAMES, Campaign, generate_campaign, generate_truth
from flitwatch_research.campaign.history import make_history
from flitwatch_research.campaign.simulate import EPOCH_S
from flitwatch_research.scorecard import deviation, forecast
from flitwatch_research.scorecard.blame import fit_methods
from ml.conftest import Context

#: Runs with readings that were lost: what an estimator leaves out is a part of what is scored.
APPLICATION, SCENARIO, SEED, USERS, RUNS = "minivite-128", "minivite-128@missing", 1, 40, 60
UNREAD, SELDOM = [5, 17, 140], COUNTER_NAMES.index("PT_FLIT_VC0")


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """With runs of which no reading is left, and a counter that was read in fewer than half of the steps."""
    made = generate_campaign(SCENARIO, SEED, USERS)
    counters = made.counters.copy()
    counters[UNREAD] = np.nan
    counters[: int(0.6 * len(counters)), :, SELDOM] = np.nan
    return replace(made, counters=counters)


@pytest.fixture
def scored_set(monkeypatch: pytest.MonkeyPatch, campaign: Campaign) -> None:
    """The card scores this campaign."""
    for part in (deviation, forecast):
        monkeypatch.setattr(part, "generate_campaign", lambda *_: campaign)


@pytest.fixture
def stored(embedded_db: str, campaign: Campaign) -> str:
    """The first runs of the campaign."""
    return store(embedded_db, campaign, RUNS)


@pytest.fixture
def all_stored(embedded_db: str, campaign: Campaign) -> str:
    """All runs of the campaign, as the card scores them."""
    return store(embedded_db, campaign, len(campaign.run_key))


def store(url: str, campaign: Campaign, runs: int) -> str:
    """Runs with their counters and every job of the machine in these weeks, as Slurm and the runs themselves report them."""
    history = make_history(SEED, USERS)
    jobs, own = history.jobs, history.runs_of(APPLICATION)[:runs]
    early = np.flatnonzero(jobs.start_s < jobs.start_s[own].max() + 86_400)
    with connect(url) as conn:
        fabric = fabrics.save_fabric(conn, cori_like(io_routers_per_group=4))
        pk = {}
        with conn.cursor().copy(
            "COPY job (cluster, job_id, user_name, name, state, start_ts, end_ts, nodes, simulated) FROM STDIN"
        ) as rows:
            for job in early.tolist():
                begin, end = (_moment(values[job]) for values in (jobs.start_s, jobs.end_s))
                user, name = history.user_names[jobs.user[job]], jobs.application[job] or None
                rows.write_row(["c", str(job), user, name, "COMPLETED", begin, end, int(jobs.size[job]), True])
        pk = dict(conn.execute("SELECT job_id::int, job_pk FROM job").fetchall())
        with conn.cursor().copy("COPY job_node (job_pk, node, fabric_id, endpoint, router) FROM STDIN") as rows:
            for job in _near(jobs, own, campaign.run_time_s[:runs]).tolist():
                for node in jobs.nodes_of(job).tolist():
                    rows.write_row([pk[job], f"n{node}", fabric, node, int(history.machine.node_router[node])])
        for at, job in enumerate(own.tolist()):
            _run(conn, campaign, at, pk[job], _moment(jobs.start_s[job]))
    return url


def _near(jobs, own, time_s):
    """Only the places of jobs that met a run are asked for."""
    met = np.zeros(len(jobs.start_s), bool)
    for job, time in zip(own.tolist(), time_s, strict=True):
        met |= (jobs.start_s < jobs.start_s[job] + time) & (jobs.end_s > jobs.start_s[job])
    return np.union1d(np.flatnonzero(met), own)


def _moment(second: float) -> datetime:
    return datetime.fromtimestamp(EPOCH_S + second, UTC)


def _run(conn, campaign: Campaign, at: int, job: int, start: datetime) -> None:
    (run,) = conn.execute(
        "INSERT INTO run (run_key, job_pk, exe, start_ts, ranks, simulated, counter_names) VALUES (%s, %s, %s, %s, 1, true, %s) RETURNING run_id",
        [campaign.run_key[at], job, campaign.executable, start, [counter.vendor for counter in TABLE_II]],
    ).fetchone()
    conn.cursor().executemany(
        "INSERT INTO run_step (run_id, step, time_s, rank_time_ns, counter_sums) VALUES (%s, %s, %s, '{1}', %s)",
        [
            (run, step, float(time), _read(counted))
            for step, (time, counted) in enumerate(zip(campaign.times_s[at], campaign.counters[at], strict=True))
        ],
    )
    conn.cursor().executemany(
        "INSERT INTO run_step_around (run_id, step, io, sys) VALUES (%s, %s, %s, %s)",
        [
            (run, step, _read(io), _read(rest))
            for step, (io, rest) in enumerate(zip(campaign.io_rates[at], campaign.sys_rates[at], strict=True))
        ],
    )


def _read(values) -> list[float | None] | None:
    """Lost readings are NULL, and a row of none but lost ones is not there."""
    read = [None if np.isnan(value) else float(value) for value in values]
    return read if any(value is not None for value in read) else None


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_the_service_sees_the_neighbourhood_that_is_scored(stored: str, campaign) -> None:
    with connect(stored) as conn:
        runs = estimates.runs_of(conn, campaign.executable, campaign.nodes)
        least = tasks.large_job_nodes(estimates.machine_nodes(conn, runs.run_id))
        users = work.co_running(estimates.co_running(conn, runs.run_id), least)["user"]
    column = [campaign.user_names.index(name) for name in users.names]
    absent = np.setdiff1d(np.arange(len(campaign.user_names)), column)
    assert np.allclose(users.met.overlap, campaign.overlap[:RUNS, column], atol=1e-6)
    assert np.allclose(users.met.exposure, campaign.exposure[:RUNS, column], rtol=1e-5, atol=1e-6)
    assert not campaign.exposure[:RUNS, absent].any() and campaign.overlap[:RUNS].any()
    assert np.allclose(runs.step_time_s, campaign.times_s[:RUNS])


def first_runs(campaign: Campaign, runs: int) -> Campaign:
    """What blame takes of the first runs."""
    parts = ("run_key", "run_start_s", "times_s", "overlap", "exposure", "circumstances")
    return replace(campaign, **{name: getattr(campaign, name)[:runs] for name in parts})


def served_users(url: str, asked: dict[str, object]) -> tuple[list[tuple[str, dict]], dict, dict]:
    """Names with their entries in the order of the ranking, the estimate's score and its result."""
    answer = tasks.run_blame(asked, Context(url))
    with connect(url) as conn:
        entries = conn.execute(
            "SELECT name, entry, overlap, exposure FROM estimate_entry WHERE estimate_id = %s AND by_what = 'user' ORDER BY place",
            [answer["estimate_id"]],
        ).fetchall()
    _, score, result = _estimate(url, answer["estimate_id"])
    return [(name, {**entry, "overlap": there, "exposure": met}) for name, entry, there, met in entries], score, result


def near(value: object) -> object:
    """A scored number as an entry keeps it; PostgreSQL's times have microseconds."""
    return None if np.isnan(value) else pytest.approx(float(value), rel=1e-3, abs=1e-3)  # type: ignore[call-overload, arg-type]


def require_equal(
    campaign: Campaign, served: list[tuple[str, dict]], score: dict, result: dict, paper: str
) -> CalendarBlame:
    """Every value of every user's entry, and the estimate's counts, against the methods that the card scores."""
    scored = fit_methods(campaign)
    ours, theirs = scored["calendar (ours, as served)"], scored[paper]
    assert isinstance(ours, CalendarBlame) and isinstance(theirs, PresenceBlame)
    at = {name: index for index, name in enumerate(campaign.user_names)}
    present = [at[name] for name, _ in served]
    assert not ours.exposed_runs_[np.setdiff1d(np.arange(len(at)), present)].any(), "who is not served met no run"
    # Untestable users have no order.
    order = [user for user in ours.ranking_.tolist() if ours.testable_[user]]
    assert present[: len(order)] == order
    place = {user: number for number, user in enumerate(order, 1)}
    chosen = {user: number for number, user in enumerate(ours.selected_.tolist(), 1)}
    for name, entry in served:
        user = at[name]
        low, high = ours.effect_interval_s_[user]
        node_hours = ours.exposed_runs_[user] * campaign.nodes / 3600
        reasons = [work.in_words(reason, lambda other: f"in place {place[other]}") for reason in ours.reasons_[user]]
        testable = bool(ours.testable_[user])
        assert entry == {
            "own": name == campaign.user_names[-1],
            "verdict": ours.verdict_[user],
            "reasons": reasons,
            "reason": None if testable else reasons[0],
            "testable": testable,
            "exposed_runs": ours.exposed_runs_[user],
            "selected": chosen.get(user),
            "score": near(ours.score_[user]),
            "sign": ours.sign_[user],
            "p": near(ours.p_value_[user]),
            "q": near(ours.q_value_[user]),
            "effect_s": near(ours.effect_s_[user]),
            "effect_low_s": near(low),
            "effect_high_s": near(high),
            "lost_node_hours": near(ours.effect_s_[user] * node_hours),
            "lost_low_node_hours": near(low * node_hours),
            "lost_high_node_hours": near(high * node_hours),
            "mi_bits": near(theirs.mi_bits_[user]),
            "mi_sign": theirs.sign_[user],
            "mi_p": near(theirs.p_value_[user]),
            "mi_q": near(theirs.q_value_[user]),
            "overlap": pytest.approx(campaign.overlap[:, user].tolist(), abs=1e-5),
            "exposure": pytest.approx(campaign.exposure[:, user].tolist(), rel=1e-4, abs=1e-5),
        }, name
    assert score == {
        "found": ours.verdict_.count("named"),
        "cannot_tell": sum(entry["verdict"] == "cannot tell" for _, entry in served),
        "testable": ours.testable_.sum(),
        "users": len(served),
    }
    assert result["method"]["regimes_s"] == pytest.approx(ours.calendar_.regimes_s.tolist(), abs=1.0)
    return ours


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_the_task_gives_everything_of_every_user_as_it_is_scored(all_stored: str, campaign: Campaign) -> None:
    asked = {"exe": campaign.executable, "nodes": campaign.nodes, "definition": "paper"}
    ours = require_equal(campaign, *served_users(all_stored, asked), "mi, present throughout (the paper)")
    assert ours.verdict_.count("named") >= 5 and "no evidence" in ours.verdict_
    truth = generate_truth(SCENARIO, SEED, USERS)
    named = [label for label, verdict in zip(truth.label, ours.verdict_, strict=True) if verdict == "named"]
    assert "null" not in named


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_of_few_runs_untestable_users_and_their_reasons_are_as_scored_too(stored: str, campaign: Campaign) -> None:
    asked = {"exe": campaign.executable, "nodes": campaign.nodes, "definition": "paper"}
    served = served_users(stored, asked)
    ours = require_equal(first_runs(campaign, RUNS), *served, "mi, present throughout (the paper)")
    untestable = [entry for _, entry in served[0] if not entry["testable"]]
    assert len(untestable) >= 3 and all(entry["verdict"] == "cannot tell" and entry["reason"] for entry in untestable)
    assert all(entry["q"] is None and entry["effect_s"] is None for entry in untestable) and ours.testable_.sum() > 10


def _estimate(url: str, number: int) -> tuple[dict, dict, dict]:
    with connect(url) as conn:
        return conn.execute(
            "SELECT parameters, score, result FROM estimate WHERE estimate_id = %s", [number]
        ).fetchone()


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_the_task_gives_the_drivers_that_are_scored(all_stored: str, campaign: Campaign, scored_set: None) -> None:
    asked = {"exe": campaign.executable, "nodes": campaign.nodes}
    _, score, result = _estimate(all_stored, tasks.run_deviation(asked, Context(all_stored))["estimate_id"])
    scored = {(row["inputs"], row["split"]): row for row in deviation.rows(SCENARIO, SEED, USERS, deviation.VARIANTS)}
    assert "PT_FLIT_VC0" not in result["counters"] and len(result["counters"]) == 12 + len(CIRCUMSTANCES)
    for inputs in ("rates", "deltas"):
        row, served = scored[inputs, "run"], result[inputs]
        assert served["mape"] == pytest.approx(row["mape"]) and served["baseline_mape"] == row["baseline_mape"]
        assert dict(zip(result["counters"], served["relevance"], strict=True)) == pytest.approx(row["relevance"])
        assert {name: row["rank"][name] for name in result["counters"]} == dict(
            zip(result["counters"], served["place"], strict=True)
        )
    assert result["deltas"]["row_split_mape"] == pytest.approx(scored["deltas", "row"]["mape"])
    assert score["mape"] == result["rates"]["mape"]


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_the_task_gives_the_forecasts_that_are_scored(all_stored: str, campaign: Campaign, scored_set: None) -> None:
    asked = {"exe": campaign.executable, "nodes": campaign.nodes}
    parameters, score, result = _estimate(all_stored, tasks.run_forecast(asked, Context(all_stored))["estimate_id"])
    (scored,) = forecast.rows(SCENARIO, SEED, USERS)
    assert scored["features"] == "app+placement" and any("without io" in note for note in result["notes"]), (
        "most runs have lost a reading of their I/O routers"
    )
    assert (parameters["features"], parameters["m"][1], parameters["k"][1]) == tuple(
        scored[key] for key in ("features", "m", "k")
    )
    assert score["serves"] == " + ".join(scored["serves"])
    assert score["mape"] == pytest.approx(scored["mape"])
    assert score["served_mape"] == pytest.approx(scored["served_mape"])
    assert score["coverage90"] == pytest.approx(scored["coverage90"])
    (row,) = [
        one
        for one in result["backtests"]
        if all(one[key] == scored[key] for key in ("m", "k", "features", "runs", "windows"))
    ]
    assert row["mape"] == score["mape"]
