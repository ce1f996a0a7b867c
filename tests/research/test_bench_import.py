"""`flitwatch bench import`: every line of its text is a job or a step, and a short run ends with exact counts and the contract's keys."""

from __future__ import annotations

from itertools import islice

import pytest
from cli.commands import succeed

from flitwatch_ingest.sources import sacct
from flitwatch_research.commands.bench_import import LINES_PER_JOB, write_lines


def test_each_line_is_a_job_or_a_step() -> None:
    lines = 40 * LINES_PER_JOB
    jobs, rejected = sacct.decode_jobs("".join(islice(write_lines(), lines + 1)).encode(), "bench")
    assert not rejected
    assert len(jobs) + sum(len(job.steps) for job in jobs) == lines
    assert all(job.end_s is not None and len(job.steps) == LINES_PER_JOB - 1 for job in jobs)


@pytest.mark.system("processes")
@pytest.mark.integration
def test_a_short_run_counts_every_row() -> None:
    figures = succeed("bench", "import", "--lines", "1001")
    assert (figures["lines"], figures["jobs"], figures["steps"]) == (1001, 251, 750)
    assert figures["lines_per_s"] > 0 and figures["peak_rss_mb"] > 0
    assert 0 < figures["first_row_s"] <= figures["seconds"]
    assert figures["first_row_cpu_s"] <= figures["cpu_s"] + 0.05
