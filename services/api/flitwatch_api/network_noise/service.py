"""A job's stored network noise with its run time and its slowdown."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

import psycopg

from flitwatch_api.answers import build_model
from flitwatch_api.network_noise.schemas import (
    ComparedFigure,
    ComparedGuideline,
    ComparedSet,
    JobNetworkNoise,
    LeftOut,
    NoiseComparison,
    NoiseDispersion,
    NoiseFigure,
    NoiseQuestion,
    NoiseSet,
    Share,
)
from flitwatch_db.core.columns import Connection
from flitwatch_db.estimates.reads import past_jobs
from flitwatch_db.jobs import network_noise, reads
from flitwatch_db.jobs.network_sets import RunSetQuestion, gather_set
from flitwatch_domain.errors import NotFound
from flitwatch_domain.explanation.slowdown import LEAST_SLOWDOWN
from flitwatch_domain.network_noise.two_sets import compare_sets

#: Least number of finished similar jobs for a usual run time.
LEAST_JOBS = 3
#: Most members of a set that are evaluated.
MOST_MEMBERS = 100
METHOD = (
    "De Sensi 2019, equation 2, applied to windows of the counters of the job's own network cards; each NIC is compared with its own quietest quarter of windows."
    " Computation may hide part of it; noise that lasts for more than three quarters of the job is not visible."
)
_LABELS = {"latency_us": "Latency of a request", "waits": "Waits before sending"}


async def of_job(conn: Connection, job_id: str, cluster: str | None, now: datetime) -> JobNetworkNoise:
    """Return the network noise of a job. Raise NotFound."""
    job = await reads.find_job(conn, job_id, cluster, now)
    if job is None:
        raise NotFound(
            f"there is no job {job_id[:60]!r}" + (f" of cluster {cluster[:60]!r}" if cluster else ""),
            advice="Write the id as the scheduler prints it (42, 3_4, 10+1, 13.server); /api/v1/jobs?q= finds jobs with a part of the id.",
        )
    head = {"job_pk": job["job_pk"], "job_id": job["job_id"], "simulated": job["simulated"], "method": METHOD}
    row = await network_noise.of_job(conn, job["job_pk"])
    if row is None:
        why = "The job still runs." if job["end"] is None else "It is computed a few minutes after the job's end."
        nothing = build_model(Share, share=None, of_s=None, cannot_tell=why)
        return build_model(
            JobNetworkNoise,
            {**head, **dict.fromkeys(("computed_at", "fabric_id", "window_s", "message_dispersion", "noise_s"))},
            verdict="not computed",
            windows=0,
            cards=0,
            cards_counted=0,
            worst_noise_s=None,
            figures=[],
            of_runtime=nothing,
            of_slowdown=nothing,
            counters=[],
            unknown={},
        )
    unit = {"latency_us": "µs / request", "waits": row["waits_unit"]}
    figures = [
        build_model(
            NoiseFigure,
            key=key,
            label=_LABELS[key],
            unit=unit[key],
            mean=row[key],
            quiet=row[f"quiet_{key}"],
            dispersion=row[f"{key.removesuffix('_us')}_dispersion"],
        )
        for key in ("latency_us", "waits")
        if row[key] is not None
    ]
    return build_model(
        JobNetworkNoise,
        {**row, **head},
        verdict="cannot tell" if row["noise_s"] is None else "estimated",
        figures=figures,
        of_runtime=_noise_share(row, row["elapsed_s"], None),
        of_slowdown=_noise_share(row, *await _job_slowdown(conn, job["job_pk"], row["elapsed_s"])),
    )


def _noise_share(row: dict[str, Any], of_s: float | None, why: str | None) -> Share:
    if row["noise_s"] is None:
        return build_model(
            Share, share=None, of_s=of_s, cannot_tell=row["unknown"].get("noise_s", "It was not counted.")
        )
    if of_s is None:
        return build_model(Share, share=None, of_s=None, cannot_tell=why)
    return build_model(Share, share=min(row["noise_s"] / of_s, 1.0), of_s=of_s, cannot_tell=None)


async def _job_slowdown(conn: Connection, job_pk: int, elapsed_s: float) -> tuple[float | None, str | None]:
    """Return the seconds beyond the median of the most similar jobs, or the reason why there are too few finished ones."""
    kin = next((kind for kind in await past_jobs(conn, job_pk, elapsed_s) if kind["jobs"] >= LEAST_JOBS), None)
    if kin is None:
        return None, f"Fewer than {LEAST_JOBS} finished jobs are similar to it, so the usual time is unknown."
    if elapsed_s < LEAST_SLOWDOWN * kin["p50_s"]:
        return None, "It took no longer than usual."
    return elapsed_s - kin["p50_s"], None


def of_sets(conn: psycopg.Connection[Any], asked: NoiseQuestion, bare: bool) -> NoiseComparison:
    """Compare two sets. With `bare`, applications are named without their folders."""
    sides = [gather_set(conn, _make_question(item, bare), MOST_MEMBERS) for item in (asked.first, asked.second)]
    comparison = compare_sets(sides[0].observed, sides[1].observed, asked.message_bytes)
    first, second = (
        build_model(
            ComparedSet,
            observations=comparison.counted[at],
            shared=comparison.shared[at],
            dispersion=build_model(NoiseDispersion, asdict(comparison.dispersion[at])),
            left_out=[build_model(LeftOut, number=number, why=why) for number, why in side.left_out],
        )
        for at, side in enumerate(sides)
    )
    return build_model(
        NoiseComparison,
        verdict=comparison.verdict,
        why=comparison.why,
        guidelines=[build_model(ComparedGuideline, asdict(item)) for item in comparison.guidelines],
        figures=[build_model(ComparedFigure, asdict(item)) for item in comparison.figures],
        first=first,
        second=second,
        message_bytes=asked.message_bytes,
        simulated=any(side.simulated for side in sides),
    )


def _make_question(one: NoiseSet, bare: bool) -> RunSetQuestion:
    return RunSetQuestion(one.runs, one.jobs, one.application, one.since, one.until, bare)
