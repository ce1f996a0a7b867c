"""Fuzzing of one Python importer: `fuzz_python.py TARGET [libFuzzer options] [corpus folders]`."""

from __future__ import annotations

import contextlib
import os
import sys

import atheris

PACKAGES = [
    "flitwatch_alerting",
    "flitwatch_domain",
    "flitwatch_ingest",
    "flitwatch_research.packet",
    "flitwatch_research.tables",
    "flitwatch_routing",
    "flitwatch_simulation",
    "flitwatch_stream",
    "flitwatch.commands.imports",
    "flitwatch_slurm",
    "yaml",
]

with atheris.instrument_imports(include=PACKAGES):
    from targets import TARGETS

    from flitwatch_domain.errors import FlitwatchError
    from flitwatch_research import topologies


def main() -> None:
    """Run libFuzzer; any exception but a FlitwatchError ends it with a find."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: fuzz_python.py TARGET [options]; targets: {' '.join(TARGETS)}")
    target = TARGETS[sys.argv.pop(1)]
    # A merge starts this program again, by its name.
    sys.argv[0] = os.environ.get("FUZZ_AS", sys.argv[0])

    def one_input(data: bytes) -> None:
        with contextlib.suppress(FlitwatchError):
            target(data)

    topologies.MOST_LINKS = 20_000  # millions are valid; building them says nothing about the parser
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
