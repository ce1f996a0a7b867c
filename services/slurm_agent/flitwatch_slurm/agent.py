"""Slurm agent: at each interval it queries the API, replaces the advice file and, if permitted, changes pending jobs."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NotRequired, TypedDict

from flitwatch_domain.errors import FlitwatchError, Forbidden, Unavailable
from flitwatch_slurm import advice_file, cluster, pending_jobs
from flitwatch_slurm.advice_file import ANYBODY, Case
from flitwatch_slurm.pending_jobs import Limits, Notes
from flitwatch_slurm.questions import (
    AdviceState,
    Api,
    PlacedAdvice,
    Places,
    Question,
    find_places,
    host_list,
    join_features,
)
from flitwatch_slurm.trial import Trial

log = logging.getLogger(__name__)


class AgentRound(TypedDict):
    """Result of one round, as printed with `--json`.

    Attributes
    ----------
    cases : int        cases in the file
    actions : int      cases whose answer is not `start`
    groups : int       fabric groups in which a job could run
    pending : int      pending jobs that the agent may change
    delayed, preferred, released : int        changed jobs; absent if the agent may not change jobs
    in_trial, advised : int        jobs in the trial, and the advised ones among them; absent without a trial
    """

    cases: int
    actions: int
    groups: int
    pending: int
    delayed: NotRequired[int]
    preferred: NotRequired[int]
    released: NotRequired[int]
    in_trial: NotRequired[int]
    advised: NotRequired[int]


@dataclass
class Agent:
    """Keeps Slurm's advice file and pending jobs up to date.

    Attributes
    ----------
    path : Path            advice file of job_submit.lua
    limit_s : float        maximum age of a file that the plugin uses
    limits : Limits or None       permitted changes to pending jobs; None if there are none
    accept_stale : bool    also act on answers from outdated state
    patience_s : float     how long the API may be unavailable before delays end
    trial : Trial or None  advises only a share of the jobs, and none at submission because a job has no number yet
    """

    api: Api
    path: Path
    limit_s: float = 120.0
    limits: Limits | None = None
    accept_stale: bool = False
    patience_s: float = 60.0
    trial: Trial | None = None
    _answered_at: float = field(default_factory=time.monotonic)
    _notes: Notes = field(init=False)

    def __post_init__(self) -> None:
        self._notes = Notes.load_next_to(self.path)

    def cycle(self) -> AgentRound:
        """Run one round and return its result.

        Raises
        ------
        FlitwatchError
            Neither the file nor any job was changed. The plugin stops using the file once it is too old.
        """
        try:
            state = self.api.state()
            if state["pseudonyms"]:
                raise Forbidden(
                    "the API returns pseudonyms, which Slurm does not know: give the agent a token with scope names",
                    advice="flitwatch tokens create slurm --scope read --scope names --scope advice",
                )
            where = find_places(state, cluster.list_nodes())
            cases = self._make_cases(state, where) if self.trial is None else []
            jobs = self._load_pending() if self.limits is not None else []
            advised = self._request_advice(where, jobs)
            if self.trial is not None and self.limits is not None:
                limits = self.limits
                advised = self.trial.split(
                    jobs, advised, lambda job, advice: pending_jobs.would_act(job, advice, where, limits)
                )
            try:
                advice_file.write_file(self.path, advice_file.format_content(cases, time.time(), self.limit_s))
            except OSError as problem:
                raise Unavailable(
                    f"{self.path} cannot be written: {problem.strerror}",
                    advice="Until this is corrected, jobs start without advice.",
                ) from None
        except FlitwatchError:
            self._give_up()
            raise
        self._answered_at = time.monotonic()
        report: AgentRound = {
            "cases": len(cases),
            "actions": sum(case.action != "start" for case in cases),
            "groups": len(where.groups),
            "pending": len(jobs),
        }
        if self.limits is not None:
            done = pending_jobs.apply_advice(jobs, advised, where, self.limits, self._notes.marks)
            self._notes.keep()
            report["delayed"], report["preferred"], report["released"] = (
                done["delayed"],
                done["preferred"],
                done["released"],
            )
        if self.trial is not None:
            report["in_trial"], report["advised"] = len(self.trial.drawn), sum(self.trial.drawn.values())
        return report

    def stop(self) -> None:
        """End the delays that would outlast the agent."""
        if self.limits is not None and self.limits.hold:
            self.release("the agent stops")

    def release(self, why: str) -> int:
        """End every delay set by the agent or the plugin. Return their number."""
        count = pending_jobs.release_all(self._load_pending(), why, self._notes.marks)
        self._notes.keep()
        return count

    def _load_pending(self) -> list[cluster.Pending]:
        return self._notes.restored(cluster.list_pending())

    def _give_up(self) -> None:
        if self.limits is not None and time.monotonic() - self._answered_at > self.patience_s:
            try:
                self.release("there is no advice")
            except FlitwatchError as problem:
                log.warning("delays are kept: %s", problem)

    def _is_usable(self, advice: PlacedAdvice) -> bool:
        return self.accept_stale or not advice.stale

    def _make_cases(self, state: AdviceState, where: Places) -> list[Case]:
        questions = [
            Question(user, item["application"], item["nodes"])
            for item in state["applications"]
            for user in (ANYBODY, *item["users"])
        ]
        answers = self.api.ask(where, questions) if questions else []
        return [
            _make_case(question, advice, where)
            for question, advice in zip(questions, answers, strict=True)
            if advice.slowdown is not None and self._is_usable(advice)
        ]

    def _request_advice(self, where: Places, jobs: list[cluster.Pending]) -> list[PlacedAdvice | None]:
        questions = [
            Question(job.user or ANYBODY, job.application or ANYBODY, max(job.nodes, 1), job.deadline_s) for job in jobs
        ]
        answers = self.api.ask(where, questions) if questions else []
        return [advice if advice.slowdown is not None and self._is_usable(advice) else None for advice in answers]


def _make_case(question: Question, advice: PlacedAdvice, where: Places) -> Case:
    return Case(
        question.application,
        question.user,
        question.nodes,
        advice.action,
        advice.retry_s,
        advice.usual_s,
        advice.slowdown or 0.0,
        join_features(where, advice.chosen),
        host_list(where, advice.worse),
        where.count_free_nodes(advice.chosen),
        advice.reason,
    )
