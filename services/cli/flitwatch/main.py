"""Entry point: answers the root's help and the completion of names from the outline. Click runs everything else."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from flitwatch.outline import answer_quickly, reader_may_leave


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. A known error becomes one clear line and a non-zero exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        text = answer_quickly(arguments, os.environ)
        if text is not None:
            with reader_may_leave():
                print(text, flush=True)
            return
    except (OSError, ImportError):
        # A full device or a broken installation: the whole command line reports it.
        pass
    from flitwatch.command_line import run_command

    run_command(arguments)


def sampler(argv: Sequence[str] | None = None) -> None:
    """Run `flitwatch-sampler ...`, the name of the host service for `flitwatch sampler ...`."""
    main(["sampler", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    main()
