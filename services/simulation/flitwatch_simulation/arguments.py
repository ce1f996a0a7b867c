"""What a task's argument must not name: whoever may start a task must not read the worker's files by it."""

from __future__ import annotations

from typing import Any

from flitwatch_domain.errors import BadRequest

_PREFIXES = ("file:", "lft:")


def refuse_files(args: Any, name: str = "argument") -> None:
    """Refuse `file:` and `lft:` anywhere in a task's argument, also in lists and objects.

    Raises
    ------
    BadRequest
        Naming the argument.
    """
    if isinstance(args, dict):
        for key, value in args.items():
            refuse_files(value, str(key))
    elif isinstance(args, list):
        for value in args:
            refuse_files(value, name)
    elif isinstance(args, str) and args.startswith(_PREFIXES):
        raise BadRequest(f"a task reads no file: {name} {args[:80]!r}", advice="Use the command where the file is.")
