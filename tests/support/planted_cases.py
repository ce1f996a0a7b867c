"""Planted incidents on the planted machine: the second job is the culprit, the first is slowed."""

from __future__ import annotations

from dataclasses import dataclass

from support.planted_machine import BEGIN_S, planted, run_of

from flitwatch_db import connect
from flitwatch_db.incidents.update import update_incidents

CULPRIT_S, CULPRIT_END_S = 360, 840


@dataclass(frozen=True)
class Case:
    """A planted incident: times of the slow job and of the query in seconds, and whether only minutes remain."""

    start_s: int
    end_s: int
    asked_s: int
    aged: bool = False

    @property
    def slow_s(self) -> float:
        """Time at which the job became slow."""
        return max(self.start_s, CULPRIT_S)

    @property
    def job_is_over(self) -> bool:
        return self.asked_s >= self.end_s

    @property
    def over(self) -> bool:
        return self.asked_s >= CULPRIT_END_S


CASES = {
    "the aggressor starts": Case(60, 720, 600),
    "the victim ended and the aggressor goes on": Case(60, 600, 780),
    "the victim starts inside": Case(480, 960, 700),
    "history by the minute": Case(60, 600, 3 * 86_400, aged=True),
    "a victim inside, by the minute": Case(480, 820, 3 * 86_400, aged=True),
}


def plant_case(url: str, case: Case) -> None:
    """Write a case into an empty database, with the incidents found by the product until the query."""
    planted(url, (case.start_s, CULPRIT_S, -3600, 420), count=min(18, case.asked_s // 60), ends_s=(case.end_s, CULPRIT_END_S, None, None))  # fmt: skip
    run_of(url, "1", [(CULPRIT_S - 5, 10_000)], min(case.end_s, case.asked_s), start_s=case.start_s)
    with connect(url, role="owner") as owner:
        owner.execute("UPDATE job SET end_ts = NULL, state = 'RUNNING' WHERE end_ts > to_timestamp(%s)", [BEGIN_S + case.asked_s])  # fmt: skip
        if case.aged:
            for table in ("router_1s", "endpoint_1s", "port_10s"):
                owner.execute(f"DELETE FROM {table}")
        owner.commit()
    with connect(url, role="writer", autocommit=True) as conn:
        # Like the engine, from the job's slowdown until now; for history only once.
        for second in [*([] if case.aged else range(int(case.slow_s) + 60, case.asked_s, 60)), case.asked_s]:
            update_incidents(conn, BEGIN_S + second)
