"""Campaigns: deterministic, counterfactual, with the paper's shapes, and with the truth separate from observations."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.generators import build_dragonfly
from flitwatch_research import campaign
from flitwatch_research.campaign import VARIANTS, Campaign, CampaignTruth, cache, simulate
from flitwatch_research.campaign.background import checkpoint_load, long_queue, simulate_queue
from flitwatch_research.campaign.cause import Cause
from flitwatch_research.campaign.dataset import label_effects
from flitwatch_research.campaign.footprint import compute_footprints
from flitwatch_research.campaign.history import History, make_history
from flitwatch_research.campaign.variants import Era
from flitwatch_twin.applications import Application, find_application
from flitwatch_twin.flows import Flows, exchange_pattern
from flitwatch_twin.machine import Machine
from flitwatch_twin.static_model import StaticPathModel
from flitwatch_twin.traffic import Checkpoints


@pytest.fixture(scope="module")
def history() -> History:
    return make_history(11, 60, days=10)


def _run(history: History, app: Application, job: int, variant: str = "plain") -> simulate._Run:
    """One run as a campaign of this variant simulates it."""
    chosen = VARIANTS[variant]
    era = Era.draw(chosen, np.random.default_rng(1), 10 * 86400.0, len(campaign.COUNTER_NAMES))
    return simulate._simulate_run(
        history, app, job, Cause.of(app, chosen, np.random.default_rng(3)), era, chosen.variation
    )


def test_history_is_a_possible_schedule(history: History) -> None:
    jobs = history.jobs
    order = np.argsort(jobs.start_s)
    free_at = np.zeros(history.machine.nodes)
    for job in order.tolist():
        nodes = jobs.nodes_of(job)
        assert len(np.unique(nodes)) == jobs.size[job]
        assert (free_at[nodes] <= jobs.start_s[job]).all()
        free_at[nodes] = jobs.end_s[job]
    used = ((jobs.end_s - jobs.start_s) * jobs.size).sum() / (10 * 86400 * history.machine.nodes)
    assert 0.2 < used < 0.9
    assert len(history.runs_of("amg-128")) >= 8


def test_a_run_is_the_same_again_and_its_effects_add_up_to_less_than_it(history: History) -> None:
    app = find_application("amg-128")
    for job in history.runs_of("amg-128")[:4].tolist():
        once, again = (_run(history, app, job) for _ in range(2))
        assert np.array_equal(once.times_s, again.times_s)
        assert np.array_equal(once.recorded.own, again.recorded.own)
        assert np.array_equal(once.effect_log, again.effect_log)
        assert once.times_s.sum() >= app.alone_s * 0.97
        assert (once.effect_s >= -1e-6).all() and once.effect_s.max() < once.times_s.sum() - app.alone_s * 0.9
        assert (once.recorded.own > 0).all() and (once.recorded.io > 0).all() and (once.recorded.rest > 0).all()


@pytest.mark.parametrize("variant", ["plain", "law"])
def test_effect_is_that_of_a_machine_without_the_user(history: History, variant: str) -> None:
    """Leave the strongest user's jobs out by hand: the same run takes what the truth says."""
    app = find_application("milc-128")
    runs = [(job, _run(history, app, job, variant)) for job in history.runs_of("milc-128")[:6].tolist()]
    job, run = max(runs, key=lambda pair: pair[1].effect_s[: len(history.users)].max())
    user = int(np.argmax(run.effect_s[: len(history.users)]))
    quiet = {name: getattr(history.users, name).copy() for name in ("rate", "incast_rate")}
    for values in quiet.values():
        values[user] = 0.0
    users = replace(history.users, **quiet)
    without = _run(replace(history, users=users), app, job, variant)
    kept_io = history.users.io_rate[user] * app.sensitivity.io
    assert run.effect_s[user] > 0
    tolerance = 0.1 if kept_io < 0.05 else 0.6
    assert run.times_s.sum() - without.times_s.sum() == pytest.approx(run.effect_s[user], rel=tolerance, abs=0.5)


def test_idle_users_have_no_effect(history: History) -> None:
    run = _run(history, find_application("amg-128"), int(history.runs_of("amg-128")[0]))
    job = history.runs_of("amg-128")[0]
    begin, end = history.jobs.start_s[job], history.jobs.start_s[job] + run.times_s.sum()
    near = (history.jobs.start_s < end + 300) & (history.jobs.end_s > begin - 1800)
    absent = np.setdiff1d(np.arange(len(history.user_names)), history.jobs.user[near])
    assert len(absent) and not run.effect_s[absent].any()


@pytest.mark.parametrize("exchange", [0, 1, 2])
def test_footprint_agrees_with_routed_flows(exchange: int) -> None:
    """The campaign's closed form against static paths on the same placement: routers' loads go together, groups' all but agree."""
    fabric = build_dragonfly(6, io_routers_per_group=4)
    machine = Machine.of(fabric)
    rng = np.random.default_rng(0)
    scattered = rng.choice(700, 200, replace=False)
    nodes = np.sort(np.concatenate([scattered, np.arange(700, 950)])).astype(np.int32)
    pattern = exchange_pattern(machine.node_endpoint[nodes], exchange, rng)
    assert pattern is not None
    state = StaticPathModel(fabric, machine).step(Flows((pattern,), np.ones(1)), 1.0)
    routed = np.bincount(fabric.links.dst, state.link_bytes, fabric.vertices)[: len(fabric.routers)]
    closed = compute_footprints(machine, [nodes], np.array([exchange]), [(1,)], np.zeros(1, bool)).router[0]
    group = machine.group_of
    assert np.corrcoef(routed, closed)[0, 1] > 0.75
    assert np.corrcoef(np.bincount(group, routed), np.bincount(group, closed))[0, 1] > 0.98
    assert 1.0 < routed.sum() / closed.sum() < 2.0


def test_a_run_alone_on_the_machine_is_slowed_by_nobody(history: History) -> None:
    machine = Machine.of(build_dragonfly(6, io_routers_per_group=4))
    nobody = compute_footprints(machine, [], np.zeros(0, np.int64), [], np.zeros(0, bool))
    assert nobody.router.shape == nobody.processor.shape == (0, machine.routers)
    job = int(history.runs_of("amg-128")[0])
    gone = np.arange(len(history.jobs.start_s)) != job
    start_s, end_s = (np.where(gone, -1e9, seconds) for seconds in (history.jobs.start_s, history.jobs.end_s))
    quiet = replace(history, jobs=replace(history.jobs, start_s=start_s, end_s=end_s))
    run = _run(quiet, find_application("amg-128"), job)
    assert not run.effect_s.any() and run.times_s.sum() <= _run(history, find_application("amg-128"), job).times_s.sum()


def test_file_system_queue_and_checkpoints() -> None:
    start, end = np.array([100.0, 0.0]), np.array([900.0, 400.0])
    rate, every, length, phase = (
        np.array([2.0, 1.0]),
        np.array([200.0, 150.0]),
        np.array([50.0, 30.0]),
        np.array([0.25, 0.0]),
    )
    load = checkpoint_load(100, 0.0, start, end, rate, every, length, phase)
    fine = np.arange(0, 1000, 0.5) + 0.25
    expected = np.zeros(len(fine))
    for k in range(2):
        live = (fine >= start[k]) & (fine < end[k])
        expected += rate[k] * live * Checkpoints(every[k], length[k], phase[k]).at(fine - start[k])
    np.testing.assert_allclose(load, expected.reshape(100, 20).mean(axis=1), atol=0.06)
    arrivals = np.random.default_rng(0).uniform(0, 2.2, (3, 400))
    backlog = simulate_queue(arrivals, 0.0)
    assert backlog.min() >= 0 and backlog.max() <= 240
    np.testing.assert_allclose(backlog[1], long_queue(arrivals[1]))
    assert (simulate_queue(arrivals * 0.5, 0.0) <= backlog + 1e-9).all()


def test_labels_follow_effects() -> None:
    overlap = np.ones((20, 3))
    overlap[5:, 2] = 0
    times = np.exp(np.random.default_rng(0).normal(5, 0.3, 20))
    sd = np.log(times).std()
    effect = np.tile([0.5 * sd, 0.01 * sd, 0.9 * sd], (20, 1)) * (overlap > 0)
    mean, exposed, label = label_effects(effect, overlap, times)
    assert label == ("aggressor", "null", "grey") and exposed.tolist() == [20, 20, 5]
    np.testing.assert_allclose(mean, [0.5, 0.01, 0.9])


def test_observations_hold_no_truth() -> None:
    field_names = {field.name for field in fields(Campaign)}
    assert not field_names & {"roles", "effect_s", "effect_log", "label", "planted_counter", "slowdown"}
    assert {field.name for field in fields(CampaignTruth)} & field_names == {"scenario", "seed", "simulated"}


def test_cache_round_trip(tmp_path: Path) -> None:
    truth = CampaignTruth(
        "amg-128",
        1,
        ("io", "owner"),
        np.ones((2, 2)),
        np.zeros((2, 2)),
        np.zeros(2),
        np.arange(2),
        ("null", "grey"),
        np.full(6, 0.25),
        "RT_RB_STL",
        ("RT_RB_STL", "PT_RB_STL_RQ"),
        np.zeros(2),
    )
    cache.save_record(tmp_path / "a" / "b.npz", truth)
    back = cache.load_record(tmp_path / "a" / "b.npz", CampaignTruth)
    assert back is not None
    for field in fields(CampaignTruth):
        assert np.array_equal(getattr(back, field.name), getattr(truth, field.name)), field.name
        assert type(getattr(back, field.name)) is type(getattr(truth, field.name))
    assert cache.load_record(tmp_path / "none.npz", CampaignTruth) is None
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 half")
    assert cache.load_record(tmp_path / "bad.npz", CampaignTruth) is None


@pytest.mark.parametrize(
    ("scenario", "seed", "users"),
    [("hpl-1", 1, 300), ("amg-128@mars", 1, 300), ("amg-128", -1, 300), ("amg-128", 1, 3)],
)
def test_bad_scenarios(scenario: str, seed: int, users: int) -> None:
    with pytest.raises(BadRequest):
        campaign.generate_campaign(scenario, seed, users)


@pytest.mark.system("numeric")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "band"),
    [
        pytest.param("amg-128", (1.05, 1.6, 2.5, 4.5), marks=pytest.mark.system("numeric")),
        ("umt-128", (1.03, 1.5, 2.0, 4.5)),
        pytest.param("milc-128", (1.1, 1.9, 2.5, 4.8), marks=pytest.mark.system("numeric")),
    ],
)
def test_shapes_of_the_paper(
    name: str, band: tuple[float, float, float, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times relative to the best (Bhatele 2020, figure 1): most runs near it, the worst 2.5 to 4.5 times as long; UMT's above 2."""
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path))
    low, high, worst_low, worst_high = band
    observed, truth = campaign.generate_campaign(name, 17), campaign.generate_truth(name, 17)
    relative = observed.run_time_s / observed.run_time_s.min()
    assert 175 <= len(relative) <= 225
    assert low <= np.median(relative) <= high
    assert worst_low <= relative.max() <= worst_high
    assert observed.times_s.shape == observed.counters.shape[:2] and observed.counters.shape[2] == 13
    assert (np.diff(observed.run_start_s) >= 0).all()
    assert 3 <= truth.label.count("aggressor") <= 12
    assert not {truth.roles[k] for k, label in enumerate(truth.label) if label == "aggressor"} & {
        "innocent",
        "owner",
    }
    innocents = [k for k, role in enumerate(truth.roles) if role == "innocent"]
    assert {truth.label[k] for k in innocents} == {"null"} and truth.runs_exposed[innocents].mean() > 20
    assert truth.planted_counter == ("PT_RB_STL_RQ" if name == "umt-128" else "RT_RB_STL")
    rates = observed.rates[:, :, observed_counter(truth.planted_counter)]
    slow = observed.times_s / observed.times_s.mean(axis=0)
    assert np.corrcoef(np.log(rates.ravel()), slow.ravel())[0, 1] > 0.5


def observed_counter(name: str) -> int:
    return campaign.COUNTER_NAMES.index(name)


ESTIMATES = """
import sys
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
from flitwatch_research.campaign import generate_campaign
assert generate_campaign("amg-128", 3).seed == 3
print(*(path for path in opened if "/truth/" in path))
print(*(name for name in sys.modules if name.endswith("campaign.simulate")))
"""


def test_a_campaign_depends_on_what_makes_it_and_on_nothing_else() -> None:
    modules = {
        name.removeprefix("flitwatch_twin.").removeprefix("flitwatch_research.")
        for name in cache._parse_imports(cache.SIMULATES)
    }
    assert modules >= {
        "campaign.window",
        "campaign.step_times",
        "campaign.footprint",
        "users",
        "flitwatch_domain.generators.dragonfly",
    }
    assert not modules & {"run", "sinks", "cluster", "stall_fit", "accounting", "flitwatch_domain.errors"}


def test_words_leave_the_version_and_numbers_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = "flitwatch_twin.load"
    files = {cache.SIMULATES: tmp_path / "simulate.py", needed: tmp_path / "load.py"}
    monkeypatch.setattr(cache, "_find_source", files.get)

    def version(simulate: str, load: str) -> str:
        files[cache.SIMULATES].write_text(simulate)
        files[needed].write_text(load)
        return cache.code_version.__wrapped__()

    user = '"""Words."""\nfrom flitwatch_twin.load import LOAD\n'
    first = version(user, "LOAD = 0.75  # of the nodes\n")
    assert version(user.replace("Words", "Others"), '"""The load."""\n\nLOAD = 0.75\n') == first
    assert version(user, "LOAD = 0.76\n") != first
    assert version(user + "LOAD += 1\n", "LOAD = 0.75\n") != first


def test_who_asks_for_observations_opens_no_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path))
    observed, truth = cache.record_paths("amg-128", 3, 300)
    for path, kind in ((observed, Campaign), (truth, CampaignTruth)):
        cache.save_record(path, kind(**{field.name: np.zeros(2) for field in fields(kind)} | {"seed": 3}))
    done = subprocess.run([sys.executable, "-c", ESTIMATES], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
