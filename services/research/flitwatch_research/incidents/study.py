"""Ask the product through drawn days who slows the instrumented run, and score what it says against the truth."""

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

#: The product is asked so often.
ASKED_EVERY_S = 20
#: Days that a machine lives through, one after the other.
DAYS_A_SITE = 20
#: Seconds after which a cause is to be named.
SOON_S = 60
#: Seconds after a day at which what is stored of it is looked up.
LATER_S = 600


@dataclass
class Outcome:
    """Answers of the product about one day.

    Attributes
    ----------
    felt : whether the run was slowed, by the truth
    wrong : job ids that were named and are no cause
    final : `right`, `wrong` or `cannot tell`, of the answer after the run's end
    right : whether the answers were right that were given while a planted job ran alongside the run and was felt
    first_s : seconds from when the cause was felt to the first right answer
    lost_error : seconds lost as reported over the true ones, less 1
    kept : of the moments at which a planted job ran and had been felt, whether the stored incident lasted then
    incidents : how many are stored of the day
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
    """Return one day: the product is asked while it lasts (unless only what is left after a week is asked about) and afterwards."""
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
        # The cause may outlast the run: the incident is to last as long.
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
    """Return whether a planted job runs."""
    return any(job.user in truth.planted for job in feed.cluster.running.values())


def _look_up(said: Outcome, keeper: Any, feed: Feed, truth: Truth, present: Sequence[float]) -> None:
    """Read the incidents that are stored of the day after it ends."""
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
    """Return job and user of everyone that the answer names."""
    return {candidate["job_id"]: candidate["user"] or "" for candidate in answer["candidates"] if candidate["named"]}


def _judge_answer(answer: Explanation, truth: Truth) -> tuple[bool, set[str]]:
    """Return whether a cause is named (or that the run slows itself, if it does), and the named jobs that are not a cause."""
    named = _named_jobs(answer)
    bad = {job for job, user in named.items() if not truth.causes(user)}
    itself = answer["verdict"] == "slows itself"
    if itself and not truth.by_itself and len(truth.slow):
        bad.add(answer["job_id"])
    return (itself if truth.by_itself else bool(named)) and not bad, bad


class NamedTimes(TypedDict):
    """Seconds from when a cause was felt to the first right answer."""

    median: float
    p90: float


class Figures(TypedDict):
    """Scores of some days; shares are of those on which the run was slowed (`named_wrong`: of all), None if there were none.

    Attributes
    ----------
    named_right : the last answer named a cause (of a run that slows itself: said so), and no answer named anyone else
    named_wrong : some answer named a job that is no cause
    named_share_of_duration : of the moments at which a cause was felt, those at which it was named
    lost_s_error : median of the error of the seconds lost, relative
    kept_share_of_life : of the moments at which a planted job ran and had been felt, those at which the stored incident lasted
    incidents_a_day : stored ones; one is right
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
    """The whole answer; `overall` is of the days on which another job slows the run."""

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
    """Return the study's figures.

    Parameters
    ----------
    databases : gives the URL of a migrated database that is empty and that no one else uses; one is asked for each machine
    count : days
    aged : whether only the minutes are left of each day that is asked about
    fabric : a key of `FABRICS`
    out : file of the days done, machine by machine; those that it has are not simulated again

    Raises
    ------
    BadRequest
        There is no such kind of day, or the file is of other days.
    Cancelled
        It was stopped.
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
    """Return days of a file, which is made if there is none; its first line says of which days it is."""
    if not out.exists():
        out.write_bytes(orjson.dumps(head, option=_LINE))
    first, *rest = map(orjson.loads, out.read_bytes().splitlines())
    if first != head:
        raise BadRequest(f"{out} has the days of another study: {first}", advice="Name another file.")
    return [Outcome(**{**day, "wrong": set(day["wrong"])}) for day in rest]


def score_days(said: Sequence[Outcome]) -> Figures:
    """Return scores of some days."""
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
