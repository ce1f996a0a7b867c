"""Jobs of a real log in the study of advice: read as the log has them, started as an independent EASY backfill starts them, drawn as the published figures say."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_research.advice_value import job_log, worlds
from flitwatch_research.advice_value.backfill import AGE_WEIGHT, OLDEST_S, SIZE_WEIGHT
from flitwatch_research.advice_value.closed_loop import Loop
from flitwatch_research.advice_value.pieces import JobsFile, Piece, simulate_month, summarize_month
from flitwatch_research.advice_value.worlds import QUIET, make_month, small_machine

TICK_S = 300.0


def line(number: int, submit: int, run: int, processors: int, limit: int, user: int = 1, wait: int = 0) -> str:
    return f"{number} {submit} {wait} {run} {processors} -1 -1 {processors} {limit} -1 1 {user} 1 -1 1 -1 -1 -1\n"


def written(path: Path, rows: list[str], nodes: int, begin: int = 1_770_100_000) -> Path:
    path.write_text(f"; UnixStartTime: {begin}\n; MaxNodes: {nodes}\n; MaxProcs: {nodes}\n" + "".join(rows))
    return path


def random_log(path: Path, seed: int, nodes: int) -> Path:
    rng = np.random.default_rng(seed)
    rows = []
    for number, at in enumerate(np.sort(rng.integers(0, 36 * 3600, 60)).tolist()):
        run = int(rng.integers(600, 6 * 3600))
        size = int(rng.integers(1, nodes // 2 if number % 5 else nodes + 1))
        rows.append(line(number + 1, at, run, size, int(run * rng.uniform(1.0, 3.0)), int(rng.integers(1, 9))))
    return written(path, rows, nodes)


def easy(jobs: list[job_log.LoggedJob], nodes: int) -> list[float]:
    """Starts by EASY backfill at every tick, written down a second time: no arrays, one list of (end by limit, nodes) a tick."""
    start: dict[int, float] = {}
    now = 0.0
    while len(start) < len(jobs):
        going = {n: at for n, at in start.items() if at + jobs[n].run_s > now}
        free = nodes - sum(jobs[n].nodes for n in going)
        queue = [n for n, job in enumerate(jobs) if n not in start and job.submit_s <= now]

        def rank(n: int, now: float = now) -> tuple[float, float, int]:
            age = min((now - jobs[n].submit_s) / OLDEST_S, 1.0)
            return -(AGE_WEIGHT * age + SIZE_WEIGHT * jobs[n].nodes / nodes), jobs[n].submit_s, n

        shadow: float | None = None
        spare = 0
        for n in sorted(queue, key=rank):
            job = jobs[n]
            if free == 0:
                break
            if job.nodes > free:
                if shadow is None:
                    # When the first that does not fit will fit, if everybody takes their whole limit.
                    ends = sorted((max(start[m] + jobs[m].limit_s, now), jobs[m].nodes) for m in going)
                    room = free
                    for end, count in ends:
                        room += count
                        if room >= job.nodes:
                            shadow = end
                            break
                    assert shadow is not None
                    spare = free + sum(count for end, count in ends if end <= shadow) - job.nodes
                continue
            if shadow is None or now + job.limit_s <= shadow:
                pass
            elif job.nodes <= spare:
                spare -= job.nodes
            else:
                continue
            start[n] = now
            going[n] = now
            free -= job.nodes
        now += TICK_S
    return [start[n] for n in range(len(jobs))]


@pytest.mark.parametrize("seed", range(6))
def test_waits_are_those_of_an_independent_backfill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(worlds, "FEELING_SHARE", 0.0)
    nodes = small_machine().nodes
    log = job_log.read_log(random_log(tmp_path / "log.swf", seed, nodes))
    month = make_month(QUIET, 1, 3, TICK_S, log)
    assert [(job.submit_s, job.nodes, job.limit_s) for job in month.jobs] == [
        (one.submit_s, one.nodes, one.limit_s) for one in log.jobs
    ]
    outcome = Loop(month, None).run()
    expected = easy(list(log.jobs), nodes)
    assert outcome.start_s.tolist() == expected
    assert max(np.array(expected) - [one.submit_s for one in log.jobs]) > 3600, "nobody waited: the test asks nothing"
    again = Loop(make_month(QUIET, 1, 3, TICK_S, log), None).run()
    assert again.start_s.tolist() == expected and again.end_s.tolist() == outcome.end_s.tolist()


def test_a_log_is_read_as_it_is(tmp_path: Path) -> None:
    rows = [
        line(1, 50, 600, 8, 1200, 3),
        line(2, 60, 700, 4, -1, -1),
        line(3, 70, 0, 4, 900),
        line(4, 80, 900, 16, 800),
        "5 90 1\n",
    ]
    log = job_log.read_log(written(tmp_path / "log.swf", rows, 16))
    assert log.nodes == 16 and log.rejected == 1
    assert log.jobs == (
        job_log.LoggedJob(0.0, 8, 600.0, 1200.0, "3"),
        job_log.LoggedJob(10.0, 4, 700.0, 700.0, ""),
        job_log.LoggedJob(30.0, 16, 900.0, 900.0, "1"),
    )
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress((tmp_path / "log.swf").read_bytes()))
    assert job_log.read_log(packed).jobs == log.jobs and JobsFile.of(packed).digest == log.digest
    # Times that count from 1970, under a begin of 0.
    old = written(tmp_path / "old.swf", [line(1, 1_641_021_254, 600, 8, 1200)], 16, begin=0)
    assert job_log.read_log(old).jobs == (job_log.LoggedJob(0.0, 8, 600.0, 1200.0, "1"),)
    for name, text, said in (("none.swf", "; UnixStartTime: 0\n", "no job"), ("gone.swf", None, "cannot be read")):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(BadRequest, match=said):
            job_log.read_log(tmp_path / name)


def test_sizes_are_shares_of_the_machine_and_a_seed_draws_the_days(tmp_path: Path) -> None:
    rows = [line(day + 1, day * 86_400 + 5, 600, 1 + day % 16, 1200) for day in range(40)]
    log = job_log.read_log(written(tmp_path / "log.swf", rows, 16))
    windows = [log.window(np.random.default_rng(seed), 5, 1472) for seed in range(12)]
    assert all(len(one) == 5 and one[0].submit_s >= 0 and one[-1].submit_s < 5 * 86_400 for one in windows)
    assert len({one[0].nodes for one in windows}) > 4
    assert {job.nodes for one in windows for job in one} <= {92 * size for size in range(1, 17)}


def test_jobs_that_feel_the_network_take_the_place_of_others(tmp_path: Path) -> None:
    nodes = small_machine().nodes
    log = job_log.read_log(random_log(tmp_path / "log.swf", 3, nodes))
    month = make_month("plain", 1, 2, TICK_S, log)
    feeling = [job for job in month.jobs if job.application]
    assert feeling and {job.application for job in feeling} <= set(worlds.FEELING)
    work = sum(job.nodes * job.run_s for job in log.jobs)
    left = sum(job.nodes * job.alone_s for job in month.jobs if not job.application)
    assert left == pytest.approx((1 - worlds.FEELING_SHARE) * work, rel=0.25)
    assert all(job.limit_s >= job.alone_s for job in month.jobs)
    served = [summarize_month(month, policy, simulate_month(month, policy)) for policy in ("none", "all")]
    assert served[0]["jobs"] == served[1]["jobs"] and served[1]["asked"] > 0


def test_a_kept_piece_belongs_to_its_log(tmp_path: Path) -> None:
    nodes = small_machine().nodes
    logs = [JobsFile.of(random_log(tmp_path / f"{seed}.swf", seed, nodes)) for seed in (1, 2)]
    kept = {Piece("plain", 1, "none", 2, log).kept for log in (*logs, None)}
    assert len(kept) == 3


def test_drawn_jobs_are_as_the_published_figures_say() -> None:
    published, rng = job_log.load_theta_figures(), np.random.default_rng(1)
    span = 400 * 86_400.0
    jobs = job_log.drawn_as_theta(rng, 4360, 0.5, span)
    work = sum(one.nodes * one.run_s for one in jobs)
    assert work == pytest.approx(0.5 * 4360 * span, rel=0.02)
    sizes = np.array([one.nodes for one in jobs])
    for share, one in zip(((sizes <= 129).mean(), (sizes > 257).mean()), published["sizes"][::2], strict=True):
        assert share == pytest.approx(one["share_of_jobs"], abs=0.02), one["nodes"]
    small = np.array([one.run_s for one in jobs if one.nodes <= 129])
    at = dict(zip(published["levels"], published["sizes"][0]["run_s"], strict=True))
    for level in (0.2, 0.5, 0.9):
        assert np.quantile(small, level) == pytest.approx(at[level], rel=0.1)
    assert all(one.limit_s >= one.run_s for one in jobs)
    hours = np.bincount([int(one.submit_s % 86_400 // 3600) for one in jobs], minlength=24) / len(jobs)
    assert np.abs(hours - published["submitted_by_hour_utc"]).max() < 0.012
    assert "licence" in published["source"] and "commit" in published["source"]


def test_the_world_with_jobs_as_on_theta_asks_for_its_share_of_the_machine() -> None:
    month = make_month(worlds.THETA, 101, 14, TICK_S)
    usual = sum(
        job.nodes * job.alone_s * (worlds.USUAL_OVER_ALONE if job.application else 1.0) for job in month.jobs
    ) / (month.machine.nodes * month.span_s)
    assert usual == pytest.approx(job_log.load_theta_figures()["utilisation"], abs=0.05)
