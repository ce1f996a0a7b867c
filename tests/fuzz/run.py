"""Fuzzing of importers: `run.py SECONDS [TARGET...]`, SECONDS each, `--at-a-time` at once. Prints a line per target and one JSON object at the end.
`run.py 0 [TARGET...] --merge` adds findings of earlier runs to tests/fuzz/corpus, and keeps only inputs that increase coverage.

C++ importers run under libFuzzer with ASan and UBSan (services/noise_core/fuzz), Python importers under Atheris (targets.py). Failures are stored in
build/fuzz/finds, the output of each target in build/fuzz/NAME.log.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from inputs import pack_inputs, read_inputs, read_written, unpack_inputs
from targets import SHARED_MEMORY, TARGETS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD, CORE = ROOT / "build/fuzz", ROOT / "services/noise_core"
FINDS = BUILD / "finds"
#: A key, a name or a punctuated number of a format; without quotes and backslashes, which a dictionary would have to escape.
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_.:-]{2,39}")
MOST_WORDS = 400
#: Of an input on a core of its own; longer is a find.
SLOWEST_S = 20


@dataclass
class Fuzzed:
    """What became of one target.

    Attributes
    ----------
    inputs, seconds : int       tried, within so much wall time; 0: it ended early
    core_s : float              seconds of a core that it had
    covered : str               libFuzzer's edges, features and size of the corpus
    peak_mib : int              of memory
    status : int                0, or how it ended
    """

    name: str
    inputs: int
    seconds: int
    core_s: float
    covered: str
    peak_mib: int
    status: int

    def line(self) -> str:
        """Of the log."""
        tried = f"{self.inputs} inputs in {self.seconds} s" if self.seconds else "ended early"
        return f"{self.name}: {tried} ({self.core_s:.0f} s of a core), {self.covered}, peak {self.peak_mib} MiB, exit {self.status}"


def cxx_targets() -> list[str]:
    """Their names, as CMake has them."""
    return re.findall(r"^ *flitwatch_fuzz\((\w+)", (CORE / "CMakeLists.txt").read_text(), re.MULTILINE)


def build(names: Sequence[str]) -> None:
    """Compile the C++ targets `names`."""
    if not names:
        return
    if shutil.which("clang++") is None:
        sys.exit("fuzz: needs clang++ (Debian: clang)")
    configure = ["cmake", "-S", CORE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++", "-DFLITWATCH_FUZZ=ON"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    made = ["cmake", "--build", BUILD, "--target", *(f"fuzz_{name}" for name in names)]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)


def dictionary(name: str) -> Path | None:
    """A target's words for libFuzzer: those of the inputs that people wrote, which mutations of bytes would hardly come upon. None if there are none."""
    words: set[bytes] = set()
    for data in read_written(name).values():
        words.update(WORD.findall(data))
    if not words:
        return None
    path = BUILD / f"{name}.dict"
    path.write_text("".join(f'"{word.decode("ascii")}"\n' for word in sorted(words)[:MOST_WORDS]))
    return path


def fuzz(name: str, program: Path, corpus: Path, seconds: int, slowest_s: int, files: str, seed: int) -> Fuzzed:
    """Run one target, whose inputs take `slowest_s` at most; its own files go to the folder `files`. Seed 0 draws one."""
    log, grown = BUILD / f"{name}.log", corpus / name
    grown.mkdir(parents=True, exist_ok=True)
    limits = [
        f"-max_total_time={seconds}",
        "-max_len=8192",
        f"-timeout={slowest_s}",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-seed={seed}",
    ]
    words = dictionary(name)
    if words is not None:
        limits.append(f"-dict={words}")
    start = unpack_inputs(read_inputs(name), Path(files) / "corpus" / name)
    command = [program, grown, start, f"-artifact_prefix={FINDS}/{name}-", *limits]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            env={**os.environ, "TMPDIR": files, "PYTHONHASHSEED": str(seed or "random")},
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    said = log.read_text(errors="replace")
    done = re.findall(r"^Done (\d+) runs in (\d+) second", said, re.MULTILINE)
    covered = re.findall(r" (cov: \d+ ft: \d+ corp: \d+)", said)
    peak = re.findall(r"^stat::peak_rss_mb: +(\d+)", said, re.MULTILINE)
    inputs, took = (int(one) for one in done[-1]) if done else (0, 0)
    if process.returncode:
        print(*said.splitlines()[-40:], sep="\n", file=sys.stderr)
    return Fuzzed(
        name,
        inputs,
        took,
        used.ru_utime + used.ru_stime,
        covered[-1] if covered else "cov: none",
        int(peak[-1]) if peak else 0,
        process.returncode,
    )


def program_of(name: str, cxx: bool) -> Path:
    """What fuzzes a target: one executable, for libFuzzer starts it again where it merges."""
    if cxx:
        return BUILD / f"fuzz_{name}"
    script = BUILD / f"fuzz_{name}"
    words = [sys.executable, str(HERE / "fuzz_python.py"), name]
    BUILD.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nFUZZ_AS={shlex.quote(str(script))} exec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return script


def merge(names: Sequence[str], corpus: Path) -> list[str]:
    """Keep the fewest inputs, of those kept and those in `corpus`, that cover as much; return the targets for which that failed."""
    cxx = [name for name in names if name not in TARGETS]
    build(cxx)
    failed = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="flitwatch-fuzz-", dir=SHARED_MEMORY) as files:
            before = read_inputs(name)
            covering = unpack_inputs(read_written(name), Path(files) / "covering")
            folders = [
                covering,
                unpack_inputs(before, Path(files) / "kept"),
                *([corpus / name] if (corpus / name).is_dir() else []),
            ]
            with (BUILD / f"{name}-merge.log").open("wb") as out:
                command = [
                    program_of(name, name in cxx),
                    "-merge=1",
                    "-max_len=8192",
                    f"-timeout={SLOWEST_S}",
                    *folders,
                ]
                ended = subprocess.run(command, stdout=out, stderr=out, env={**os.environ, "TMPDIR": files}).returncode
            if ended:
                failed.append(name)
            else:
                pack_inputs(name, {path.name: path.read_bytes() for path in covering.iterdir()})
            print(f"{name}: {len(before)} inputs before, {len(read_inputs(name))} now, exit {ended}", flush=True)
    return failed


def run(
    names: Sequence[str], seconds: int, at_a_time: int, corpus: Path, seed: int, say: Callable[[str], None]
) -> list[Fuzzed]:
    """Fuzz `names` for `seconds` each, `at_a_time` of them."""
    cxx = [name for name in names if name not in TARGETS]
    build(cxx)
    FINDS.mkdir(parents=True, exist_ok=True)
    commit = (
        subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        or "unknown"
    )
    say(
        f"# commit {commit}, {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}, {len(names)} targets, {seconds} s each, {at_a_time} at a time"
    )

    # libFuzzer measures an input by the clock on the wall.
    slowest_s = SLOWEST_S * max(1, round(at_a_time / (os.cpu_count() or 1)))

    def one(name: str) -> Fuzzed:
        program = program_of(name, name in cxx)
        fuzzed = fuzz(name, program, corpus, seconds, slowest_s, files, seed)
        say(fuzzed.line())
        return fuzzed

    with (
        tempfile.TemporaryDirectory(prefix="flitwatch-fuzz-", dir=SHARED_MEMORY) as files,
        ThreadPoolExecutor(at_a_time) as pool,
    ):
        return list(pool.map(one, names))


def main() -> int:
    """Fuzz what is asked for; 1 if something was found."""
    everything = [*cxx_targets(), *TARGETS]
    parser = argparse.ArgumentParser(description="Fuzz the importers.")
    parser.add_argument("seconds", type=int, help="of wall time, for each target")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"{', '.join(everything)}; all of them if none is given"
    )
    parser.add_argument(
        "--at-a-time",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="parallel targets (a core each)",
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="append the lines to this file too")
    parser.add_argument(
        "--corpus",
        type=Path,
        default=BUILD / "corpus",
        metavar="FOLDER",
        help="where new inputs go (build/fuzz/corpus)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="try the inputs that N draws, the same in every run that starts with the same corpus (0: others each time)",
    )
    parser.add_argument(
        "--merge", action="store_true", help="take from that folder into tests/fuzz/corpus what covers more"
    )
    asked = parser.parse_args()
    unknown = sorted(set(asked.targets) - set(everything))
    if unknown or asked.seconds < (0 if asked.merge else 1) or asked.at_a_time < 1:
        parser.error(
            f"no target {', '.join(unknown)}; see --help" if unknown else "seconds and --at-a-time are at least 1"
        )

    if asked.merge:
        failed = merge(asked.targets or everything, asked.corpus)
        print(f"merge: failed for {', '.join(failed)}" if failed else "merged")
        return 1 if failed else 0

    def say(line: str) -> None:
        print(line, flush=True)
        if asked.log is not None:
            with asked.log.open("a") as log:
                log.write(line + "\n")

    fuzzed = run(asked.targets or everything, asked.seconds, asked.at_a_time, asked.corpus, asked.seed, say)
    found = [one.name for one in fuzzed if one.status]
    summary = {
        "targets": len(fuzzed),
        "seconds_each": asked.seconds,
        "inputs": sum(one.inputs for one in fuzzed),
        "core_s": round(sum(one.core_s for one in fuzzed)),
        "crashes": len(found),
        "finds_in": found,
    }
    print(json.dumps(summary))
    print(f"{len(fuzzed) - len(found)} passed, {len(found)} failed")
    if found:
        print(f"fuzz: finds in {', '.join(found)}: see {FINDS}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
