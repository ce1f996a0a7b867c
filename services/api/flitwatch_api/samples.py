"""Routes of packet samples and their response models."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from flitwatch_api.answers import Page, build_model, json_response, utc_time
from flitwatch_api.counters.windows import MAX_ROWS, Window, check_limit, split_window
from flitwatch_api.parameters import LATEST_S, CursorText, FabricId, Limit, Time, make_cursor, read_page_cursor
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES
from flitwatch_db.counters import samples as reads
from flitwatch_db.fabrics import reads as fabrics
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.sampling import clip_estimates


class SampleContext(BaseModel):
    """Context of packets, as registered at the receiving hosts."""

    context_id: int
    job_id: str | None
    tag: str | None = Field(description="Usually an MPI tag.")
    phase: str | None
    variants: list[str] = Field(description="one-bit or standard: how packets carried the sampled link.")
    longest_path: int
    first: datetime
    last: datetime = Field(description="Start of the newest slice.")
    simulated: bool


class SampleContextList(Page[SampleContext]):
    """Contexts with samples, newest first."""


class SampleLinks(BaseModel):
    """Columns by link; estimates, because a packet carries only one link of its path."""

    link: list[int]
    tested: list[float] = Field(description="Number of packets whose path may include the link.")
    traffic: list[float] = Field(
        description="Number of packets; 0 if a link without traffic could show the same (one-bit variant)."
    )
    traffic_error: list[float] = Field(description="Standard deviation of traffic.")
    bytes: list[float] = Field(description="Traffic times the mean frame size of the tested packets.")
    congested: list[float] = Field(description="Number of packets that found the link congested.")
    congested_error: list[float]
    congested_fraction: list[float | None] = Field(description="congested / traffic, at most 1; null without traffic.")


class SampleMap(BaseModel):
    """Figures from sampled packets for the links on their possible paths. Absent links are unknown."""

    fabric_id: int
    from_: datetime | None = Field(alias="from")
    to: datetime | None
    contexts: int
    longest_path: int | None
    variants: list[str]
    simulated: bool
    links: SampleLinks


class SampleHosts(BaseModel):
    """Outcomes of the packets that arrived at sampling hosts, by column."""

    from_: datetime | None = Field(alias="from")
    to: datetime | None
    host: list[str]
    outcome: list[str] = Field(description="decoded, unmarked, overrun, wrong_checksum, unknown_source, ...")
    packets: list[float]


http = APIRouter(prefix="/fabrics/{fabric}/samples", tags=["samples"], responses=RESPONSES)

Job = Annotated[str | None, Query(min_length=1, max_length=200, description="Only packets of this job.")]
Tag = Annotated[str | None, Query(min_length=1, max_length=200, description="Only messages with this tag.")]
Phase = Annotated[str | None, Query(min_length=1, max_length=200, description="Only while the job was in this phase.")]
From = Annotated[Time | None, Query(alias="from", description="Default: the first slice.")]
To = Annotated[Time | None, Query(description="Default: the newest slice.")]

MOST_CONTEXTS = 10_000
MOST_HOST_ROWS = 100_000
_LAST_DAY_S = 86_400


@http.get("", response_model=SampleMap)
async def samples(
    conn: Reader,
    fabric: FabricId,
    job: Job = None,
    tag: Tag = None,
    phase: Phase = None,
    from_: From = None,
    to: To = None,
) -> Response:
    """Return traffic and congested packets by link, from packet samples of all matching contexts."""
    head = await fabrics.find_fabric_head(conn, fabric)
    contexts = await reads.list_contexts(conn, head.fabric_id, job, tag, phase, MOST_CONTEXTS + 1)
    check_limit(len(contexts), MOST_CONTEXTS, "MOST_CONTEXTS", "contexts", "Name a job, a tag or a phase.")
    window, sums = None, None
    if contexts:
        ids = [row["context_id"] for row in contexts]
        first_s = min(row["first_ts"] for row in contexts).timestamp()
        last_s = max(row["last_ts"] for row in contexts).timestamp()
        if from_ is not None and to is not None and from_ >= to:
            raise BadRequest("`from` is not before `to`")
        # There are no data outside the slices, however long the span.
        from_s, to_s = max(from_ or 0, first_s), min(LATEST_S if to is None else to, last_s + 1)
        if from_s < to_s:
            grid_s = await reads.find_bucket_s(conn, ids, from_s)
            window = Window(math.floor(from_s / grid_s) * grid_s, math.ceil(to_s / grid_s) * grid_s, grid_s)
            spans = [(1 if width == 10 else width, start, end) for width, start, end in split_window(window)]
            check_limit(
                len(ids) * sum((end - start) / width for width, start, end in spans), MAX_ROWS, "MAX_ROWS", "slices"
            )
            sums = await reads.sum_links(conn, ids, spans)
    return json_response(
        build_model(
            SampleMap,
            fabric_id=head.fabric_id,
            from_=utc_time(None if window is None else window.from_s),
            to=utc_time(None if window is None else window.to_s),
            contexts=len(contexts),
            longest_path=max((row["longest_path"] for row in contexts), default=None),
            variants=sorted({name for row in contexts for name in row["variants"]}),
            simulated=head.simulated or any(row["simulated"] for row in contexts),
            links=_sample_links(sums, any("one-bit" in row["variants"] for row in contexts)),
        )
    )


@http.get("/contexts", response_model=SampleContextList)
async def sample_contexts(
    conn: Reader,
    fabric: FabricId,
    job: Job = None,
    tag: Tag = None,
    phase: Phase = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List contexts that have samples, newest first."""
    head = await fabrics.find_fabric_head(conn, fabric)
    below = read_page_cursor(cursor)
    rows = await reads.list_contexts(
        conn, head.fabric_id, job, tag, phase, limit + 1, None if below is None else min(below, 2**31 - 1)
    )
    items = [
        {
            **{
                name: row[name]
                for name in ("context_id", "job_id", "tag", "phase", "variants", "longest_path", "simulated")
            },
            "first": row["first_ts"],
            "last": row["last_ts"],
        }
        for row in rows[:limit]
    ]
    return json_response(
        {"items": items, "next_cursor": make_cursor(items[-1]["context_id"]) if len(rows) > limit else None}
    )


@http.get("/hosts", response_model=SampleHosts)
async def sample_hosts(conn: Reader, fabric: FabricId, from_: From = None, to: To = None) -> Response:
    """Report the outcomes of packets that arrived at each sampling host, by default over the last day."""
    head = await fabrics.find_fabric_head(conn, fabric)
    to_s = time.time() if to is None else to
    from_s = to_s - _LAST_DAY_S if from_ is None else from_
    if from_s >= to_s:
        raise BadRequest("`from` is not before `to`")
    from_s, to_s = math.floor(from_s / 60) * 60, math.ceil(to_s / 60) * 60
    rows = await reads.count_host_packets(conn, head.fabric_id, from_s, to_s, MOST_HOST_ROWS + 1)
    check_limit(len(rows), MOST_HOST_ROWS, "MOST_HOST_ROWS", "hosts and outcomes")
    columns = {name: [row[name] for row in rows] for name in ("host", "outcome", "packets")}
    return json_response({"from": utc_time(max(from_s, 0)), "to": utc_time(to_s), **columns})


def _sample_links(sums: Mapping[str, Any] | None, one_bit: bool) -> SampleLinks:
    if sums is None:
        names = SampleLinks.model_fields
        return build_model(SampleLinks, {name: [] for name in names})
    traffic = clip_estimates(sums["traffic"], sums["traffic_variance"], one_bit)
    congested = np.minimum(clip_estimates(sums["congested"], sums["congested_variance"], one_bit), traffic)
    fraction, mean = np.full(traffic.shape, np.nan), np.zeros(traffic.shape)
    np.divide(congested, traffic, out=fraction, where=traffic > 0)
    np.divide(sums["tested_bytes"], sums["tested"], out=mean, where=sums["tested"] > 0)
    return build_model(
        SampleLinks,
        link=sums["link"],
        tested=sums["tested"],
        traffic=traffic,
        traffic_error=np.sqrt(sums["traffic_variance"]),
        bytes=traffic * mean,
        congested=congested,
        congested_error=np.sqrt(sums["congested_variance"]),
        congested_fraction=fraction,
    )
