"""Numbers of a requeued job's incarnations if Slurm's output lacks Restarts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from flitwatch_domain.jobs import Job

#: A job, and whether its restart count is known (else it is derived from its incarnations).
Found = tuple[Job, bool]
#: A cluster and a job id.
JobKey = tuple[str, str]


class Held(NamedTuple):
    """An incarnation in the database; times in epoch seconds."""

    restart: int
    submit_s: float | None
    start_s: float | None
    end_s: float | None


class _Seen(NamedTuple):
    submit_s: float | None
    start_s: float | None
    end_s: float | None
    state: str


def number_restarts(found: Iterable[Found], held: Mapping[JobKey, Sequence[Held]] | None = None) -> list[Job]:
    """Number the incarnations of a requeued job in the order of submission if Slurm did not print the numbers.

    A repeated line is not an incarnation. An incarnation in the database (same submission and start) keeps at least its number. Numbers of stored
    incarnations that are missing in this output are not reused.
    """
    jobs = list(found)
    lines: defaultdict[JobKey, defaultdict[_Seen, list[int]]] = defaultdict(lambda: defaultdict(list))
    printed_numbers: defaultdict[JobKey, set[int]] = defaultdict(set)
    for at, (job, is_known) in enumerate(jobs):
        if is_known:
            printed_numbers[job.cluster, job.job_id].add(job.restart)
        else:
            lines[job.cluster, job.job_id][_to_seen(job)].append(at)
    out = [job for job, _ in jobs]
    for key, places in lines.items():
        if len(places) == 1 and key not in printed_numbers and not (held and key in held):
            ((at, *_),) = places.values()
            if not out[at].restart:
                continue  # a single incarnation has number 0, as decoded
        order = sorted(places, key=lambda incarnation: (*_time_key(incarnation), min(places[incarnation])))
        for incarnation, restart in _number_incarnations(
            order, (held or {}).get(key, ()), printed_numbers[key]
        ).items():
            for at in places[incarnation]:
                if out[at].restart != restart:
                    out[at] = replace(out[at], restart=restart)
    return out


def list_unnumbered(found: Iterable[Found]) -> set[JobKey]:
    """Return the jobs whose numbers Slurm did not print."""
    return {(job.cluster, job.job_id) for job, is_known in found if not is_known}


def _number_incarnations(order: Sequence[_Seen], held: Sequence[Held], known: Collection[int]) -> dict[_Seen, int]:
    matched = _match_incarnations(order, held)
    others = [incarnation for incarnation in held if incarnation not in matched.values()]
    used_numbers = {incarnation.restart for incarnation in others} | set(known)
    numbers: dict[_Seen, int] = {}
    number = 0
    for incarnation in order:
        if incarnation in matched:
            number = max(number, matched[incarnation].restart)
        else:
            number = max(
                number, *(1 + other.restart for other in others if _time_key(other) < _time_key(incarnation)), 0
            )
        while number in used_numbers:
            number += 1
        numbers[incarnation] = number
        number += 1
    return numbers


def _match_incarnations(order: Sequence[_Seen], held: Sequence[Held]) -> dict[_Seen, Held]:
    """Match incarnations with those in the database, first by equal times, then by compatible times (a pending job that has started since)."""
    matched: dict[_Seen, Held] = {}
    free = sorted(held, key=_time_key)
    for alike in (_times_equal, _may_be):
        for incarnation in order:
            same = (
                None if incarnation in matched else next((other for other in free if alike(incarnation, other)), None)
            )
            if same is not None:
                matched[incarnation] = same
                free.remove(same)
    return matched


def _times_equal(one: _Seen, other: Held) -> bool:
    return one.start_s is not None and (one.submit_s, one.start_s) == (other.submit_s, other.start_s)


def _may_be(one: _Seen, other: Held) -> bool:
    if _times_differ(one.submit_s, other.submit_s) or _times_differ(one.start_s, other.start_s):
        return False
    started = one.start_s is not None and other.start_s is not None
    return started or not _times_differ(one.end_s, other.end_s)


def _times_differ(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and a != b


def _time_key(one: _Seen | Held) -> tuple[float, float]:
    return (one.submit_s or 0.0, float("inf") if one.start_s is None else one.start_s)


def _to_seen(job: Job) -> _Seen:
    # Equal submission and start times mean the same incarnation; jobs that never started have no other key.
    if job.start_s is None:
        return _Seen(job.submit_s, None, job.end_s, job.state)
    return _Seen(job.submit_s, job.start_s, None, "")
