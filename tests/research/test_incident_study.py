"""The study of incidents: days are drawn deterministically, truth is a counterfactual, and the product's scores do not get worse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from support.databases import Server

from flitwatch_db import connect
from flitwatch_db.diagnosis.measured import newest_port_s
from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_research.incidents import study
from flitwatch_research.incidents.draws import KINDS, draw_days
from flitwatch_research.incidents.site import Site
from flitwatch_research.incidents.truth import Truth, planted_users

#: The thresholds of `flitwatch_domain.explanation.flow` were chosen on seed 1.
SEED = 23


def test_the_same_seed_draws_the_same_days_and_every_kind() -> None:
    first, again, other = (list(draw_days(seed, 2 * len(KINDS))) for seed in (1, 1, 2))
    assert first == again and first != other
    assert [draw.kind for draw in first] == [*KINDS, *KINDS] and len({draw.day for draw in first}) == len(first)
    assert {draw.application for draw in first} == {"amg-128", "milc-128"}


@pytest.mark.system("numeric")
def test_who_is_muted_in_the_other_life_is_the_cause() -> None:
    for draw in draw_days(1, 4, ("victim-inside", "self-inflicted", "quiet", "two-aggressors")):
        truth = Truth(draw, 7)
        everyone = [str(name) for name in draw.cluster(7).users.names]
        causes = {user for user in everyone if user in truth.planted and truth.causes(user)}
        if draw.kind == "quiet":
            assert truth.felt_s is None and truth.lost_s == 0
        elif draw.kind == "self-inflicted":
            assert truth.by_itself and not causes and truth.lost_s > 20
        else:
            assert causes == truth.planted and not truth.by_itself and truth.lost_s > 20


def test_a_day_without_slow_steps_has_a_cause_too_and_a_planted_job_may_be_none() -> None:
    """Eight steps take a tenth longer because of the later of two planted jobs."""
    draw, seed = list(draw_days(SEED, 29, fabric="tree"))[-1], SEED * 1000 + 1
    truth, (_, later) = Truth(draw, seed), planted_users(draw.cluster(seed))
    assert truth.felt_s is None and not len(truth.slow) and len(truth.judged) == 8
    assert truth.causes_planted == {later} < truth.planted


def test_an_unknown_kind_is_refused_and_a_study_can_be_stopped() -> None:
    with pytest.raises(BadRequest, match=r"no kind of day 'dull'.*victim-inside"):
        study.run_incidents(lambda: nullcontext("nowhere"), 1, 1, kinds=["dull"])
    with pytest.raises(Cancelled):
        study.run_incidents(lambda: nullcontext("nowhere"), 1, 1, cancelled=lambda: True)


def test_a_study_resumes_after_the_last_machine_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days themselves are simulated elsewhere: here each costs nothing."""
    seen: list[int] = []
    monkeypatch.setattr(study, "Site", lambda *_: None)
    monkeypatch.setattr(study, "simulate_day", lambda _, draw, __: seen.append(draw.day) or study.Outcome(draw.kind, draw.day % 2 == 0, {"7"}, right=[True]))  # fmt: skip
    out = tmp_path / "days.jsonl"

    def run(count: int, seed: int = 1, stop: int = 99) -> study.StudyOfIncidents:
        return study.run_incidents(lambda: nullcontext(""), count, seed, out=out, cancelled=lambda: len(seen) >= stop)

    with pytest.raises(Cancelled, match="stopped"):
        run(45, stop=25)
    report = run(45)
    assert seen == [*range(1, 26), *range(21, 46)], "the machine that was stopped begins again"
    assert run(40)["overall"]["days"] < report["overall"]["days"] and len(seen) == 50
    with pytest.raises(BadRequest, match="another study"):
        run(45, seed=2)


@contextmanager
def fresh(server: Server) -> Iterator[str]:
    url = server.create()
    yield url
    server.drop(url)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("aged", [False, True], ids=["live", "from minutes"])
@pytest.mark.parametrize("fabric", ["dragonfly", "tree"])
def test_culprits_are_named_and_nobody_else_is(_embedded_template: Server, fabric: str, aged: bool) -> None:
    report = study.run_incidents(lambda: fresh(_embedded_template), 30, SEED, aged, fabric=fabric)
    whole, quiet = report["overall"], report["by_kind"]["quiet"]
    assert whole["slowed"] >= 15 and whole["named_right"] >= 0.85, report
    assert whole["named_wrong"] == quiet["named_wrong"] == 0, report
    for kind in ("victim-before", "victim-inside", "bursts"):
        assert report["by_kind"][kind]["named_right"] in (None, 1.0), report["by_kind"][kind]
    assert whole["lost_s_error"] <= 0.1
    assert whole["kept_share_of_life"] >= 0.9 and quiet["incidents_a_day"] is None, whole
    if not aged:
        assert whole["named_within_60_s"] >= 0.9 and whole["named_share_of_duration"] >= 0.9, whole


@pytest.mark.system("numeric")
def test_an_aged_day_has_minutes_and_neither_seconds_nor_ports(_embedded_template: Server) -> None:
    with fresh(_embedded_template) as url, connect(url, role="writer") as conn:
        site = Site(url, SEED, "tree")
        feed = site.feed(conn, next(draw_days(SEED, 1, fabric="tree")))
        feed.march(120)
        feed.close()
        assert newest_port_s(conn, site.fabric_id) is not None
        conn.commit()
        site.age()
        assert newest_port_s(conn, site.fabric_id) is None
        counted = [conn.execute(query).fetchone() for query in ("SELECT count(*) FROM router_1s", "SELECT count(*) > 0 FROM router_1m")]  # fmt: skip
        assert counted == [(0,), (True,)]
