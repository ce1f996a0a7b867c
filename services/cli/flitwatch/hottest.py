"""Hottest groups, links and jobs of a machine, from the API's data of one window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from flitwatch.tables import UNKNOWN, draw_sparkline, format_number, remove_controls, text_or_unknown
from flitwatch_domain.counters.units import words_of
from flitwatch_domain.errors import NotFound

if TYPE_CHECKING:
    from flitwatch_client import Client, models

#: Sort keys of the lists, with the API's names.
SORTS = ("ratio", "stall_cycles", "flits")
#: Number of requested links: those with the highest stall ratio, before sorting.
LINKS = 100
#: Step of the sparklines, in seconds.
STEP_S = 60


class RouterSums(TypedDict):
    """Sums over counted routers, their number, and the number of all routers. None is unknown."""

    ratio: float | None
    stall_cycles: float | None
    flits: float | None
    counted: int
    routers: int


class HotGroup(RouterSums):
    """Group with its stall ratio over the last quarter of an hour."""

    group: int
    past_ratio: list[float | None]


class HotJob(RouterSums):
    """Job; its routers also carry other jobs' traffic. `role` is its part in the current incident: cause, slowed, or none."""

    job_id: str
    role: str | None
    user: str | None
    name: str | None
    nodes: int | None


class HotLists(TypedDict):
    """Window with its hottest groups, links and jobs. `technology` defines `flits` and `stall_cycles`; `incident` is the home page's statement at its
    end."""

    fabric: str
    technology: str
    fabrics: list[str]
    at: str | None
    window_s: int | None
    simulated: bool
    snapshot: bool
    note: str | None
    sort: str
    incident: str
    groups: list[HotGroup]
    links: list[models.HotLink]
    links_counted: int
    jobs: list[HotJob]
    jobs_running: int
    slow_cables: list[models.SlowCable]


def load_hot_lists(fw: Client, machine: str | None, sort: str, most: int) -> HotLists:
    """Return the lists, each with at most `most` rows.

    Parameters
    ----------
    machine : str or None
        A fabric's name or number; None for the first with counters.
    sort : {"ratio", "stall_cycles", "flits"}

    Raises
    ------
    NotFound
        The machine does not exist, or there are no machines.
    """
    machines = fw.api.fabrics()["items"]
    chosen = _choose_machine(machines, machine)
    stalls = fw.api.stalls(str(chosen["id"]))
    at = stalls["at"]
    measured: dict[str, list[Any]] = dict(stalls["routers"])  # type: ignore[arg-type]
    figures_by_router = {
        router: (flits, stall_cycles)
        for router, flits, stall_cycles in zip(
            *(measured[name] for name in ("router", "flits", "stall_cycles")), strict=True
        )
        if flits is not None and stall_cycles is not None
    }
    groups: dict[int, list[int]] = defaultdict(list)
    for router, group in enumerate(fw.api.routers(str(chosen["id"]))["group"]):
        if group is not None:
            groups[group].append(router)
    past = _load_past_ratios(fw, chosen["id"], groups) if at else {}
    by_group: list[HotGroup] = [
        {"group": group, **_sum_routers(routers, figures_by_router), "past_ratio": past.get(group, [])}
        for group, routers in groups.items()
    ]
    present = fw.api.incident(fabric=str(chosen["id"]), at=at)
    roles = {item["job_pk"]: "slowed" for item in present["victims"]}
    if present["aggressor"] is not None and present["verdict"] == "incident":
        roles[present["aggressor"]["job_pk"]] = "causes it"
    jobs = fw.api.occupancy(str(chosen["id"]), at=at)["jobs"] if at else []
    begin = None if at is None else datetime.fromisoformat(at) - timedelta(seconds=stalls["window_s"] or 0)
    by_job: list[HotJob] = [
        {
            "job_id": job["job_id"],
            "role": roles.get(job["job_pk"]),
            "user": job["user"],
            "name": job["name"],
            "nodes": job["nodes"],
            # Counters from before the job's start do not belong to it.
            **_sum_routers(job["routers"], figures_by_router if _covers_window(job["start"], begin) else {}),
        }
        for job in jobs
    ]
    links = fw.api.hot_links(str(chosen["id"]), at=at, limit=LINKS)
    return {
        "fabric": chosen["name"],
        "technology": chosen["technology"],
        "fabrics": [item["name"] for item in machines],
        "at": at,
        "window_s": stalls["window_s"],
        "simulated": chosen["simulated"],
        "snapshot": chosen["snapshot"],
        "note": stalls.get("note") or links["note"],
        "sort": sort,
        "incident": present["title"],
        "groups": _take_largest(by_group, sort, most),
        "links": _take_largest(links["items"], sort, most),
        "links_counted": links["links_counted"],
        "jobs": _take_largest(by_job, sort, most),
        "jobs_running": len(by_job),
        "slow_cables": fw.api.slow_cables(str(chosen["id"]))["items"][:most],
    }


def _choose_machine(machines: Sequence[Any], asked: str | None) -> Any:
    if not machines:
        raise NotFound("the platform knows no machine yet", advice="Import one: flitwatch import fabric FILE.")
    if asked is None:
        return next((machine for machine in machines if machine["last_ts"]), machines[0])
    for machine in machines:
        if asked in (machine["name"], str(machine["id"])):
            return machine
    raise NotFound(
        f"the platform has no machine {asked}", advice=f"It has {', '.join(machine['name'] for machine in machines)}."
    )


def _covers_window(start: str | None, begin: datetime | None) -> bool:
    """Return whether a job was running when the window began."""
    return start is None or begin is None or datetime.fromisoformat(start) <= begin


def _sum_routers(routers: Sequence[int], known: dict[int, tuple[float, float]]) -> RouterSums:
    counted = [known[router] for router in routers if router in known]
    flits = sum(pair[0] for pair in counted) if counted else None
    stall_cycles = sum(pair[1] for pair in counted) if counted else None
    ratio = stall_cycles / flits if flits and stall_cycles is not None else None
    return {
        "ratio": ratio,
        "stall_cycles": stall_cycles,
        "flits": flits,
        "counted": len(counted),
        "routers": len(routers),
    }


def _load_past_ratios(fw: Client, fabric: int, groups: dict[int, list[int]]) -> dict[int, list[float | None]]:
    """Return the stall ratio of each group by step; None for a step without counters."""
    table = fw.stalls(fabric, step_s=STEP_S)
    of = {router: group for group, routers in groups.items() for router in routers}
    sums: dict[tuple[Any, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    times: dict[Any, None] = {}
    columns = (table[name].to_pylist() for name in ("ts", "router", "flits", "stall_cycles"))
    for time, router, flits, stall_cycles in zip(*columns, strict=True):
        times[time] = None
        if router in of and flits is not None and stall_cycles is not None:
            totals = sums[time, of[router]]
            totals[0] += flits
            totals[1] += stall_cycles
    return {group: [_compute_ratio(sums.get((time, group))) for time in times] for group in groups}


def _compute_ratio(held: list[float] | None) -> float | None:
    return held[1] / held[0] if held and held[0] else None


def _take_largest(rows: Iterable[Any], sort: str, most: int) -> list[Any]:
    """Return the rows in descending order. Rows with an unknown value come last."""
    return sorted(rows, key=lambda row: (row[sort] is None, -(row[sort] or 0.0)))[:most]


def format_headline(found: HotLists) -> str:
    """Return the machine, the window and notes on both."""
    when = (
        f"{found['window_s']} s to {found['at']}"
        if found["at"]
        else "no time: totals of one sample"
        if found["snapshot"]
        else "no counters yet"
    )
    simulated = " (simulated)" if found["simulated"] else ""
    order = _figure_names(found)[SORTS.index(found["sort"])]
    note = f"; {remove_controls(found['note'])}" if found["note"] else ""
    return (
        f"{remove_controls(found['fabric'])}{simulated}, {when}, by {order}{note}\n{remove_controls(found['incident'])}"
    )


def format_lists(found: HotLists, drawn: bool) -> list[tuple[str, list[str], list[list[str]], list[str]]]:
    """Return title, column heads, rows and text columns of each list. Sparklines are for terminals only."""
    past, figures = ["last 15 min"] if drawn and found["at"] else [], _figure_names(found)
    groups = [
        [
            str(row["group"]),
            *_format_figures(row),
            _format_counted(row),
            *([draw_sparkline(row["past_ratio"])] if past else []),
        ]
        for row in found["groups"]
    ]
    links = [
        [
            f"{text_or_unknown(row['src_name'])} > {text_or_unknown(row['dst_name'])}",
            row["link_class"],
            *_format_figures(row),
            _lost(row["lost_bps"]),
            _format_users(row),
        ]
        for row in found["links"]
    ]
    jobs = [
        [
            text_or_unknown(row["job_id"]),
            text_or_unknown(row["user"]),
            text_or_unknown(row["name"]),
            text_or_unknown(row["role"]) if row["role"] else "",
            text_or_unknown(row["nodes"]),
            *_format_figures(row),
            _format_counted(row),
        ]
        for row in found["jobs"]
    ]
    cables = [
        [
            f"{text_or_unknown(row['src_name'])} - {text_or_unknown(row['dst_name'])}",
            row["link_class"],
            _speed(row["bandwidth_bps"]),
            _speed(row["usual_bps"]),
            row["condition"],
        ]
        for row in found["slow_cables"]
    ]
    heads = ["cable", "class", "speed", "usual", "condition"]
    slow = [("Slow and flapping cables", heads, cables, heads)] if cables else []
    return [
        *slow,
        ("Groups", ["group", *figures, "routers counted", *past], groups, past),
        (f"Links (of {found['links_counted']} counted)", ["link", "class", *figures, "lost", "jobs"], links, ["link", "class", "jobs"]),
        (f"Jobs ({found['jobs_running']} running), all traffic on their routers", ["job", "user", "name", "incident", "nodes", *figures, "routers counted"], jobs, ["job", "user", "name", "incident"]),
    ]  # fmt: skip


def _lost(bits_per_s: float | None) -> str:
    return UNKNOWN if bits_per_s is None else f"{bits_per_s / 1e9:.3g} Gb/s"


def _speed(bits_per_s: float | None) -> str:
    return UNKNOWN if bits_per_s is None else f"{bits_per_s / 1e9:g} Gb/s"


def _figure_names(found: HotLists) -> list[str]:
    """Return the column heads of `SORTS`, in the fabric's own terms."""
    words = words_of(found["technology"])
    return [words.ratio, words.stalls, words.flits]


def _format_figures(row: Mapping[str, Any]) -> list[str]:
    return [format_number(row["ratio"]), format_number(row["stall_cycles"]), format_number(row["flits"])]


def _format_counted(row: RouterSums) -> str:
    return f"{row['counted']} of {row['routers']}"


def _format_users(row: models.HotLink) -> str:
    if row["cannot_tell"]:
        return f"cannot tell: {remove_controls(row['cannot_tell'])}"
    shares = [f"{remove_controls(job['job_id'])} {job['share']:.0%}" for job in row["jobs"]]
    return ", ".join(shares + ([f"{row['jobs_more']} more"] if row["jobs_more"] else [])) or UNKNOWN
