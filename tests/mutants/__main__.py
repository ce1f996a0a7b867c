"""`python -m mutants [SUITE...]` (make mutants): changes one token at a time and checks whether the suite's tests detect it.

Each change runs in a fork of a process with loaded libraries, so it costs only the tests' time. No file is written, so nothing needs cleaning up.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import signal
import sys
import time
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from mutants.changes import Change, changed_tree, changes
from mutants.report import markdown

ROOT = Path(__file__).resolve().parents[2]
HERE, KEPT, REPORT = Path(__file__).parent, ROOT / "build" / "mutants", ROOT / "docs" / "mutants.md"
WANTED = 0.85
#: A change that makes the tests run this many times as long is noticed: so would be a test run that does not end.
PATIENCE, LEAST_S = 8, 60


def main() -> None:
    """Run the suites named, or all of them; exit 1 if fewer are noticed than wanted."""
    suites = tomllib.loads((HERE / "suites.toml").read_text())
    options = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    options.add_argument("suite", nargs="*", choices=[*suites, []], help="all, unless named")
    options.add_argument("--sample", type=int, default=40, help="changes of each suite, drawn by the seed")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--report", action="store_true", help="write docs/mutants.md from what earlier calls kept too")
    given = options.parse_args()
    argued = tomllib.loads((HERE / "equivalents.toml").read_text())["equivalent"]
    known = {one["change"]: one["why"] for one in argued}
    short = []
    for name in given.suite or list(suites):
        result = _suite(name, suites[name], given.sample, given.seed, known)
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{name}.json").write_text(json.dumps(result, indent=1))
        print(f"{name}: {result['noticed']} of {result['tried'] - result['equivalent']} noticed", flush=True)
        if result["share"] < WANTED:
            short.append(name)
    if given.report:
        kept = [json.loads((KEPT / f"{name}.json").read_text()) for name in suites if (KEPT / f"{name}.json").exists()]
        REPORT.write_text(markdown(kept, [name for name in suites if not (KEPT / f"{name}.json").exists()], known))
    if short:
        raise SystemExit(f"mutants: fewer than {WANTED:.0%} noticed in {', '.join(short)}")


def _suite(name: str, suite: dict[str, Any], sample: int, seed: int, known: dict[str, str]) -> dict[str, Any]:
    paths = sorted({str(path.relative_to(ROOT)) for pattern in suite["code"] for path in ROOT.glob(pattern)})
    found = [change for path in paths for change in changes(ROOT, path)]
    drawn = random.Random(f"{name} {seed}").sample(found, min(sample, len(found)))
    load(suite["libraries"])
    begun = time.monotonic()
    if (code := tried(None, suite["tests"], 600.0)) != 0:
        raise SystemExit(
            f"mutants: the tests of {name} fail without any change (exit {code}): {' '.join(suite['tests'])}"
        )
    limit = max(PATIENCE * (time.monotonic() - begun), LEAST_S)
    unnoticed, equivalent = [], []
    for at, change in enumerate(drawn, 1):
        if change.key in known:
            equivalent.append(change.key)
            continue
        if tried(change, suite["tests"], limit) == 0:
            unnoticed.append({"key": change.key, "line": change.line})
            print(f"  unnoticed, {change.path}:{change.line}: {change.before}  ->  {change.after}", flush=True)
        if sys.stderr.isatty():
            print(f"  {at} of {len(drawn)}", end="\r", file=sys.stderr)
    count = len(drawn)
    noticed = count - len(equivalent) - len(unnoticed)
    return {
        "suite": name,
        "seed": seed,
        "changes": len(found),
        "tried": count,
        "noticed": noticed,
        "equivalent": len(equivalent),
        "argued": equivalent,
        "unnoticed": unnoticed,
        "share": noticed / max(count - len(equivalent), 1),
        "tests": suite["tests"],
        "code": suite["code"],
    }


def load(libraries: list[str]) -> None:
    """Load what every fork needs: pytest, its plugins, and a suite's libraries."""
    for module in ("pytest", *libraries):
        importlib.import_module(module)
    for plugin in entry_points(group="pytest11"):
        plugin.load()


def tried(change: Change | None, tests: list[str], limit_s: float) -> int:
    """pytest's exit status with the change; -1 if it ran past the limit."""
    child = os.fork()
    if not child:
        os.setsid()
        _run(change, tests)
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def _run(change: Change | None, tests: list[str]) -> None:
    code = 70
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        if change is not None:
            _put_in(change)
        import pytest

        os.chdir(ROOT)
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]))
    finally:
        os._exit(code)


def _put_in(change: Change) -> None:
    """Let the module be loaded with the change. It must not be loaded yet."""
    path, tree = str(ROOT / change.path), changed_tree(ROOT, change)
    plain = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, fullname: str) -> Any:
        if os.path.realpath(loader.path) == os.path.realpath(path):
            return compile(tree, path, "exec", dont_inherit=True)
        return plain(loader, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
