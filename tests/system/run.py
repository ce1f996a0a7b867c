"""`make test-system`: run shards of the system suite and write docs/system-tests.md.

An interrupted run can be resumed: a passed test is skipped while its file and its imports are unchanged.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from system.record import Record
from system.shards import SHARDS, Shard

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "system-tests.md"
RECORDS = ROOT / ".cache" / "system"
HEAD = """# System tests

`make test` is the gate. `make test-system` runs everything else, in shards: `make test-system SHARD=c` runs one. A test that passed is skipped until
its file or an import changes. `FRESH=1` runs it again. Each shard writes its log to `.cache/system/`, and its last result to this page.

| shard | what it tests | date | commit | passed | failed | skipped | minutes |
|---|---|---|---|---:|---:|---:|---:|
"""


def rows() -> dict[str, str]:
    """The rows of the table, by the shard's letter; those that no run has written yet are empty."""
    kept = {shard.letter: f"| {shard.letter} | {shard.title} | not run | | | | | |" for shard in SHARDS}
    text = TABLE.read_text() if TABLE.exists() else ""
    kept.update({line[2]: line for line in text.splitlines() if line.startswith("| ") and line[3:5] == " |"})
    return kept


def notes() -> dict[str, list[str]]:
    """What stands below the table, by the shard's letter."""
    text = TABLE.read_text() if TABLE.exists() else ""
    kept: dict[str, list[str]] = {}
    for part in text.split("\n## Shard ")[1:]:
        kept[part[0]] = part.splitlines()[1:]
    return kept


def run_tests(shard: Shard, fresh: bool) -> tuple[Record, int]:
    """Run the shard's pytest tests; return their record and pytest's exit code."""
    path = RECORDS / f"{shard.name}.jsonl"
    if fresh:
        path.unlink(missing_ok=True)
    code = logged(shard, pytest_command(shard, path))
    return Record(path, ROOT), code


def pytest_command(shard: Shard, record: Path) -> list[str]:
    """Build the command of a shard's tests. No option has its value behind it: pytest takes one that names a file for its only test, and finds no
    option of ours."""
    return [sys.executable, "-m", "pytest", "-q", f"--suite={shard.name}", f"--record={record}", *shard.options]


def logged(shard: Shard, command: list[str]) -> int:
    """Run a command, print its output and add it to the shard's log; return its exit code."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    with (RECORDS / f"{shard.name}.log").open("ab") as log:
        running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert running.stdout is not None
        while data := running.stdout.read1():  # type: ignore[attr-defined]
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
            log.write(data)
        return running.wait()


def commit() -> str:
    """The commit that is tested, with a plus sign where the checkout differs from it by more than the table."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", ".", f":!{TABLE.relative_to(ROOT)}")
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def run_shard(shard: Shard, fresh: bool) -> bool:
    """Run one shard and write its row; return whether all of it passed."""
    began = time.monotonic()
    (RECORDS / f"{shard.name}.log").unlink(missing_ok=True)
    print(f"system tests, shard {shard.letter}: {shard.title}", flush=True)
    for part in shard.setup:
        logged(shard, [str(ROOT / "services" / "cli" / "setup.sh"), part])
    record, code = run_tests(shard, fresh)
    failed_targets = [
        target for target in shard.targets if logged(shard, ["make", "--no-print-directory", *target.split()]) != 0
    ]
    results = {test: record.results[test] for test in record.expected if test in record.results}
    outcomes = Counter(result["outcome"] for result in results.values())
    missing = len(record.expected) - len(results)
    reasons = Counter(result["reason"] for result in results.values() if result["outcome"] == "skipped")
    failures = [test for test, result in results.items() if result["outcome"] == "failed"]
    failures += [f"make {target}" for target in failed_targets]
    passed = outcomes["passed"] + len(shard.targets) - len(failed_targets)
    minutes = (time.monotonic() - began) / 60
    day = datetime.datetime.now(datetime.UTC).date()
    table, below = rows(), notes()
    failing = str(len(failures)) + (f" (and {missing} without a result)" if missing else "")
    table[shard.letter] = (
        f"| {shard.letter} | {shard.title} | {day} | {commit()} | {passed} | {failing} | {outcomes['skipped']} | {minutes:.0f} |"
    )
    below[shard.letter] = [
        "",
        *(f"- failed: `{test}`" for test in failures),
        *(f"- {count} skipped: {reason}" for reason, count in sorted(reasons.items())),
    ]
    parts = "".join(
        f"\n## Shard {letter}\n" + "\n".join(lines).rstrip() + "\n"
        for letter, lines in sorted(below.items())
        if any(line.strip() for line in lines)
    )
    TABLE.write_text(HEAD + "".join(f"{table[one.letter]}\n" for one in SHARDS) + parts)
    # Pytest ends with 5 if no test was left to run.
    return not failures and not missing and code in (0, 5)


def main() -> int:
    """Run the shards that were asked for; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    letters = [shard.letter for shard in SHARDS]
    parser.add_argument("shards", nargs="*", choices=letters, default=letters, help="letters; all without")
    parser.add_argument("--fresh", action="store_true", help="run tests again that passed with the same sources")
    given = parser.parse_args()
    os.environ["PYTHONUNBUFFERED"] = "1"
    passed = {shard.letter: run_shard(shard, given.fresh) for shard in SHARDS if shard.letter in given.shards}
    failed = [letter for letter, good in passed.items() if not good]
    print(f"system tests: {len(passed) - len(failed)} shards passed, {len(failed)} failed {' '.join(failed)}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
