"""When a job ended, where nobody may know."""

from __future__ import annotations


def end_or(still: str, job: str = "") -> str:
    """SQL of a job's end; NULL where nobody knows it, so that no comparison with it holds.

    Parameters
    ----------
    still : str
        What stands for the end of a job that waits or runs, such as `'infinity'::timestamptz`.
    job : str
        How the query names the table, with a dot.
    """
    return f"coalesce({job}end_ts, CASE WHEN {job}state <> 'UNKNOWN' THEN {still} END)"
