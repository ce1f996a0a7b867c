"""`flitwatch study advice-value`: savings by advice in simulated scenarios."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import orjson

from flitwatch.console import make_progress, print_result

NAME = "advice-value"
SUMMARY = "Node-hours that following advice saves, and what it costs in waiting."
SEEDS = 5


def run_advice_study(
    seeds: int | None,
    first: int | None,
    days: int | None,
    jobs: Path | None,
    variants: tuple[str, ...],
    processes: int | None,
    executor: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Simulate missing pieces, write the page and the figures if requested, and print the result."""
    from flitwatch_db.tasks.executors import open_executor
    from flitwatch_research.advice_value import pieces, report, study
    from flitwatch_research.advice_value.variants import LOGGED, USUAL

    seeds, first, days = seeds or SEEDS, first or 1, days or pieces.DAYS
    log = None if jobs is None else pieces.JobsFile.of(jobs)
    command = " ".join(
        [
            f"flitwatch study {NAME} --seeds {seeds}",
            *([f"--first-seed {first}"] if first != 1 else []),
            *([f"--days {days}"] if days != pieces.DAYS else []),
            *([f"--jobs {shlex.quote(jobs.name)}"] if jobs is not None else []),
            *(f"--variant {variant}" for variant in variants),
        ]
    )
    with make_progress("") as bar:
        task = bar.add_task(NAME, total=None)

        def tell(done: int, total: int, message: str) -> None:
            bar.update(task, completed=done, total=total, description=message)

        with open_executor(executor, processes) as pool:
            answer = study.run_study(
                variants or (LOGGED if log else USUAL), seeds, days, pool, command, tell, first, log
            )
    page = report.to_markdown(answer)
    if out is not None:
        _write_report(out, answer, page)
    if as_json:
        print_result({name: value for name, value in answer.items() if name != "points"}, as_json)
    else:
        print(page)


def _write_report(out: Path, answer: dict[str, Any], page: str) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".md").write_text(page)
    out.with_suffix(".json").write_bytes(orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
