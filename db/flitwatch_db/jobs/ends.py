"""End of a job in SQL, including jobs whose end is unknown."""

from __future__ import annotations

from flitwatch_domain.jobs import OVER_STATES

_OVER = ", ".join(f"'{state}'" for state in sorted(OVER_STATES))


def end_or(still: str, job: str = "") -> str:
    """Build the SQL of a job's end; NULL if it may have ended at an unknown time, so that all comparisons with it are false.

    Parameters
    ----------
    still : str
        SQL for the end of a pending or running job, such as `'infinity'::timestamptz`.
    job : str
        The table's name in the query, with a dot.
    """
    return f"coalesce({job}end_ts, CASE WHEN {job}state NOT IN ({_OVER}) THEN {still} END)"
