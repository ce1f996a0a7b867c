"""Routes of hot links and of the links that a job uses: link counters joined with jobs' estimated shares."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import Response
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from flitwatch_api.answers import build_model, finite_or_none, json_response
from flitwatch_api.counters.stalls import (
    DEFAULT_WINDOW_S,
    WindowQuery,
    link_columns,
    resolve_window,
    total_ports,
    window_ports,
)
from flitwatch_api.fabric.topology import Topology
from flitwatch_api.jobs.service import JobOnRouter
from flitwatch_api.names import Names, TheNames
from flitwatch_api.parameters import FabricId, Time, Window
from flitwatch_api.platform import Platform, Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.core.columns import Connection
from flitwatch_db.fabrics.route_changes import routes_at
from flitwatch_db.fabrics.slow_cables import list_slow_cables
from flitwatch_db.jobs import traffic
from flitwatch_domain.counters.units import COUNT_BYTES
from flitwatch_domain.errors import BadRequest, NotFound
from flitwatch_domain.link_shares import LEAST_SHARE, JobTraffic, Routes, Shares, compute_shares

http = APIRouter(prefix="/fabrics/{fabric}/links", tags=["links"], responses=RESPONSES)

At = Annotated[Time | None, Query(description="End of the window (default: the newest complete window).")]
Length = Annotated[Window, Query(description="Length of the window that ends at `at`.")]


class LinkUser(JobOnRouter):
    """A job that uses a link."""

    share: float = Field(description="Estimated share of the link's traffic in the window, 0 to 1.")


class HotLink(BaseModel):
    """A counted link between routers."""

    link: int
    link_class: str
    src: int = Field(description="Sending router.")
    src_name: str
    src_group: int
    src_port: int | None
    dst: int = Field(description="Receiving router.")
    dst_name: str
    dst_group: int
    dst_port: int | None
    flits: float | None
    stall_cycles: float | None
    ratio: float | None = Field(description="Stalls divided by flits: stalled time divided by sending time.")
    lost_bps: float | None = Field(
        description="Bits per second that it could have sent while it was stalled, as a mean over the window; null if the unit of stalls is unknown."
    )
    jobs: list[LinkUser] = Field(description="Shares of at least 1 %, largest first.")
    jobs_more: int = Field(description="Number of further jobs with such a share.")
    explained: float | None = Field(
        description="Expected traffic of the jobs divided by the link's traffic; null if bytes are not counted."
    )
    cannot_tell: str | None = Field(description="Why no job has a share; null if one has.")


class HotLinks(BaseModel):
    """The hottest links of a window and the jobs that use them."""

    at: datetime | None
    window_s: int | None
    links_counted: int = Field(description="Number of counted links that match the filter.")
    items: list[HotLink] = Field(description="Largest ratio of stalls first.")
    detour: float | None = Field(
        description="Estimated share of traffic between groups that went through a third group; null without shares."
    )
    note: str | None = Field(description="Present if the sums of a long window are estimates.")
    simulated: bool


class SlowCable(BaseModel):
    """A cable, by the link of one direction, that runs slower than others of its kind or whose link flaps."""

    link: int = Field(description="Number of the link, as in the fabric's other answers.")
    link_class: str = Field(description="Class of the link, such as `host` or `up`.")
    src_name: str = Field(description="Node or switch at one end.")
    src_port: int | None = Field(description="Port of that end; null if unknown.")
    dst_name: str = Field(description="Switch at the other end.")
    dst_port: int | None = Field(description="Port of the other end; null if unknown.")
    bandwidth_bps: float | None = Field(description="Its speed, bits per second.")
    usual_bps: float | None = Field(description="Usual speed of its kind, bits per second.")
    slow: bool = Field(description="It runs at half of that or less.")
    flapping: bool = Field(
        description="In the last day its link went down three times, recovered ten times, or changed its speed five times."
    )
    link_downs: int | None = Field(description="Times that a flapping link went down in the last day.")
    link_recoveries: int | None = Field(description="Times that a flapping link recovered from errors in the last day.")
    link_speed_changes: int | None = Field(
        description="Times that a flapping link changed its speed or width in the last day."
    )
    condition: str = Field(description="The condition in words, as alerts and `flitwatch top` report it.")


class SlowCables(BaseModel):
    """The slow and flapping cables of a fabric."""

    items: list[SlowCable] = Field(description="Slowest for its kind first; at most 1,000.")


class JobPaths(BaseModel):
    """Links between routers that a job's traffic is expected to use, by column; most loaded first."""

    at: datetime | None
    window_s: int | None
    job_pk: int | None
    job_id: str
    link: list[int]
    src: list[int]
    dst: list[int]
    class_: list[str] = Field(alias="class")
    bytes_per_s: list[float] = Field(description="Expected mean over the window.")
    links_used: int = Field(
        description="Number of links with any of its traffic. The answer lists the most loaded ones."
    )
    cannot_tell: str | None
    simulated: bool


#: Most jobs whose shares are estimated, the largest first.
MOST_JOBS = 500
#: Most jobs listed per link.
MOST_USERS = 8
#: Most links listed per job.
MOST_PATHS = 2_000
#: A link with less than this fraction of the mean traffic is not a bottleneck, whatever its stalls per flit.
LEAST_TRAFFIC = 0.01
NO_TIME = "The sample has no time, so the jobs that ran are unknown."
NO_JOBS = "No known jobs in this window."
NO_CARDS = "The network cards of the jobs have no counters in this window."
TOO_LITTLE = "The traffic of the jobs' nodes does not match the traffic of this link."


@dataclass(frozen=True)
class LinkFilter:
    """Filter for links: those of a class, one link, those of a router, or those from one group to another."""

    link_class: str | None = None
    link: int | None = None
    router: int | None = None
    src_group: int | None = None
    dst_group: int | None = None

    def mask(self, topology: Topology, link: NDArray[Any]) -> NDArray[np.bool_]:
        """Return bool by link: whether the filter matches. Raise BadRequest if no link has that class. Raise NotFound if the link, router or group
        does not exist."""
        topology.check_class(self.link_class)
        links = topology.fabric.links
        keep = np.ones(len(link), dtype=bool)
        if self.link is not None:
            if not self.link < len(links) or not topology.network[self.link]:
                raise NotFound(f"{topology.head.name} has no link {self.link} between routers")
            keep &= link == self.link
        if self.router is not None:
            topology.check_router(self.router)
            keep &= (links.src[link] == self.router) | (links.dst[link] == self.router)
        for group, ends in ((self.src_group, links.src), (self.dst_group, links.dst)):
            if group is not None:
                topology.in_group(group)
                keep &= topology.group[ends[link]] == group
        if self.link_class is not None:
            keep &= topology.fabric.of_class(self.link_class)[link]
        return keep


@dataclass(frozen=True)
class _Counted:
    """Counted links between routers in a window: link int64 (n,), flits and stall cycles float64 (n,), and the sampling interval."""

    link: NDArray[np.int64]
    flits: NDArray[np.float64]
    stalls: NDArray[np.float64]
    one_in: int


async def _count_links(conn: Connection, asked: WindowQuery) -> _Counted:
    topology = asked.topology
    router, port = np.nonzero(topology.network_port)
    one_in = 1
    if topology.head.snapshot:
        flits, stalls = await total_ports(conn, topology)
    elif asked.window is None:
        flits = stalls = np.full(topology.counted.shape, np.nan)
    else:
        (flits, stalls), one_in = await window_ports(conn, topology, asked)
    link = topology.counted[router, port].astype(np.int64)
    order = np.argsort(link)
    return _Counted(link[order], flits[router, port][order], stalls[router, port][order], one_in)


async def load_hot_links(
    platform: Platform, conn: Connection, names: Names, asked: WindowQuery, wanted: LinkFilter, limit: int
) -> HotLinks:
    """Return the response of `/links/hot`."""
    topology = asked.topology
    counted = await _count_links(conn, asked)
    keep = wanted.mask(topology, counted.link) & np.isfinite(counted.flits) & np.isfinite(counted.stalls)
    rate = np.divide(counted.stalls, counted.flits, out=np.full(len(counted.link), np.nan), where=counted.flits > 0)
    mean = float(np.nanmean(counted.flits)) if np.isfinite(counted.flits).any() else 0.0
    heard = keep & np.isfinite(rate) & (counted.flits >= LEAST_TRAFFIC * mean)
    # A link requested by number is shown even if it carried little traffic.
    listed = np.flatnonzero(keep if wanted.link is not None else heard)
    chosen = listed[np.lexsort((counted.link[listed], -np.nan_to_num(rate[listed], nan=-1.0)))][:limit]
    links = counted.link[chosen]
    jobs, job_shares, reason = await _estimate_shares(platform, conn, asked, links, counted)
    rows = link_columns(topology, links)
    # Stalls are measured in units of one count of data.
    bits_per_s = 8 * COUNT_BYTES.get(topology.fabric.technology, np.nan) / (asked.head()["window_s"] or np.nan)
    items = []
    for at, link in enumerate(links.tolist()):
        src, dst = int(rows["src"][at]), int(rows["dst"][at])
        users = _link_users(names, jobs, job_shares, at, reason)
        items.append(
            build_model(
                HotLink,
                link=int(link),
                link_class=str(rows["class"][at]),
                src=src,
                src_name=str(topology.fabric.routers.name[src]),
                src_group=int(topology.group[src]),
                src_port=rows["src_port"][at],
                dst=dst,
                dst_name=str(topology.fabric.routers.name[dst]),
                dst_group=int(topology.group[dst]),
                dst_port=rows["dst_port"][at],
                flits=finite_or_none(counted.flits[chosen[at]]),
                stall_cycles=finite_or_none(counted.stalls[chosen[at]]),
                ratio=finite_or_none(rate[chosen[at]]),
                lost_bps=finite_or_none(counted.stalls[chosen[at]] * bits_per_s),
                jobs=users.listed,
                jobs_more=users.more,
                explained=users.explained,
                cannot_tell=users.cannot_tell,
            )
        )
    return build_model(
        HotLinks,
        asked.head(),
        links_counted=int(keep.sum()),
        items=items,
        detour=None if job_shares is None else job_shares.detour,
        note=asked.note(counted.one_in),
        simulated=topology.head.simulated,
    )


@dataclass(frozen=True)
class _Users:
    """Jobs that use a link, the number of further ones, and the share of its traffic that they explain; or the reason why that is unknown."""

    listed: list[LinkUser]
    more: int
    explained: float | None
    cannot_tell: str | None


def _link_users(names: Names, jobs: list[traffic.Row], found: Shares | None, at: int, reason: str | None) -> _Users:
    """Return the jobs that use the link at an index of the response."""
    if found is None:
        return _Users([], 0, None, reason)
    share, explained = found.share[at], finite_or_none(found.explained[at])
    by_share = [n for n in np.argsort(-np.nan_to_num(share), kind="stable") if share[n] >= LEAST_SHARE]
    if not by_share:
        return _Users([], 0, explained, TOO_LITTLE)
    listed = [
        build_model(
            LinkUser,
            names.job({key: jobs[n][key] for key in ("job_pk", "job_id", "user", "name", "nodes")}),
            share=float(share[n]),
        )
        for n in by_share[:MOST_USERS]
    ]
    return _Users(listed, max(0, len(by_share) - MOST_USERS), explained, None)


async def _load_present_jobs(
    platform: Platform, conn: Connection, asked: WindowQuery
) -> tuple[list[traffic.Row], list[JobTraffic], Routes | None, str | None]:
    """Return the window's jobs with their traffic and the machine's routes, or the reason why shares cannot be determined."""
    topology, window = asked.topology, asked.window
    if window is None:
        return [], [], None, NO_TIME
    fabric_id, from_s, to_s = topology.head.fabric_id, window.from_s, window.to_s
    routes = await platform.in_thread("reader", lambda conn: routes_at(conn, fabric_id, topology.fabric, from_s, to_s))
    if routes.reason is not None:
        return [], [], None, routes.reason
    rows = await traffic.of_window(conn, fabric_id, from_s, to_s, MOST_JOBS)
    rows = [row for row in rows if row["simulated"] == topology.head.simulated]
    if not rows:
        return [], [], None, NO_JOBS
    jobs = traffic.of_jobs(rows)
    if not any(job.known for job in jobs):
        return rows, jobs, None, NO_CARDS
    return rows, jobs, routes, None


async def _estimate_shares(
    platform: Platform, conn: Connection, asked: WindowQuery, links: NDArray[np.int64], counted: _Counted
) -> tuple[list[traffic.Row], Shares | None, str | None]:
    rows, jobs, routes, reason = await _load_present_jobs(platform, conn, asked)
    if routes is None:
        return rows, None, reason
    carried = _carried_bytes(asked.topology, counted)
    whole = rows[0]["total"] <= len(rows)
    job_shares = await asyncio.to_thread(compute_shares, routes, jobs, links, carried, whole)
    return rows, job_shares, None


def _carried_bytes(topology: Topology, counted: _Counted) -> NDArray[np.float64] | None:
    """Return the bytes by link, NaN if not counted; None if the size of a count is unknown."""
    count_bytes = COUNT_BYTES.get(topology.fabric.technology)
    if count_bytes is None:
        return None
    carried = np.full(len(topology.fabric.links), np.nan)
    carried[counted.link] = counted.flits * count_bytes
    return carried


async def load_job_paths(platform: Platform, conn: Connection, asked: WindowQuery, job_id: str) -> JobPaths:
    """Return the response of `/links/paths`."""
    topology = asked.topology
    rows, jobs, routes, reason = await _load_present_jobs(platform, conn, asked)
    at = next((n for n, row in enumerate(rows) if row["job_id"] == job_id), None)
    links, load = np.empty(0, np.int64), np.empty(0)
    if routes is not None and at is None:
        raise BadRequest(
            f"job {job_id[:60]!r} had no node of {topology.head.name} in this window",
            advice="Request a window in which it ran; /api/v1/jobs?q= finds its times.",
        )
    if routes is not None and at is not None and asked.window is not None:
        if jobs[at].known:
            carried = _carried_bytes(topology, await _count_links(conn, asked))
            detour = routes.detour([job for job in jobs if job.known], carried)
            links = np.flatnonzero(topology.network)
            load = (await asyncio.to_thread(routes.loads, [jobs[at]], links, detour))[:, 0]
            load = load / asked.window.length_s
        else:
            reason = NO_CARDS
    used = np.flatnonzero(load > 0)
    order = used[np.argsort(-load[used], kind="stable")][:MOST_PATHS]
    columns = link_columns(topology, links[order])
    return build_model(
        JobPaths,
        asked.head(),
        job_pk=rows[at]["job_pk"] if at is not None else None,
        job_id=job_id,
        link=columns["link"],
        src=columns["src"],
        dst=columns["dst"],
        class_=columns["class"],
        bytes_per_s=load[order],
        links_used=len(used),
        cannot_tell=reason,
        simulated=topology.head.simulated,
    )


@http.get("/hot", response_model=HotLinks)
async def hot_links(
    platform: ThePlatform,
    conn: Reader,
    names: TheNames,
    fabric: FabricId,
    at: At = None,
    window: Length = DEFAULT_WINDOW_S,
    limit: Annotated[int, Query(ge=1, le=500, description="Largest number of links in the answer.")] = 50,
    link_class: Annotated[
        str | None, Query(alias="class", max_length=40, description="Only links of this class.")
    ] = None,
    link: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Only this link.")] = None,
    router: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="Links with this router at either end.")
    ] = None,
    src_group: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Links from this group.")] = None,
    dst_group: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Links to this group.")] = None,
) -> Response:
    """List the links with the most stalls for the data that they send, and the jobs that use them, with estimated shares."""
    topology = await platform.topologies.get(conn, fabric)
    window_query = await resolve_window(platform, conn, topology, at, window, of_ports=True)
    link_filter = LinkFilter(link_class, link, router, src_group, dst_group)
    return json_response(await load_hot_links(platform, conn, names, window_query, link_filter, limit))


@http.get("/slow", response_model=SlowCables)
async def slow_cables(platform: ThePlatform, conn: Reader, fabric: FabricId) -> Response:
    """List cables that run at half the speed of most others of their kind or less, slowest first, and cables whose link flaps."""
    topology = await platform.topologies.get(conn, fabric)
    return json_response(build_model(SlowCables, items=await list_slow_cables(conn, topology.head.fabric_id)))


@http.get("/paths", response_model=JobPaths)
async def job_paths(
    platform: ThePlatform,
    conn: Reader,
    fabric: FabricId,
    job: Annotated[str, Query(min_length=1, max_length=60, description="As the scheduler prints it: 42, 3_4, 10+1.")],
    at: At = None,
    window: Length = DEFAULT_WINDOW_S,
) -> Response:
    """List the links that a job's traffic is expected to use, with the expected amount."""
    topology = await platform.topologies.get(conn, fabric)
    window_query = await resolve_window(platform, conn, topology, at, window, of_ports=True)
    return json_response(await load_job_paths(platform, conn, window_query, job))
