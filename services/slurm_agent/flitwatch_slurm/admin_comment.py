"""Our mark within a job's admin comment, alongside what other tools keep there: `[flitwatch delay since=1700000000 why]`."""

from __future__ import annotations

import re

#: What Slurm takes at submission; it refuses a job with a longer one.
MOST_BYTES = 1024
_MARK = re.compile(r"\[flitwatch (start|delay|prefer|released) since=([0-9]{1,12})(?![0-9])[^\[\]]*\]")
#: As older versions wrote it, over the whole comment. It is read, and stays as anyone's text.
_OLD_MARK = re.compile(r"flitwatch (start|delay|prefer|released) since=([0-9]{1,12})(?![0-9])")


def read_mark(comment: str) -> tuple[str | None, int]:
    """Return what was done to the job last and since when in epoch seconds; (None, 0) if nothing was done."""
    match = _find_last_mark(comment) or _OLD_MARK.match(comment)
    return (match.group(1), int(match.group(2))) if match else (None, 0)


def merge_mark(comment: str, what: str, since_s: int, why: str) -> str | None:
    """The comment with our mark in the place of our last one, or at its end; every other character stays.

    Parameters
    ----------
    comment : str
        As Slurm has it; bytes that are no UTF-8 as surrogate escapes.
    what : str
        delay, prefer or released.

    Returns
    -------
    str or None
        None if it cannot be carried: too long for Slurm even without the reason, or with a character that no argument holds.
    """
    if "\0" in comment:
        return None
    plain = "".join(c if c.isascii() and c.isprintable() and c not in "\"'[]" else " " for c in why)
    old = _find_last_mark(comment)
    for mark in (f"[flitwatch {what} since={since_s} {plain[:250]}]", f"[flitwatch {what} since={since_s}]"):
        if old:
            merged_comment = comment[: old.start()] + mark + comment[old.end() :]
        else:
            merged_comment = f"{comment} {mark}" if comment else mark
        if len(merged_comment.encode(errors="surrogateescape")) <= MOST_BYTES:
            return merged_comment
    return None


def _find_last_mark(comment: str) -> re.Match[str] | None:
    matches = list(_MARK.finditer(comment))
    return matches[-1] if matches else None
