"""Entry point: answers the root's help and the completion of names from the outline. Click runs everything else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flitwatch.outline import answer_quickly


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Exit with 141 if the reader closes the pipe, like a program stopped by SIGPIPE."""
    try:
        yield
    except BrokenPipeError:
        # Discard buffered output, so that Python does not report an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. A known error becomes one clear line and a non-zero exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    if (text := answer_quickly(arguments, os.environ)) is not None:
        with reader_may_leave():
            print(text, flush=True)
        return
    from flitwatch.command_line import run_command

    run_command(arguments)


def sampler(argv: Sequence[str] | None = None) -> None:
    """Run `flitwatch-sampler ...`, the name of the host service for `flitwatch sampler ...`."""
    main(["sampler", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    main()
