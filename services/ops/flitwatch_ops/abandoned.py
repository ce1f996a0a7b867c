"""Stop a temporary server whose process was killed before it could do so: `python -m flitwatch_ops.abandoned FOLDER`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Wait for the end of a pipe that only the watched process holds open. A shell does this with little memory.
_WATCH = 'cat > /dev/null; [ ! -d "$1" ] || exec "$2" -m flitwatch_ops.abandoned "$1"'


@contextlib.contextmanager
def guard_server(folder: Path) -> Iterator[None]:
    """Within this context, a helper process ensures that the temporary server of `folder` stops when this process ends for any reason."""
    command = ["sh", "-c", _WATCH, "sh", str(folder), sys.executable]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A signal that ends this process may be sent to its whole session.
        start_new_session=True,
    ):
        yield


if __name__ == "__main__":
    from flitwatch_ops.embedded import sweep_abandoned

    one = Path(sys.argv[1])
    sweep_abandoned(one.parent, one.name)
