"""Ends a throw-away server whose process was killed and could not end it: `python -m flitwatch_ops.abandoned FOLDER`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Waits for the end of a pipe that only the watched process holds, in a shell, which takes no memory to speak of.
_WATCH = 'cat > /dev/null; [ ! -d "$1" ] || exec "$2" -m flitwatch_ops.abandoned "$1"'


@contextlib.contextmanager
def guard_server(folder: Path) -> Iterator[None]:
    """While this lasts, a process of its own sees to it that the throw-away server of `folder` ends with this process, however that ends."""
    command = ["sh", "-c", _WATCH, "sh", str(folder), sys.executable]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # What ends this process may be meant for all of its session.
        start_new_session=True,
    ):
        yield


if __name__ == "__main__":
    from flitwatch_ops.embedded import sweep_abandoned

    one = Path(sys.argv[1])
    sweep_abandoned(one.parent, one.name)
