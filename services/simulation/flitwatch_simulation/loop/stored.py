"""A turn of the loop from stored measured counters: their matrix, better tables, and the predicted loads of old and new tables, without
simulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_db.diagnosis import measured
from flitwatch_db.diagnosis.measured import LinkSums
from flitwatch_db.estimates.recommendations import Part, Recommendation, RouteOutcome, as_json
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_routing import lft
from flitwatch_routing.deadlock import find_dependencies
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.lmc import lids_each
from flitwatch_routing.optimise import Routes, optimise_routes
from flitwatch_routing.port_groups import PortGroups, groups_of, port_group_loads
from flitwatch_routing.reconstruction.consistency import QUIET, management_bytes, too_little
from flitwatch_routing.reconstruction.lanes import Lanes, port_width
from flitwatch_routing.reconstruction.pairs import pairs_of
from flitwatch_routing.reconstruction.recover import Reconstruction
from flitwatch_routing.reconstruction.study import Measured
from flitwatch_routing.service_levels import levels_of
from flitwatch_simulation.loop.estimate import NOISE_FLOOR, combined_slots, reconstruct_slots
from flitwatch_simulation.loop.machine import Carried
from flitwatch_simulation.loop.matrices import by_place
from flitwatch_simulation.loop.outcome import links_of
from flitwatch_simulation.loop.turn import UNSURE, Report, SearchResult, describe_search, make_stages

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
STAGES = 3
#: A fabric is idle if its busiest link uses less than this share of its speed: counts may be only management packets, and no routes would be faster.
IDLE = 1e-4
#: If counters of service levels differ from their link's by more than this share of the busiest link, they are from another time or incomplete.
LEVELS_MISS = 0.01
#: New routes replace the loaded ones only if their predicted largest load is below this share of the present one.
WORTH = 0.99


@dataclass(frozen=True)
class StoredRun:
    """fabric: its name;  from_s, to_s: the window in epoch seconds;  basis, time limits and seed: as in the simulated loop

    lmc : the new tables have 2^lmc LIDs per adapter
    sls, vls : the recommendation assigns one of `sls` service levels to pairs, on `vls` lanes; 0 keeps levels and lanes unchanged
    splits : also compute groups of ports for adaptive routing, from 2^splits paths to each endpoint; 0: none
    """

    fabric: str
    from_s: float
    to_s: float
    basis: str = "od"
    optimise_s: float = 30.0
    reconstruct_s: float = 900.0
    seed: int = 1
    lmc: int = 0
    sls: int = 0
    vls: int = 0
    splits: int = 0


@dataclass(frozen=True)
class Window:
    """Records of a fabric in a window; `loaded` (routers, endpoints) are the active tables, `levels` bytes by link and service level."""

    fabric: Fabric
    fabric_id: int
    loaded: Ints
    counted: LinkSums
    levels: Floats


class StoredReconstruction(SearchResult):
    """Result of reconstructing the window's traffic."""

    basis: str
    pairs: int
    noise: float


class BusyLoads(TypedDict):
    """Bytes on the busiest link between switches: counted, predicted for both tables and for groups of ports, and the lower bound over all
    routes; None is unknown."""

    measured: float
    before: float | None
    after: float | None
    groups: float | None
    least_possible: float | None


#: The window as ISO times.
_Window = TypedDict("_Window", {"from": str, "to": str})


class StoredSummary(_Window):
    """Output of `loop run --fabric`."""

    fabric: str
    verdict: str
    reason: str
    links: int
    links_counted: int
    bytes_counted: float
    quiet_bytes: float
    reconstruction: StoredReconstruction | None
    max_load_bytes: BusyLoads
    entries_changed: int | None
    levels: int
    lmc: int
    sls: int
    vls: int
    simulated: bool
    wall_s: float


@dataclass(frozen=True)
class StoredTurn:
    """Result of a turn: the verdict is `load`, `keep`, `measure` (load service levels to make counters sufficient) or `cannot tell`.

    `found`, `routes` and loads are None if the counters are insufficient; `reason` explains why.

    load_before, load_after : (links,) predicted bytes of the window's traffic under the loaded and the new tables
    quiet_bytes : omitted bytes on links below the share `QUIET` of the busiest
    levels : number of service levels reconstructed separately; 1 if counters are summed
    groups, load_groups : groups of ports for adaptive routing, and (links,) their predicted loads; None if not requested
    """

    run: StoredRun
    window: Window
    verdict: str
    reason: str
    quiet_bytes: float
    levels: int
    wall_s: float
    found: Reconstruction | None = None
    routes: Routes | None = None
    load_before: Floats | None = None
    load_after: Floats | None = None
    groups: PortGroups | None = None
    load_groups: Floats | None = None

    def summary(self) -> StoredSummary:
        """Return the command's output."""
        between, fabric = self.window.fabric.router_links(), self.window.fabric
        counted = self.window.counted
        reconstruction, routes = self.found, self.routes
        largest = [
            None if load is None else float(load[between].max(initial=0))
            for load in (self.load_before, self.load_after, self.load_groups)
        ]
        return {
            "fabric": fabric.name,
            "from": _format_moment(counted.from_s),
            "to": _format_moment(counted.to_s),
            "verdict": self.verdict,
            "reason": self.reason,
            "links": len(fabric.links),
            "links_counted": int(np.isfinite(counted.carried).sum()),
            "bytes_counted": float(np.nansum(counted.carried[between])),
            "quiet_bytes": self.quiet_bytes,
            "reconstruction": None
            if reconstruction is None
            else {
                "basis": self.run.basis,
                "pairs": int((reconstruction.size > 0).sum()),
                "noise": reconstruction.noise,
                **describe_search(reconstruction),
                "estimated_error": _relative_doubt(reconstruction),
            },
            "max_load_bytes": {
                "measured": float(np.nanmax(counted.carried[between], initial=0)),
                "before": largest[0],
                "after": largest[1],
                "groups": largest[2],
                "least_possible": None if routes is None else routes.z_ar,
            },
            "entries_changed": None
            if routes is None
            else int((routes.ports != _for_lids(self.window.loaded, routes.lmc)).sum()),
            "levels": self.levels,
            "lmc": 0 if routes is None else routes.lmc,
            "sls": self.run.sls,
            "vls": self.run.vls,
            "simulated": fabric.simulated,
            "wall_s": self.wall_s,
        }


def read_window(conn: psycopg.Connection[Any], asked: StoredRun) -> Window:
    """Return the window's counters and tables.

    Raises
    ------
    NotFound
        The fabric does not exist.
    BadRequest
        There are no counters in the window, or no known tables.
    Conflict
        Routes changed in the window.
    """
    row = fabrics.get_fabric_row(conn, asked.fabric)
    if row.snapshot:
        raise BadRequest(
            f"{row.name} has totals without times", advice="Choose a fabric whose ports are counted over time."
        )
    fabric = fabrics.load_fabric(conn, row.name)
    counted = measured.link_bytes(conn, row.fabric_id, fabric, asked.from_s, asked.to_s)
    if not np.isfinite(counted.carried).any():
        newest = measured.newest_port_s(conn, row.fabric_id)
        advice = "Its ports were never counted: run `flitwatch collect infiniband --adapters`."
        if others := fabrics.sharing_switches(conn, row.fabric_id):
            advice = (
                f"Its switches are in {', '.join(others)} too, so their counters are assigned to no fabric: "
                "give the subnet one name, or start the writer with --fabric."
            )
        if newest is not None:
            advice = f"Its newest counters end at {_format_moment(newest)}: choose the window with --to and --window."
        raise BadRequest(
            f"no port of {row.name} was counted from {_format_moment(counted.from_s)} to {_format_moment(counted.to_s)}",
            advice=advice,
        )
    loaded = route_changes.in_force(
        conn, row.fabric_id, datetime.fromtimestamp(counted.from_s, UTC), datetime.fromtimestamp(counted.to_s, UTC)
    )
    shape = (len(fabric.routers), len(fabric.endpoints))
    if loaded is None or loaded.shape != shape:
        raise BadRequest(
            f"the tables of {row.name} in this window are unknown",
            advice="Give OpenSM's dump: `flitwatch import routes opensm-lfts.dump --fabric NAME --at TIME`.",
        )
    levels = measured.level_bytes(conn, row.fabric_id, fabric, counted.from_s, counted.to_s)
    return Window(fabric, row.fabric_id, loaded, counted, levels)


def run_stored_turn(
    asked: StoredRun,
    window: Window,
    report: Report | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> StoredTurn:
    """Reconstruct the window's traffic, compute tables for it and predict their loads.

    The optimiser and the checks use only the reconstruction. Raise BadInput for fabrics that are not fat trees, BadRequest for service levels that
    InfiniBand does not have, and Cancelled on request.
    """
    started, stop = time.monotonic(), cancelled or (lambda: False)
    fabric, loaded = window.fabric, window.loaded
    if asked.sls:
        levels_of(fabric, asked.sls, asked.vls, asked.seed)
    stage = make_stages(report, stop, STAGES)
    carried, quiet = _without_quiet(window.counted.carried)
    levels = _by_level(carried, window.levels)

    def ended(verdict: str, reason: str, **rest: Any) -> StoredTurn:
        return StoredTurn(asked, window, verdict, reason, quiet, len(levels), time.monotonic() - started, **rest)

    why = _why_not(fabric, loaded, carried)
    if why:
        return ended("cannot tell", why)
    if idle := _idle_reason(fabric, window.counted):
        return ended("keep", idle)
    floor = management_bytes(len(fabric.links), window.counted.to_s - window.counted.from_s)
    if carried.max() <= floor:
        return ended("cannot tell", too_little(float(carried.max()), floor, "the busiest link").message)
    say = stage(0, "reconstructing traffic from counters")
    try:
        reconstruction = _reconstruct_levels(asked, fabric, loaded, levels, say, stop, floor)
    except BadInput as contradiction:
        return ended("cannot tell", f"{contradiction.message}")
    doubt = _relative_doubt(reconstruction)
    if doubt is None or doubt > UNSURE:
        if doubt is None:
            why = reconstruction.unknown.get("estimated_error") or reconstruction.unknown.get(
                "intervals", "the counters do not determine it"
            )
            reason = f"the error of the reconstructed traffic is unknown: {why}"
        else:
            reason = f"several matrices explain the counters: the undetermined share is {doubt:.0%} of the matrix, and routes need at most {UNSURE:.0%}"
        if asked.sls > len(levels) and not _rejection_reason(fabric, loaded, ()):
            reason += f". With {asked.sls} service levels by pair later counters by level may be sufficient; the tables do not change"
            return ended("measure", reason, found=reconstruction)
        return ended("cannot tell", reason, found=reconstruction)
    say = stage(1, "optimising routes")
    keep = reconstruction.size > NOISE_FLOOR * reconstruction.size.max(initial=0)
    matrix = reconstruction.pairs.src[keep], reconstruction.pairs.dst[keep], reconstruction.size[keep]

    def watch(seconds: float, largest: float, moves: int) -> bool:
        say(f"{seconds:.0f} of {asked.optimise_s:.0f} s: busiest link {largest:.6g} bytes after {moves:,} moves")
        return not stop()

    routes = optimise_routes(
        fabric, matrix, asked.optimise_s, asked.seed, watch, asked.lmc, loaded=_for_lids(loaded, asked.lmc)
    )
    groups = load_groups = None
    if asked.splits:
        say = stage(1, "splitting over groups of ports")
        ways = optimise_routes(fabric, matrix, asked.optimise_s, asked.seed, watch, asked.splits).ports
        groups = groups_of(fabric, ways, matrix, asked.splits)
        load_groups = port_group_loads(fabric, groups, matrix)[0]
    stage(2, "checking the new tables")
    before, after = check_routes(fabric, loaded, matrix), check_routes(fabric, routes.ports, matrix, lmc=asked.lmc)
    wrong = _rejection_reason(fabric, routes.ports, after.where)
    between = fabric.router_links()
    largest, smaller = (float(result.load[between].max(initial=0)) for result in (before, after))
    verdict, reason = _judge_tables(largest, smaller, wrong)
    if asked.lmc and verdict == "load":
        reason += f" This is true if programs spread a pair's traffic evenly over the {lids_each(asked.lmc)} LIDs of an adapter."
    return ended(
        verdict,
        reason,
        found=reconstruction,
        routes=routes,
        load_before=before.load,
        load_after=after.load,
        groups=groups,
        load_groups=load_groups,
    )


def _for_lids(ports: Ints, lmc: int) -> Ints:
    """Return tables of one LID per endpoint expanded to 2^lmc LIDs with the same paths."""
    return np.repeat(ports, lids_each(lmc), axis=1)


def _without_quiet(carried: Floats) -> tuple[Floats, float]:
    """Return counters with quiet links set to 0, and the omitted bytes. Management packets, including the collector's own, would otherwise make every pair
    possible."""
    busiest = float(np.nanmax(carried, initial=0))
    quiet = carried < QUIET * busiest
    return np.where(quiet, 0.0, carried), float(carried[quiet].sum())


def _by_level(carried: Floats, levels: Floats) -> list[Floats]:
    """Return bytes (links,) of each service level with traffic, or their sum if the levels' counters do not cover every link.

    A packet keeps its service level from end to end, so each level's counters correspond to a separate matrix.
    """
    busiest = float(np.nanmax(carried, initial=0))
    if np.isnan(levels).any() or np.nanmax(np.abs(levels.sum(axis=1) - carried), initial=0) > LEVELS_MISS * busiest:
        return [carried]
    heard = np.where(levels < QUIET * busiest, 0.0, levels)
    return list(heard.T[heard.any(axis=0)]) or [carried]


def _idle_reason(fabric: Fabric, counted: LinkSums) -> str:
    """Return the reason if no link carried enough for routes to matter; empty if one did, or if links' speeds are unknown."""
    capacity = fabric.links.bandwidth_bps * fabric.links.multiplicity / 8 * (counted.to_s - counted.from_s)
    used = counted.carried / capacity
    if not (used < IDLE).all():
        return ""
    return f"the fabric was idle: its busiest link carried {used.max():.2g} of its speed, and routes matter from {IDLE:.0e} on"


def _why_not(fabric: Fabric, loaded: Ints, carried: Floats) -> str:
    """Return the reason why no matrix can explain these counters; empty if one may exist."""
    missing = np.flatnonzero(np.isnan(carried))
    if len(missing):
        links, first = fabric.links, int(missing[0])
        name = fabric.vertex_name(int(links.src[first]))
        hosts = bool((links.src[missing] >= len(fabric.routers)).any())
        return (
            f"{len(missing)} of {len(carried)} links were not counted, or not for long enough, the first from {name} port {links.src_port[first]}"
            + ("; adapters are counted by `flitwatch collect infiniband --adapters`" if hosts else "")
        )
    if any(fabric.attributes.get("lmc") or ()):
        return "adapters have several LIDs (LMC above 0), and the LID of traffic was not counted"
    if not carried[fabric.router_links()].any():
        return "no traffic crossed from switch to switch"
    result = check_routes(fabric, loaded)
    return "" if result.valid else f"the known tables do not reach every destination: {result.where[0]}"


def _reconstruct_levels(
    asked: StoredRun,
    fabric: Fabric,
    loaded: Ints,
    levels: Sequence[Floats],
    say: Callable[[str], None],
    stop: Callable[[], bool],
    floor: float,
) -> Reconstruction:
    """Return the sum of the matrices that explain the counters (links,) of each service level. Within a level, any two nodes that send and receive on it
    can be a pair."""
    routers, ends = len(fabric.routers), len(fabric.endpoints)
    links, width = fabric.links, port_width(fabric)
    sends, receives = np.zeros((2, len(levels), ends), bool)
    for number, carried in enumerate(levels):
        for there, end in ((sends, links.src), (receives, links.dst)):
            hosts = (end >= routers) & (carried > 0)
            there[number, end[hosts] - routers] = True
    active = [np.flatnonzero((sends | receives).any(axis=0))]
    lanes = Lanes(np.zeros((routers, width, width, 1), np.uint8), np.zeros((ends, 1), np.uint8), 1)
    measured = []
    for carried, out, into in zip(levels, sends, receives, strict=True):
        may = np.where(out[:, None] & into[None, :], 0, -1).astype(np.int8)
        measured.append(Measured(pairs_of(active, may), [lanes], [carried[:, None]]))
    slots, _ = reconstruct_slots(fabric, loaded, measured, asked.basis, asked.reconstruct_s, say, stop, floor)
    return combined_slots(slots)


def _relative_doubt(found: Reconstruction) -> float | None:
    """Return the possible relative distance of the matrix to the true one; None if unknown.

    The estimate alone is not sufficient, because it assumes sparse traffic over several lanes. Counters of one level, or sums, have wrong sparse
    explanations. The intervals do not rely on sparsity, so they must be narrow too.
    """
    if found.estimated_error is None or not found.size.any() or np.isnan(found.low).any():
        return None
    farthest = np.maximum(found.high - found.size, found.size - found.low)
    return max(found.estimated_error, float(np.linalg.norm(farthest) / np.linalg.norm(found.size)))


def _rejection_reason(fabric: Fabric, ports: Ints, where: tuple[str, ...]) -> str:
    """Return the reason why tables must not be loaded; empty if they can be."""
    if where:
        return where[0]
    waits = find_dependencies(fabric, ports)
    return f"they could deadlock: {waits.named(fabric)}" if waits.cycle else ""


def _format_bytes(count: float) -> str:
    """Return a human-readable number of bytes."""
    power = min(4, max(0, int(np.log2(max(count, 1.0)) // 10)))
    return f"{count / 1024**power:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _judge_tables(before: float, after: float, wrong: str) -> tuple[str, str]:
    predicted = f"the busiest link between switches is predicted to carry {_format_bytes(after)} of the window's traffic, with the loaded tables {_format_bytes(before)}"
    if wrong:
        return "keep", f"The new tables fail a check: {wrong}."
    if after > WORTH * before:
        return "keep", f"New tables would not help: {predicted}."
    return "load", f"{predicted[0].upper()}{predicted[1:]}. The order of messages is not known."


def stored_recommendation(turn: StoredTurn) -> Recommendation:
    """Return the row of a turn; tables and matrices are included only if there is something to load."""
    fabric, summary = turn.window.fabric, turn.summary()
    load = turn.verdict in ("load", "measure")
    largest, reconstruction = summary["max_load_bytes"], summary["reconstruction"]
    detail = {
        "why": [
            {"text": "busiest link between switches, as counted", "value": summary["max_load_bytes"]["measured"], "unit": "bytes"},
            {"text": "the same, predicted for the loaded tables", "value": summary["max_load_bytes"]["before"], "unit": "bytes"},
            {"text": "the same, predicted for the new tables", "value": summary["max_load_bytes"]["after"], "unit": "bytes"},
            *([] if largest["groups"] is None else [
                {"text": "the same, predicted for groups of ports with fixed splits", "value": largest["groups"], "unit": "bytes"},
            ]),
            {"text": "estimated error of the reconstruction", "value": None if reconstruction is None else reconstruction["estimated_error"], "unit": None},
            {"text": f"counters from {summary['from'][:16].replace('T', ' ')} to {summary['to'][:16].replace('T', ' ')} UTC", "value": None, "unit": None},
        ],
        "before": _recommendation_side(largest["before"], "loaded tables"),
        "after": _recommendation_side(largest["after"], "optimised for the reconstructed traffic"),
        "alternatives": [],
        "reconstruction": None
        if reconstruction is None
        else {
            "relative_error": None,
            **{key: value for key, value in reconstruction.items() if key not in ("pairs", "noise")},
        },
        "routes": None
        if turn.routes is None
        else {
            "true_gap": None,
            "ftree_gap": None,
            "z_ar_bytes": turn.routes.z_ar,
            "entries_changed": summary["entries_changed"],
            "entries": int((turn.routes.ports >= 0).sum()),
        },
        "parameters": {
            "fabric": fabric.name,
            "from": summary["from"],
            "to": summary["to"],
            "basis": turn.run.basis,
            "loaded_digest": lft.digest_ports(turn.window.loaded),
            "lmc": summary["lmc"],
            "sls": turn.run.sls,
            "vls": turn.run.vls,
            "seed": turn.run.seed,
        },
    }  # fmt: skip
    titles = {
        "load": "Load optimised routes",
        "keep": "Keep the loaded routes",
        "measure": "Load service levels by pair",
        "cannot tell": "Cannot tell better routes",
    }
    return Recommendation(
        "routes",
        "recommended" if load else "refused",
        f"{titles[turn.verdict]} on {fabric.name}"[:200],
        turn.reason if turn.verdict in ("load", "keep") else f"Cannot tell: {turn.reason}.",
        detail,
        fabric.simulated,
        fabric_id=turn.window.fabric_id,
        fabric=fabric.name[:200],
        figures="simulated" if fabric.simulated else "given",
        authorised=True,
        parts=_build_parts(turn) if load else {},
    )


def _recommendation_side(load: float | None, label: str) -> RouteOutcome:
    return {"time_s": None, "max_load_bytes": load, "congested_links": None, "label": label}


def _build_parts(turn: StoredTurn) -> dict[Part, bytes]:
    fabric, reconstruction, routes = turn.window.fabric, turn.found, turn.routes
    if turn.verdict == "measure":
        return {"lfts": _encode_dump(fabric, turn.window.loaded, 0)}
    assert (
        reconstruction is not None
        and routes is not None
        and turn.load_before is not None
        and turn.load_after is not None
    )
    parts: dict[Part, bytes] = {}
    for by, part in (("router", "matrix_router"), ("group", "matrix_group")):
        guess = by_place(fabric, (reconstruction.pairs.src, reconstruction.pairs.dst, reconstruction.size), by)
        parts[part] = as_json(  # type: ignore[index]
            {"by": by, "labels": guess.labels, "true": None, "reconstructed": np.rint(guess.values), "difference": None}
        )
    unknown = np.full(len(fabric.links), np.nan)
    sides = [Carried(float("nan"), load, unknown, True) for load in (turn.load_before, turn.load_after)]
    parts["links"] = as_json(links_of(fabric, sides[0], sides[1], fabric.router_links()))
    parts["lfts"] = _encode_dump(fabric, routes.ports, routes.lmc)
    return parts


def _encode_dump(fabric: Fabric, ports: Ints, lmc: int) -> bytes:
    return "".join(line + "\n" for line in lft.format_dump(fabric, ports, lmc)).encode()


def _format_moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()
