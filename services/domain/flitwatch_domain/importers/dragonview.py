"""DragonView snapshots: one sample of the counters of a Cray XC's links, and the job on each node.

There are two CSV files in addition to the machine's cable list: counters `sg,sr,sc,dg,dr,dc,color,flits,stalls,...,flits_vc_0,...,stalls_vc_0,...` and
jobs `g,r,c,n,jobid`. A row identifies a link by the places (group, row, column) of its two routers. The k-th row of a pair of routers is the k-th of
their parallel cables, ordered by the source router's tile. The source router did the counting.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain import cray, hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import CountedAt, Fabric, LinkClass
from flitwatch_domain.importers.read import read_fabric
from flitwatch_domain.importers.table import Rejected, Row, read_table
from flitwatch_domain.jobs import Job

_COLOURS = {"g": "green", "k": "black", "b": "blue", "green": "green", "black": "black", "blue": "blue"}
_CHANNELS = 8

Place = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """DragonView snapshot joined to its fabric.

    Attributes
    ----------
    fabric : Fabric
        Counted at the sender, the source router in the file.
    link : int32[N]
        Link of each joined row.
    flits, stall_cycles : float64[N]
    vc_flits, vc_stall_cycles : float64[N, 8] or None
        Values per virtual channel, if the file has them.
    unmatched : tuple of Rejected
        Rows with a link that is not in the cable list.
    rejected : tuple of Rejected
        Unreadable rows.
    sums : dict of str to (flits, stalls)
        Sums over all readable rows, matched or not: `all`, `green`, `black`, `blue`.
    job_routers : dict of job id to routers (int32, sorted)
    unplaced_jobs : tuple of str
        Ids of jobs none of whose nodes is in the cable list.
    """

    fabric: Fabric
    link: NDArray[np.int32]
    flits: NDArray[np.float64]
    stall_cycles: NDArray[np.float64]
    vc_flits: NDArray[np.float64] | None
    vc_stall_cycles: NDArray[np.float64] | None
    unmatched: tuple[Rejected, ...]
    rejected: tuple[Rejected, ...]
    sums: dict[str, tuple[int, int]]
    jobs: tuple[Job, ...]
    job_routers: dict[str, NDArray[np.int32]]
    unplaced_jobs: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def counted_routers(self) -> NDArray[np.int32]:
        """Return the sorted routers whose tiles were counted."""
        return np.unique(self.fabric.links.src[self.link])

    def stall_to_flit(self) -> dict[str, float | None]:
        """Return sum of stalls over sum of flits per class; None if no flit was counted."""
        return {name: (stalls / flits if flits else None) for name, (flits, stalls) in self.sums.items()}


def read_snapshot(links: str | Path, counters: str | Path, jobs: str | Path, name: str | None = None) -> Snapshot:
    """Read a snapshot of the machine in the cable list. Raise BadInput if a file is unusable as a whole; single bad rows are in `rejected`, links not
    in the cable list in `unmatched`."""
    fabric = replace(read_fabric(links, name=name), counted_at=CountedAt.SENDER)
    if LinkClass.GREEN not in fabric.links.classes:
        raise BadInput("is not the cable list of a Cray XC", where=str(links))
    places = {
        (int(g), int(r), int(c)): router
        for router, (g, r, c) in enumerate(
            zip(fabric.routers.group, fabric.routers.row, fabric.routers.col, strict=True)
        )
    }
    rejected: list[Rejected] = []
    counted = _read_counters(counters, fabric, places, rejected)
    job_records, routers_of_job, unplaced_jobs = _read_jobs(jobs, fabric, places, rejected)
    return Snapshot(
        fabric=fabric,
        link=np.array(counted.link, np.int32),
        flits=np.array(counted.flits, float),
        stall_cycles=np.array(counted.stalls, float),
        vc_flits=np.array(counted.vc_flits, float).reshape(-1, _CHANNELS) if counted.channels else None,
        vc_stall_cycles=np.array(counted.vc_stalls, float).reshape(-1, _CHANNELS) if counted.channels else None,
        unmatched=tuple(counted.unmatched),
        rejected=tuple(rejected),
        sums={key: (flits, stalls) for key, (flits, stalls) in counted.sums.items()},
        jobs=job_records,
        job_routers=routers_of_job,
        unplaced_jobs=unplaced_jobs,
        warnings=(*fabric.warnings, *counted.warnings),
    )


class _Counted:
    """Values and sums of the counter file."""

    def __init__(self, channels: bool) -> None:
        self.channels = channels
        self.link: list[int] = []
        self.flits: list[int] = []
        self.stalls: list[int] = []
        self.vc_flits: list[list[int]] = []
        self.vc_stalls: list[list[int]] = []
        self.unmatched: list[Rejected] = []
        self.warnings: list[str] = []
        self.sums = {key: [0, 0] for key in ("all", "green", "black", "blue")}


def _read_counters(path: str | Path, fabric: Fabric, places: dict[Place, int], rejected: list[Rejected]) -> _Counted:
    required = ("sg", "sr", "sc", "dg", "dr", "dc", "flits", "stalls")
    header, rows = read_table(path, required, rejected)
    names = [f"{what}_vc_{channel}" for what in ("flits", "stalls") for channel in range(_CHANNELS)]
    counted = _Counted(all(name in header for name in names))
    cables = _cables_by_pair(fabric)
    used: defaultdict[tuple[int, int], int] = defaultdict(int)
    for row in rows:
        try:
            _add_row(row, counted, fabric, places, cables, used, names)
        except BadInput as bad:
            rejected.append(Rejected(row.where, bad.reason))
    return counted


def _add_row(
    row: Row,
    counted: _Counted,
    fabric: Fabric,
    places: dict[Place, int],
    cables: dict[tuple[int, int], list[int]],
    used: defaultdict[tuple[int, int], int],
    names: list[str],
) -> None:
    source = row.count("sg"), row.count("sr"), row.count("sc")
    target = row.count("dg"), row.count("dr"), row.count("dc")
    flits, stalls = row.count("flits"), row.count("stalls")
    channels = [row.count(name) for name in names] if counted.channels else []
    stated = _COLOURS.get(row.text("color").lower())
    pair = places.get(source, -1), places.get(target, -1)
    parallel = cables.get(pair, [])
    at = used[pair]
    if at < len(parallel):
        used[pair] += 1
        link = parallel[at]
        colour = str(fabric.links.classes[fabric.links.link_class[link]])
        counted.link.append(link)
        counted.flits.append(flits)
        counted.stalls.append(stalls)
        counted.vc_flits.append(channels[:_CHANNELS])
        counted.vc_stalls.append(channels[_CHANNELS:])
        if stated and stated != colour:
            counted.warnings.append(f"{row.where}: the link is called {stated}, the cable list calls it {colour}")
    else:
        colour = stated or ""
        counted.unmatched.append(Rejected(row.where, _why_unmatched(source, target, pair, len(parallel))))
    for key in ("all", colour):
        if key in counted.sums:
            counted.sums[key][0] += flits
            counted.sums[key][1] += stalls


def _why_unmatched(source: Place, target: Place, pair: tuple[int, int], cables: int) -> str:
    for place, router in zip((source, target), pair, strict=True):
        if router < 0:
            return "the cable list has no router at ({}:{}:{})".format(*place)
    ends = "({}:{}:{}) to ({}:{}:{})".format(*source, *target)
    return (
        f"the cable list has no cable from {ends}"
        if not cables
        else f"one row more than the {cables} cables from {ends}"
    )


def _cables_by_pair(fabric: Fabric) -> dict[tuple[int, int], list[int]]:
    """Return links of each (source, destination) router pair, ordered by the source's tile."""
    links = fabric.links
    between = np.flatnonzero(fabric.router_links())
    order = between[np.lexsort((links.src_port[between], links.dst[between], links.src[between]))]
    pairs: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for link, src, dst in zip(order.tolist(), links.src[order].tolist(), links.dst[order].tolist(), strict=True):
        pairs[src, dst].append(link)
    return dict(pairs)


def _read_jobs(
    path: str | Path, fabric: Fabric, places: dict[Place, int], rejected: list[Rejected]
) -> tuple[tuple[Job, ...], dict[str, NDArray[np.int32]], tuple[str, ...]]:
    _, rows = read_table(path, ("g", "r", "c", "n", "jobid"), rejected)
    endpoints = {
        (int(router), (int(port) - cray.NETWORK_TILES) // 2): endpoint
        for endpoint, (router, port) in enumerate(zip(fabric.endpoints.router, fabric.endpoints.port, strict=True))
    }
    holder: dict[int, tuple[str, str]] = {}
    named: set[str] = set()
    for row in rows:
        try:
            place, job_id = (row.count("g"), row.count("r"), row.count("c")), str(row.count("jobid"))
            # Schedulers write job 0 for "none".
            named.update({job_id} - {"0"})
            endpoint = endpoints.get((places.get(place, -1), row.count("n")))
            if endpoint is None:
                raise BadInput("the cable list has no node {} at ({}:{}:{})".format(row.count("n"), *place))
            other, line = holder.setdefault(endpoint, (job_id, row.where))
            if other != job_id:
                raise BadInput(f"the node belongs to job {other} ({line})")
        except BadInput as bad:
            rejected.append(Rejected(row.where, bad.reason))
    endpoints_of_job: defaultdict[str, list[int]] = defaultdict(list)
    for endpoint, (job_id, _) in holder.items():
        if job_id != "0":
            endpoints_of_job[job_id].append(endpoint)
    jobs, routers = [], {}
    for job_id in sorted(endpoints_of_job, key=int):
        nodes = endpoints_of_job[job_id]
        names = hostlist.compress_hosts(str(fabric.endpoints.node[endpoint]) for endpoint in nodes)
        jobs.append(Job(cluster=fabric.name, job_id=job_id, state="UNKNOWN", nodes=len(nodes), node_list=names))
        routers[job_id] = np.unique(fabric.endpoints.router[nodes])
    return tuple(jobs), routers, tuple(sorted(named - routers.keys(), key=int))
