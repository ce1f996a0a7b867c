"""End of a job in SQL, also if no record may give it."""

from __future__ import annotations

from flitwatch_domain.jobs import OVER_STATES

_OVER = ", ".join(f"'{state}'" for state in sorted(OVER_STATES))


def end_or(still: str, job: str = "") -> str:
    """Build the SQL of a job's end; NULL if it may be over and no record tells since when, so that no comparison with it holds.

    Parameters
    ----------
    still : str
        What stands for the end of a job that waits or runs, such as `'infinity'::timestamptz`.
    job : str
        How the query names the table, with a dot.
    """
    return f"coalesce({job}end_ts, CASE WHEN {job}state NOT IN ({_OVER}) THEN {still} END)"
