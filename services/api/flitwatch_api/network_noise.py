"""Routes of network noise: of a job, and of two sets of runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

import psycopg
from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, Field, StringConstraints, model_validator

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.names import TheNames
from flitwatch_api.parameters import Cluster, JobId, Time
from flitwatch_api.people.access import require_access
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.core.columns import Connection
from flitwatch_db.estimates.reads import past_jobs
from flitwatch_db.jobs import network_noise as stored_noise
from flitwatch_db.jobs import reads
from flitwatch_db.jobs.network_noise import RunSetQuestion, gather_set
from flitwatch_domain.errors import NotFound
from flitwatch_domain.explanation.slowdown import LEAST_SLOWDOWN
from flitwatch_domain.network_noise.two_sets import ComparedFigure, ComparedGuideline, NoiseDispersion, compare_sets


class NoiseFigure(BaseModel):
    """A figure of a job's network cards."""

    key: Literal["latency_us", "waits"]
    label: str
    unit: str
    mean: float = Field(description="Mean over the job.")
    quiet: float = Field(description="Lower quartile over the job's windows.")
    dispersion: float = Field(description="Quartile coefficient of dispersion over the windows: (Q3 - Q1) / (Q3 + Q1).")


class Share(BaseModel):
    """Network noise over a period; null means "cannot tell", with the reason."""

    share: float | None = Field(ge=0, le=1)
    of_s: float | None = Field(description="Time to which the share refers.")
    cannot_tell: str | None


class JobNetworkNoise(BaseModel):
    """The network noise of a job, from the counters of its network cards (De Sensi 2019)."""

    job_pk: int
    job_id: str
    verdict: Literal["estimated", "cannot tell", "not computed"] = Field(
        description="`estimated`: seconds are known. `not computed`: the job runs, or ended moments ago."
    )
    computed_at: datetime | None
    fabric_id: int | None
    window_s: int | None
    windows: int = Field(description="Windows with traffic.")
    cards: int
    cards_counted: int
    figures: list[NoiseFigure]
    message_dispersion: float | None = Field(description="Dispersion of the modelled time of a message of 64 KiB.")
    noise_s: float | None = Field(
        description="Modelled seconds of sending beyond the job's own quiet level, mean over its NICs."
    )
    worst_noise_s: float | None = Field(description="The same for the NIC with the largest value.")
    of_runtime: Share
    of_slowdown: Share = Field(description="Share of the seconds beyond the median of similar finished jobs.")
    counters: list[str] = Field(description="Columns of the tables endpoint_* that it uses.")
    unknown: dict[str, str] = Field(description="Why a figure is unknown.")
    method: str
    simulated: bool


class NoiseSet(BaseModel, extra="forbid"):
    """One of two sets: runs or jobs by number, or the newest runs of an application in a period."""

    runs: list[Annotated[int, Field(ge=1, le=2**63 - 1)]] = Field(default=[], max_length=100)
    jobs: list[Annotated[str, StringConstraints(min_length=1, max_length=60)]] = Field(
        default=[], max_length=100, description="Ids as the scheduler prints them. Each job is one observation."
    )
    application: Annotated[str, StringConstraints(min_length=1, max_length=400)] | None = Field(
        default=None, description="Name of the application, as in instrumented runs."
    )
    since: Time | None = Field(default=None, description="With `application`: runs that started at or after this time.")
    until: Time | None = Field(default=None, description="With `application`: runs that started before this time.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        named = bool(self.runs or self.jobs)
        if named == (self.application is not None):
            raise ValueError("name runs or jobs, or an application")
        if named and (self.since is not None or self.until is not None):
            raise ValueError("a period requires an application")
        return self


class NoiseQuestion(BaseModel, extra="forbid"):
    """Two sets to compare, and the message size for the modelled time."""

    first: NoiseSet
    second: NoiseSet
    message_bytes: int = Field(default=65_536, ge=1, le=2**40, strict=True)


class LeftOut(BaseModel):
    """A member of a set without an observation, with the reason."""

    number: str
    why: str


class ComparedSet(BaseModel):
    """Contents of a set."""

    observations: int
    shared: int = Field(description="Number in allocations that both sets have; only these are compared.")
    dispersion: NoiseDispersion
    left_out: list[LeftOut]


class NoiseComparison(BaseModel):
    """Two sets of runs by the counters of their network cards (De Sensi 2019, section 3)."""

    verdict: Literal["higher", "lower", "cannot tell"] = Field(
        description="Ratio of the second set's modelled message time to the first's."
    )
    why: str
    guidelines: list[ComparedGuideline]
    figures: list[ComparedFigure]
    first: ComparedSet
    second: ComparedSet
    message_bytes: int
    simulated: bool


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
    row = await stored_noise.of_job(conn, job["job_pk"])
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
            dispersion=comparison.dispersion[at],
            left_out=[build_model(LeftOut, number=number, why=why) for number, why in side.left_out],
        )
        for at, side in enumerate(sides)
    )
    return build_model(
        NoiseComparison,
        verdict=comparison.verdict,
        why=comparison.why,
        guidelines=list(comparison.guidelines),
        figures=list(comparison.figures),
        first=first,
        second=second,
        message_bytes=asked.message_bytes,
        simulated=any(side.simulated for side in sides),
    )


def _make_question(one: NoiseSet, bare: bool) -> RunSetQuestion:
    return RunSetQuestion(one.runs, one.jobs, one.application, one.since, one.until, bare)


http = APIRouter(tags=["jobs"], responses=RESPONSES)


@http.get("/jobs/{job_id}/network-noise", response_model=JobNetworkNoise)
async def network_noise(
    conn: Reader,
    job_id: JobId,
    cluster: Cluster = None,
) -> Response:
    """Estimate how much longer a job's network cards took to send than in its own quiet times, and the share of that in its slowdown."""
    return json_response(await of_job(conn, job_id, cluster or None, datetime.now(UTC)))


@http.post(
    "/network-noise/compare",
    response_model=NoiseComparison,
    openapi_extra=require_access("viewer", "read", changes=False),
)
async def compare_network_noise(platform: ThePlatform, names: TheNames, asked: NoiseQuestion) -> Response:
    """Compare whether messages took longer in one set of runs than in another, within the limits of published guidelines."""

    def work(conn: psycopg.Connection[Any]) -> NoiseComparison:
        return of_sets(conn, asked, names.pseudonyms)

    return json_response(await platform.in_thread("reader", work), "no-store")
