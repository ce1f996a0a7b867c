"""Routes of the roots of congestion: on a machine, and of a job; their response models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import psycopg
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from flitwatch_api.answers import build_model, json_response, utc_time
from flitwatch_api.counters.stalls import DEFAULT_WINDOW_S, resolve_window
from flitwatch_api.names import Names, TheNames
from flitwatch_api.parameters import Cluster, FabricId, JobId, Time, Window
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.diagnosis import roots as diagnosis
from flitwatch_domain.diagnosis.answer import find_worst_path, none_because, rule_causes
from flitwatch_domain.diagnosis.roots import CongestionRoot, DiagnosedLink, Ruling
from flitwatch_domain.errors import BadRequest


class RootsOfCongestion(BaseModel):
    """Roots of congestion in a window, or why they are unknown."""

    fabric_id: int | None
    from_: datetime | None = Field(alias="from")
    to: datetime | None
    method: Literal["ports", "samples"] = Field(
        description="Source of the answer: port counters, or the job's packet samples."
    )
    verdict: Literal["named", "none", "cannot tell"]
    reasons: list[str] = Field(description="Why some stalls have no root.")
    roots: list[CongestionRoot] = Field(description="Roots, most waiting links first.")
    worst_path: list[DiagnosedLink] = Field(
        description="From the farthest link that waits behind the first root to this root, in the direction of traffic."
    )
    rulings: list[Ruling] = Field(description="Causes that this method can find, and whether the window shows them.")
    links_counted: int
    links_stalled: int = Field(description="Stalled links, or congested links with samples.")
    links_explained: int = Field(description="Stalled links that wait behind a root.")
    simulated: bool


http = APIRouter(responses=RESPONSES)

#: Longer windows hide temporarily full links.
LONGEST_S = 3600
At = Annotated[Time | None, Query(description="End of the window (default: the newest complete window).")]
Length = Annotated[Window, Query(description="Length of the window that ends at `at`, at most an hour.")]


@http.get("/fabrics/{fabric}/roots", response_model=RootsOfCongestion, tags=["links"])
async def roots(
    platform: ThePlatform,
    conn: Reader,
    names: TheNames,
    fabric: FabricId,
    at: At = None,
    window: Length = DEFAULT_WINDOW_S,
) -> Response:
    """List where congestion begins on a machine, from the use and stalls of its links, with the links that wait behind and the jobs that feed it."""
    _check_length(window)
    topology = await platform.topologies.get(conn, fabric)
    window_query = await resolve_window(platform, conn, topology, at, window, of_ports=True)
    span = window_query.window
    if span is None:
        why = none_because("ports", "There are no counters over time.")
        head = {"fabric_id": topology.head.fabric_id, "from_s": None, "to_s": None}
        return json_response(mask_diagnosis({**head, **why, "simulated": topology.head.simulated}, names))

    def work(thread: psycopg.Connection[Any]) -> Mapping[str, Any]:
        return diagnosis.of_fabric(thread, topology.head.fabric_id, span.from_s, span.to_s, topology.fabric)

    return json_response(mask_diagnosis(await platform.in_thread("reader", work), names))


@http.get("/jobs/{job_id}/diagnosis", response_model=RootsOfCongestion, tags=["jobs"])
async def job_diagnosis(
    platform: ThePlatform,
    names: TheNames,
    job_id: JobId,
    cluster: Cluster = None,
    at: Annotated[Time | None, Query(description="End of the window (default: the job's end, or now).")] = None,
    window: Length = DEFAULT_WINDOW_S,
    tag: Annotated[str | None, Query(min_length=1, max_length=200, description="Only sampled messages with this tag.")] = None,
    phase: Annotated[str | None, Query(min_length=1, max_length=200, description="Only samples of this phase.")] = None,
) -> Response:  # fmt: skip
    """Find where the congestion that delays a job begins: from its packet samples if there are any, otherwise from port counters."""
    _check_length(window)

    def work(thread: psycopg.Connection[Any]) -> Mapping[str, Any]:
        return diagnosis.of_job_named(thread, job_id, cluster or None, at, window, tag, phase)

    return json_response(mask_diagnosis(await platform.in_thread("reader", work), names))


def mask_diagnosis(made: Mapping[str, Any], names: Names) -> RootsOfCongestion:
    """Return a diagnosis as shown to the caller."""
    rest = {key: value for key, value in made.items() if key not in ("from_s", "to_s")}
    shown_roots = [{**root, "jobs": [names.job(job) for job in root["jobs"]]} for root in made["roots"]]
    derived = {"worst_path": find_worst_path(made["roots"]), "rulings": rule_causes({**made})}
    whole = {**rest, **derived, "from": utc_time(made["from_s"]), "to": utc_time(made["to_s"]), "roots": shown_roots}
    return build_model(RootsOfCongestion, whole)


def _check_length(window: int) -> None:
    if window > LONGEST_S:
        raise BadRequest(f"a window of {window} s is too long to show which links were full", advice="Ask for at most 3600s.")  # fmt: skip
