"""Queries to the product during drawn days for the cause of slow instrumented runs, and scores of its answers against the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import orjson

from flitwatch_db import connect
from flitwatch_db.incidents import shown
from flitwatch_db.incidents.update import update_incidents
from flitwatch_db.jobs.as_of import job_at
from flitwatch_db.jobs.explanation import explain_job
from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_domain.explanation.result import Explanation
from flitwatch_domain.incidents import IncidentHead
from flitwatch_research.incidents.draws import ALONE, DAY_S, KINDS, Draw, draw_days
from flitwatch_research.incidents.site import CLUSTER, Feed, Site
from flitwatch_research.incidents.truth import Truth

#: Interval of queries to the product.
ASKED_EVERY_S = 20
#: Number of successive days per machine.
DAYS_A_SITE = 20
#: Seconds within which a cause must be named.
SOON_S = 60
#: Seconds after a day's end at which its stored incidents are read.
LATER_S = 600


@dataclass
class Outcome:
    """Scores of the product's answers about one day.

    Attributes
    ----------
    felt : whether the run was truly slowed
    wrong : job ids that were wrongly named
    final : `right`, `wrong` or `cannot tell` for the answer after the run's end
    right : correctness of each answer while a cause ran and had an effect
    first_s : seconds from the first effect of the cause to the first right answer
    lost_error : reported over true lost seconds, minus 1
    kept : for each time at which a cause ran after its first effect, whether the stored incident was active
    incidents : number of stored incidents of the day
    """

    kind: str
    felt: bool
    wrong: set[str] = field(default_factory=set)
    final: str = "cannot tell"
    right: list[bool] = field(default_factory=list)
    first_s: float | None = None
    lost_error: float | None = None
    kept: list[bool] = field(default_factory=list)
    incidents: int = 0


def simulate_day(site: Site, draw: Draw, aged: bool) -> Outcome:
    """Simulate one day and query the product during it (not for aged data) and afterwards."""
    truth = Truth(draw, site.seed)
    felt_s = truth.felt_s
    outcome = Outcome(draw.kind, felt_s is not None)
    with connect(site.url, role="writer") as conn, connect(site.url, role="writer", autocommit=True) as keeper:
        feed = site.feed(conn, draw)
        present: list[float] = []
        run = None
        while run is None and feed.cluster.time_s < DAY_S:
            feed.march(ASKED_EVERY_S)
            run = next((job.run for job in feed.cluster.running.values() if job.run is not None), None)
        assert run is not None
        job_id = feed.cluster.job_id(run.allocation)
        while not feed.finished and feed.cluster.time_s < DAY_S:
            feed.march(ASKED_EVERY_S)
            if not aged and felt_s is not None and feed.cluster.time_s >= felt_s:
                feed.flush()
                _score_answer(outcome, _ask_product(conn, job_id, feed), truth, feed, felt_s)
                update_incidents(keeper, _now_s(feed))
            if felt_s is not None and feed.cluster.time_s >= felt_s and _goes_on(feed, truth):
                present.append(_now_s(feed))
        # If the cause outlasts the run, the incident must last as long.
        while felt_s is not None and _goes_on(feed, truth) and feed.cluster.time_s < DAY_S:
            present.append(_now_s(feed))
            feed.march(ASKED_EVERY_S)
            if not aged:
                feed.flush()
                update_incidents(keeper, _now_s(feed))
        feed.march(ASKED_EVERY_S)
        feed.close()
        if aged:
            site.age()
        answer = _ask_product(conn, job_id, feed)
        _look_up(outcome, keeper, feed, truth, present)
    good, bad = _judge_answer(answer, truth)
    outcome.wrong |= bad
    outcome.final = "wrong" if bad else "right" if good else "cannot tell"
    if felt_s is not None and answer["slowdown"] is not None and truth.lost_s > 0:
        outcome.lost_error = answer["slowdown"]["lost_s"] / truth.lost_s - 1
    return outcome


def _now_s(feed: Feed) -> float:
    return float(feed.epoch_s + feed.cluster.time_s)


def _goes_on(feed: Feed, truth: Truth) -> bool:
    """Return whether a cause is still running; a planted job may be none."""
    return any(job.user in truth.causes_planted for job in feed.cluster.running.values())


def _look_up(said: Outcome, keeper: Any, feed: Feed, truth: Truth, present: Sequence[float]) -> None:
    """Read the day's stored incidents after its end."""
    later_s = _now_s(feed) + LATER_S
    while update_incidents(keeper, later_s):
        later_s += ASKED_EVERY_S
    heads = shown.list_heads(keeper, shown.IncidentFilter(from_s=feed.epoch_s, to_s=later_s), 100)
    incidents = [incident for incident in heads if incident["state"] != "withdrawn"]
    said.incidents = len(incidents)
    said.wrong |= {
        cause["job_id"]
        for incident in incidents
        for cause in incident["causes"]
        if not truth.causes(cause["user"] or "")
    }
    said.kept = [any(_covers_time(incident, at) for incident in incidents) for at in present]


def _covers_time(one: IncidentHead, at_s: float) -> bool:
    return one["began"].timestamp() <= at_s and (one["ended"] is None or at_s <= one["ended"].timestamp())


def _ask_product(conn: Any, job_id: str, feed: Feed) -> Explanation:
    now_s = _now_s(feed)
    answer = explain_job(conn, job_at(conn, job_id, CLUSTER, now_s), now_s)
    conn.rollback()
    return answer


def _score_answer(said: Outcome, answer: Explanation, truth: Truth, feed: Feed, felt_s: float) -> None:
    good, bad = _judge_answer(answer, truth)
    said.wrong |= bad
    if _goes_on(feed, truth):
        said.right.append(good and not bad)
    if good and not bad and said.first_s is None:
        said.first_s = feed.cluster.time_s - felt_s


def _named_jobs(answer: Explanation) -> dict[str, str]:
    """Return the users of all jobs named in the answer."""
    return {candidate["job_id"]: candidate["user"] or "" for candidate in answer["candidates"] if candidate["named"]}


def _judge_answer(answer: Explanation, truth: Truth) -> tuple[bool, set[str]]:
    """Return whether the answer names a cause (or the run itself, if it slows itself), and the named jobs that are not a cause."""
    named = _named_jobs(answer)
    bad = {job for job, user in named.items() if not truth.causes(user)}
    itself = answer["verdict"] == "slows itself"
    if itself and not truth.by_itself and len(truth.slow):
        bad.add(answer["job_id"])
    return (itself if truth.by_itself else bool(named)) and not bad, bad


class NamedTimes(TypedDict):
    """Seconds from the first effect of a cause to the first right answer."""

    median: float
    p90: float


class Figures(TypedDict):
    """Scores of several days. Shares refer to days with a slowed run (`named_wrong`: to all days), None if there were none.

    Attributes
    ----------
    named_right : the last answer named a cause (or, if the run slows itself, said so), and no answer named another job
    named_wrong : an answer named a job that is not a cause
    named_share_of_duration : share of the times with an effect at which the cause was named
    lost_s_error : median relative error of the lost seconds
    kept_share_of_life : share of the times at which a cause ran after its first effect with an active stored incident
    incidents_a_day : stored incidents per day; one is right
    """

    days: int
    slowed: int
    named_right: float | None
    named_wrong: float | None
    cannot_tell: float | None
    first_named_s: NamedTimes | None
    named_within_60_s: float | None
    named_share_of_duration: float | None
    lost_s_error: float | None
    kept_share_of_life: float | None
    incidents_a_day: float | None


class StudyOfIncidents(TypedDict):
    """The whole result; `overall` covers the days on which another job slows the run."""

    study: str
    draws: int
    seed: int
    resolution: str
    fabric: str
    overall: Figures
    by_kind: dict[str, Figures]
    simulated: bool


def run_incidents(
    databases: Callable[[], AbstractContextManager[str]],
    count: int,
    seed: int,
    aged: bool = False,
    kinds: Sequence[str] = (),
    fabric: str = "dragonfly",
    out: Path | None = None,
    report: Callable[[int, int, str], None] = lambda *_: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> StudyOfIncidents:
    """Run the study and return its figures.

    Parameters
    ----------
    databases : returns the URL of an empty migrated database for exclusive use; called once per machine
    count : number of days
    aged : whether only minutes remain of each day before the query
    fabric : a key of `FABRICS`
    out : file with completed days, by machine; these are not simulated again

    Raises
    ------
    BadRequest
        A kind of day does not exist, or the file contains other days.
    Cancelled
        The study was stopped.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise BadRequest(f"there is no kind of day {unknown[0]!r}", advice=f"Kinds: {', '.join(KINDS)}.")
    drawn = list(draw_days(seed, count, tuple(kinds) or tuple(KINDS), fabric))
    head = {"seed": seed, "aged": aged, "kinds": list(kinds), "fabric": fabric}
    outcomes = [] if out is None else _read_days(out, head)[:count]
    for first in range(len(outcomes), count, DAYS_A_SITE):
        with databases() as url:
            site: Site | None = None
            for draw in drawn[first : first + DAYS_A_SITE]:
                report(len(outcomes), count, draw.kind)
                if cancelled():
                    raise Cancelled(
                        "stopped", advice="Start it again with the same --out: it goes on after its last machine."
                    )
                site = site or Site(url, seed * 1000 + first // DAYS_A_SITE, fabric)
                outcomes.append(simulate_day(site, draw, aged))
        if out is not None and len(outcomes) == first + DAYS_A_SITE:
            with out.open("ab") as file:
                file.writelines(
                    orjson.dumps({**asdict(day), "wrong": sorted(day.wrong)}, option=_LINE) for day in outcomes[first:]
                )
    report(count, count, "")
    return {
        "study": "incidents",
        "draws": count,
        "seed": seed,
        "resolution": "1m" if aged else "live",
        "fabric": fabric,
        "overall": score_days([outcome for outcome in outcomes if outcome.kind not in ALONE]),
        "by_kind": {kind: score_days([outcome for outcome in outcomes if outcome.kind == kind]) for kind in KINDS if any(outcome.kind == kind for outcome in outcomes)},
        "simulated": True,
    }  # fmt: skip


_LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY


def _read_days(out: Path, head: dict[str, Any]) -> list[Outcome]:
    """Return the days in a file, which is created if missing; its first line identifies the days."""
    if not out.exists():
        out.write_bytes(orjson.dumps(head, option=_LINE))
    first, *rest = map(orjson.loads, out.read_bytes().splitlines())
    if first != head:
        raise BadRequest(f"{out} has the days of another study: {first}", advice="Name another file.")
    return [Outcome(**{**day, "wrong": set(day["wrong"])}) for day in rest]


def score_days(said: Sequence[Outcome]) -> Figures:
    """Return the scores of several days."""
    felt = [outcome for outcome in said if outcome.felt]
    right = [outcome for outcome in felt if outcome.final == "right" and not outcome.wrong]
    first = [outcome.first_s for outcome in felt if outcome.first_s is not None]
    errors = [abs(outcome.lost_error) for outcome in felt if outcome.lost_error is not None]
    right_flags = [flag for outcome in felt for flag in outcome.right]
    return {
        "days": len(said),
        "slowed": len(felt),
        "named_right": _share_of(len(right), len(felt)),
        "named_wrong": _share_of(sum(bool(outcome.wrong) for outcome in said), len(said)),
        "cannot_tell": _share_of(sum(outcome.final == "cannot tell" for outcome in felt), len(felt)),
        "first_named_s": {"median": float(np.median(first)), "p90": float(np.quantile(first, 0.9))} if first else None,
        "named_within_60_s": _share_of(sum(outcome <= SOON_S for outcome in first), len(felt) if right_flags else 0),
        "named_share_of_duration": _share_of(sum(right_flags), len(right_flags)),
        "lost_s_error": float(np.median(errors)) if errors else None,
        "kept_share_of_life": _share_of(
            sum(sum(outcome.kept) for outcome in felt), sum(len(outcome.kept) for outcome in felt)
        ),
        "incidents_a_day": _share_of(sum(outcome.incidents for outcome in felt), len(felt)),
    }


def _share_of(part: int, whole: int) -> float | None:
    return None if not whole else part / whole
