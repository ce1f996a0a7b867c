"""Flitwatch's mark in a job's admin comment, next to other tools' text: `[flitwatch delay since=1700000000 why]`."""

from __future__ import annotations

import re

#: Slurm's limit at submission; jobs with longer comments are refused.
MOST_BYTES = 1024
_MARK = re.compile(r"\[flitwatch (start|delay|prefer|released) since=([0-9]{1,12})(?![0-9])[^\[\]]*\]")
#: Format of older versions, which used the whole comment. It is read but never rewritten.
_OLD_MARK = re.compile(r"flitwatch (start|delay|prefer|released) since=([0-9]{1,12})(?![0-9])")


def read_mark(comment: str) -> tuple[str | None, int]:
    """Return the last action on the job and its start in epoch seconds, or (None, 0) if there was none."""
    match = _find_last_mark(comment) or _OLD_MARK.match(comment)
    return (match.group(1), int(match.group(2))) if match else (None, 0)


def merge_mark(comment: str, what: str, since_s: int, why: str) -> str | None:
    """Return the comment with our mark in place of the previous one, or at the end. All other characters are preserved.

    Parameters
    ----------
    comment : str
        As in Slurm, with invalid UTF-8 bytes as surrogate escapes.
    what : str
        delay, prefer or released.

    Returns
    -------
    str or None
        None if the comment is too long for Slurm even without the reason, or has a character that a command argument cannot contain.
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
