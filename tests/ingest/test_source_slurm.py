"""The sacct collector against a real Slurm: arrays, heterogeneous jobs, requeues, cancellation, and increments."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import orjson
import pytest
from ingest.writing import read_all
from support.waiting import eventually

from flitwatch_domain.errors import MissingDependency, Unavailable
from flitwatch_domain.hostlist import expand_hosts
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.sacct import SacctCollector
from flitwatch_stream.log import Log
from flitwatch_stream.shapes import parse_job

pytest_plugins = ["support.slurm"]


def jobs_in(log: Log) -> dict[tuple[str, int], Any]:
    """The last record of each job, as the writer keeps them."""
    found: dict[tuple[str, int], Any] = {}
    for record in sorted(read_all(log), key=lambda r: (r.partition, r.offset)):
        if record.topic == "flitwatch.jobs.v1":
            job = parse_job(record.value)
            found[job.job_id, job.restart] = job
    return found


until = partial(eventually, timeout_s=90, every_s=0.3, what="the state in Slurm")


@pytest.mark.integration
@pytest.mark.smoke
@pytest.mark.system("schedulers")
def test_jobs_of_a_real_slurm(slurm: Any, table_log: Log, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    state = tmp_path / "state.json"

    def collector() -> SacctCollector:
        return SacctCollector(Publisher(table_log.producer("test")), Checkpoint(state), overlap_s=600)

    plain = slurm.submit("srun sleep 1; srun -N1 -n1 true", "-N2", "-J", "amg | big")
    array = slurm.submit("sleep 1", "--array=0-2%2", "-J", "arr")
    sleeper = slurm.submit("sleep 600", "-J", "sleeper")
    requeued = slurm.submit("sleep 4", "--requeue", "-J", "requeue_me")
    het = (
        slurm.run("sbatch", "--parsable", "--output=/dev/null", "-n1", ":", "-n2", "--wrap", "sleep 1")
        .strip()
        .split(";")[0]
    )
    until(lambda: slurm.run("squeue", "-h", "-t", "R", "-j", f"{sleeper},{requeued}").count("\n") == 2)
    until(lambda: "RUNNING" in slurm.run("sacct", "-n", "-P", "-X", "-j", sleeper, "-o", "State"))
    first = collector()
    assert first.once() > 0
    running = jobs_in(table_log)
    assert running[sleeper, 0].state == "RUNNING"
    assert running[sleeper, 0].end is None
    assert running[plain, 0].name == "amg | big"

    slurm.run("scontrol", "requeue", requeued)
    slurm.run("scancel", sleeper)
    until(lambda: not [line for line in slurm.run("squeue", "-h", "-o", "%i").split() if not line.startswith(requeued)])

    until(lambda: "CANCELLED" in slurm.run("sacct", "-n", "-P", "-X", "-j", sleeper, "-o", "State"))
    until(lambda: re.match("REQUEUED\n[PR]", slurm.run("sacct", "-D", "-n", "-P", "-X", "-j", requeued, "-o", "State")))
    second = collector()
    assert second.once() > 0
    jobs = jobs_in(table_log)
    assert jobs[sleeper, 0].state == "CANCELLED"
    assert jobs[sleeper, 0].end >= jobs[sleeper, 0].start
    assert jobs[plain, 0].state == "COMPLETED"
    assert {step.step for step in jobs[plain, 0].steps} >= {"batch", "0", "1"}
    assert len(expand_hosts(jobs[plain, 0].node_list)) == 2
    assert {job_id for job_id, _ in jobs} >= {f"{array}_{task}" for task in range(3)} | {f"{het}+0", f"{het}+1"}
    assert jobs[requeued, 0].state == "REQUEUED"
    assert (requeued, 1) in jobs
    assert jobs[requeued, 1].submit > jobs[requeued, 0].submit
    assert not [record for record in read_all(table_log) if record.topic == "flitwatch.rejected.v1"]

    published = len(read_all(table_log))
    until(lambda: slurm.run("squeue", "-h", "-t", "PD,R,CG", "-j", requeued).strip() != "")
    third = collector()
    third.once()
    assert len(read_all(table_log)) - published <= 2, "only what changed is published again"
    for record in read_all(table_log):
        assert "sequence" not in dict(record.headers)
        assert orjson.loads(record.value)["cluster"] == "flitwatch"
    slurm.run("scancel", requeued)


def test_without_slurm_the_package_is_named(tmp_path: Any) -> None:
    with pytest.raises(MissingDependency, match="slurm-client"):
        SacctCollector(Publisher(None), Checkpoint(None), command=str(tmp_path / "sacct"))  # type: ignore[arg-type]


def test_a_failing_sacct_is_unavailable_with_its_words(tmp_path: Any) -> None:
    fake = tmp_path / "sacct"
    fake.write_text("#!/bin/sh\necho 'slurm_persist_conn_open: Connection refused' >&2\nexit 1\n")
    fake.chmod(0o755)
    collector = SacctCollector(Publisher(None), Checkpoint(None), command=str(fake))  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="Connection refused"):
        collector.once()
