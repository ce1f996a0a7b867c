"""Advice from the known state. No function here queries the database, and unknown values never become numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal

import numpy as np

from flitwatch_domain.advice import findings, schemas
from flitwatch_domain.advice.basis import (
    BASIS_QUEUE,
    Basis,
    blamed_stays,
    expected_congestion,
    kind_of,
    leaves_soon,
)
from flitwatch_domain.advice.pattern import SERVED, Parts, Pattern, choose_pattern
from flitwatch_domain.hostlist import compress_hosts
from flitwatch_domain.network_noise.observations import advise_mode

#: Fewer comparable runs are not enough for an interval.
LEAST_RUNS = 8
#: Share of the comparable runs, those with the most similar congestion, used for the estimate; at least LEAST_RUNS runs.
NEAREST_SHARE = 0.25
#: Past runs on half to twice as many nodes are comparable.
SIZE_FACTOR = 2.0
#: A job waits only if the expected slowdown is large and hardly any comparable run escaped it.
DELAY_AT, PREFER_BY = 1.15, 0.05
#: Length of a delay; after it the agent asks again.
WAIT_S = 600.0
#: Older data do not describe the current congestion.
OLD_S = 180.0
#: Maximum number of memoised answers, because the caller chooses the questions.
MOST_MEMO = 10_000
NameMask = Callable[[str], str]
Action = Literal["start", "delay", "prefer"]


@dataclass(frozen=True)
class PlacementQuestion:
    """A job to place."""

    user: str
    application: str
    nodes: int
    candidates: list[list[str]]
    deadline_s: float | None = None


@dataclass(frozen=True)
class Expected:
    """Slowdown relative to the application's mean run, with its 90 % interval over comparable runs; None if unknown, with the reason.

    `usual_s` is the mean time of these runs and `nodes` their size. `blamed` is the user whose jobs the estimate is based on.
    """

    slowdown: schemas.Slowdown | None
    usual_s: float | None
    reason: schemas.Reason
    blamed: str | None = None
    nodes: int | None = None

    def range_s(self, nodes: int) -> schemas.UsualRange | None:
        """Return the usual time on another number of nodes: from work divided among the nodes to work that grows with them."""
        if self.usual_s is None or self.nodes in (None, nodes):
            return None
        divided_s = self.usual_s * self.nodes / nodes
        low_s, high_s = sorted((self.usual_s, divided_s))
        return schemas.UsualRange(low_s=low_s, high_s=high_s, nodes=self.nodes)

    def known_s(self, nodes: int) -> float | None:
        """Return the usual time if these runs had this number of nodes; None if unknown."""
        return self.usual_s if self.nodes in (None, nodes) else None

    def longest_s(self, nodes: int) -> float:
        """Return the longest usual time that the runs support; 0 if unknown."""
        scaled = self.range_s(nodes)
        return scaled.high_s if scaled is not None else self.usual_s or 0.0


def select_comparable_runs(basis: Basis, asked: PlacementQuestion) -> list[Mapping[str, Any]]:
    """Return past runs of the application on a similar number of nodes; only the user's own runs if there are enough."""
    rows = [
        row
        for row in basis.runs.get(asked.application, [])
        if row["nodes"] and asked.nodes / SIZE_FACTOR <= row["nodes"] <= asked.nodes * SIZE_FACTOR
    ]
    # Run times of different sizes are not comparable, so only the size with most runs is used.
    sizes = {row["nodes"] for row in rows}
    if len(sizes) > 1:
        nearest = max(
            sizes, key=lambda n: (sum(row["nodes"] == n for row in rows) >= LEAST_RUNS, -abs(n - asked.nodes))
        )
        rows = [row for row in rows if row["nodes"] == nearest]
    own = [row for row in rows if row["user"] == asked.user]
    return own if len(own) >= LEAST_RUNS else rows


def groups_of(basis: Basis, nodes: list[str]) -> tuple[Counter[tuple[int, int]], int]:
    """Count the known nodes by (fabric, group), on the fabric that knows most of them, and the nodes unknown there."""
    places = [basis.nodes.get(node, ()) for node in nodes]
    counts = Counter(chain.from_iterable(places))
    fabrics = {fabric for fabric, _ in counts}
    if len(fabrics) > 1:
        known_by = {
            fabric_id: sum(any(fabric == fabric_id for fabric, _ in place) for place in places) for fabric_id in fabrics
        }
        chosen = max(fabrics, key=lambda fabric: (known_by[fabric], fabric))
        counts = Counter({place: count for place, count in counts.items() if place[0] == chosen})
    return counts, len(nodes) - counts.total()


@dataclass(frozen=True, eq=False)
class ComparableRuns:
    """Comparable runs with counters.

    Attributes
    ----------
    times_s, congestion : float64[n]
    nodes : int, optional
        Common number of nodes of the runs.
    """

    times_s: np.ndarray
    congestion: np.ndarray
    nodes: int | None = None


def collect_past_runs(basis: Basis, asked: PlacementQuestion, kind: str = "") -> ComparableRuns:
    """Return `select_comparable_runs` with a kind of congestion.

    The result is cached per application, size, and user with own runs.
    """
    own = _runs_by_user(basis, asked.application)[asked.user]
    key = ("past", asked.application, asked.nodes, asked.user if own >= LEAST_RUNS else None, kind)
    runs: ComparableRuns | None = basis.memo.get(key)
    if runs is None:
        column = "driven" if kind else "congestion"
        rows = [row for row in select_comparable_runs(basis, asked) if row[column] is not None]
        runs = ComparableRuns(
            np.array([row["time_s"] for row in rows], float),
            np.array([row[column] for row in rows], float),
            rows[0]["nodes"] if rows else None,
        )
        _store_memo(basis, key, runs)
    return runs


def placed_best(basis: Basis, asked: PlacementQuestion) -> Pattern:
    """Return the best placement pattern of the application. It is computed once per application, size, and user with enough own runs."""
    own = _runs_by_user(basis, asked.application)[asked.user]
    key = ("pattern", asked.application, asked.nodes, asked.user if own >= LEAST_RUNS else None)
    best_pattern: Pattern | None = basis.memo.get(key)
    if best_pattern is None:
        best_pattern = choose_pattern(
            asked.application, select_comparable_runs(basis, asked), basis.intensity.get(asked.application)
        )
        _store_memo(basis, key, best_pattern)
    return best_pattern


def _runs_by_user(basis: Basis, application: str) -> Counter[str]:
    if application not in basis.runs:
        return Counter()
    run_counts: Counter[str] | None = basis.memo.get(("users", application))
    if run_counts is None:
        run_counts = Counter(row["user"] for row in basis.runs[application])
        _store_memo(basis, ("users", application), run_counts)
    return run_counts


def _store_memo(basis: Basis, key: Hashable, made: object) -> None:
    if len(basis.memo) > MOST_MEMO:
        basis.memo.clear()
    basis.memo[key] = made


@dataclass(frozen=True)
class KnownPlacements:
    """Placements that advice covers: applications by size with the users whose answers differ, and the nodes of each group."""

    applications: list[schemas.KnownApplication]
    groups: list[schemas.GroupNodes]


def list_known_placements(basis: Basis) -> KnownPlacements:
    """Return the applications, sizes and groups that advice covers."""
    items = []
    for application in sorted(basis.runs.keys() | basis.blamed.keys()):
        rows, blamed = basis.runs.get(application, []), basis.blamed.get(application, [])
        sizes = {row["nodes"] for row in rows if row["nodes"]} | {row["nodes"] for row in blamed if row["nodes"]}
        for size in sorted(sizes):
            counts = Counter(row["user"] for row in rows if row["nodes"] == size and row["user"])
            users = {user for user, count in counts.items() if count >= LEAST_RUNS}
            users |= {row["user"] for row in blamed if row["nodes"] == size}
            items.append(schemas.KnownApplication(application=application, nodes=int(size), users=sorted(users)))
    places: dict[tuple[int, int], list[str]] = {}
    for node, node_places in basis.nodes.items():
        for place in node_places:
            places.setdefault(place, []).append(node)
    groups = [
        schemas.GroupNodes(fabric_id=fabric, group=group, nodes=compress_hosts(nodes))
        for (fabric, group), nodes in sorted(places.items())
    ]
    return KnownPlacements(items, groups)


def _slowdown_interval(slowdowns: np.ndarray) -> schemas.Slowdown:
    # Like np.quantile's linear method, at a tenth of its cost for a few dozen values.
    last = len(slowdowns) - 1
    low, high = np.interp((0.05 * last, 0.95 * last), np.arange(last + 1), np.sort(slowdowns))
    return schemas.Slowdown(mean=float(slowdowns.mean()), low=float(low), high=float(high))


def _make_reason(kind: schemas.ReasonKind, text: str, evidence: str | None = None) -> schemas.Reason:
    return schemas.Reason(kind=kind, text=text, evidence=evidence)


def near_blamed(
    basis: Basis,
    asked: PlacementQuestion,
    places: Counter[tuple[int, int]],
    shown: NameMask,
    parts: Parts = SERVED,
) -> Expected | None:
    """Estimate from past runs alongside a blamed user's jobs, if that user runs in the candidate's groups now.

    If the running jobs' remaining time is known, only that part of the difference to the other runs is expected.
    """
    groups = {f"{fabric}/{group}" for fabric, group in places}
    for row in sorted(basis.blamed.get(asked.application, []), key=lambda row: row["q"]):
        if row["nodes"] != asked.nodes or row["user"] == asked.user or not groups & set(row["groups"] or ()):
            continue
        times, exposed = np.array(row["runs"]["time_s"], float), np.array(row["exposure"], float) > 0
        if len(times) != len(exposed) or exposed.sum() < LEAST_RUNS or not times.mean() > 0:
            continue
        text = (
            f"{shown(row['user'])} runs in the same groups; {int(exposed.sum())} of {len(times)} runs of {asked.application} "
            f"alongside their jobs took"
            f" {times[exposed].mean() / times.mean():.2f} times the mean (dependence, q = {row['q']:.2g}, not proof of cause)"
        )
        evidence = f"/api/v1/estimates/blame/{row['estimate_id']}/user/{row['place']}"
        mean_s = float(times.mean())
        slowdowns = times[exposed] / mean_s
        share = blamed_stays(basis, row["user"], places, mean_s) if parts.running else None
        if share is not None and not exposed.all():
            without = float(times[~exposed].mean()) / mean_s
            slowdowns = without + (slowdowns - without) * share
            text += f"; their jobs are expected to stay for {share:.0%} of a run"
        return Expected(_slowdown_interval(slowdowns), mean_s, _make_reason("blamed_user", text, evidence), row["user"])
    return None


def from_congestion(
    basis: Basis, asked: PlacementQuestion, places: Counter[tuple[int, int]], parts: Parts = SERVED
) -> Expected:
    """Estimate from past runs under congestion like that near the candidate nodes now, or expected there for the next hour."""
    if not places:
        return _unknown_slowdown("no candidate node is on a known fabric, so congestion near it is unknown")
    kind = kind_of(basis, asked.application, asked.nodes, parts)
    runs = collect_past_runs(basis, asked, kind)
    horizon_s = float(runs.times_s.mean()) if len(runs.times_s) else 0.0
    ratios = [(expected_congestion(basis, place, kind, horizon_s, parts), count) for place, count in places.items()]
    total = places.total()
    fresh = [(level[0], count) for level, count in ratios if level is not None and basis.now_s - level[1] <= OLD_S]
    counted = sum(count for _, count in fresh)
    if counted < total:
        return _unknown_slowdown(f"{total - counted} of {total} candidate nodes are in groups without recent counters")
    now = sum(ratio * count for ratio, count in fresh) / total
    unit = findings.unit_of(basis, kind, places)
    if len(runs.times_s) < LEAST_RUNS:
        text = f"needs {LEAST_RUNS} completed runs of {asked.application} on about {asked.nodes} nodes with counters, has {len(runs.times_s)}"
        return _unknown_slowdown(text, "/api/v1/estimates")
    # `ComparableRuns` compares by identity, and a cache entry keeps the object alive.
    key = ("near", runs, now)
    near = basis.memo.get(key)
    if near is None:
        near = _nearest_slowdown(runs, now)
        _store_memo(basis, key, near)
    slowdown, usual_s, nearest = near
    if slowdown is None:
        low, high = runs.congestion.min(), runs.congestion.max()
        text = f"{now:.2f} {unit} near these nodes are outside the range of past runs ({low:.2f} to {high:.2f})"
        return Expected(None, usual_s, _make_reason("unknown", text), nodes=runs.nodes)
    fabric = next(iter(places))[0]
    text = (
        f"{now:.2f} {unit} in the groups of these nodes; {nearest} of {len(runs.times_s)} past runs of {asked.application}"
        f" on {runs.nodes} nodes with the most similar congestion"
    )
    evidence = f"/api/v1/fabrics/{fabric}/stalls?window=10m"
    return Expected(slowdown, usual_s, _make_reason("congestion", text, evidence), nodes=runs.nodes)


def _nearest_slowdown(runs: ComparableRuns, now: float) -> tuple[schemas.Slowdown | None, float, int]:
    """Return the slowdown of the runs with the most similar congestion (None if beyond past values), their mean time and their number."""
    mean_s = float(runs.times_s.mean())
    if not runs.congestion.min() * 0.5 <= now <= runs.congestion.max() * 1.5:
        return None, mean_s, 0
    count = max(LEAST_RUNS, round(NEAREST_SHARE * len(runs.times_s)))
    nearest = np.argsort(np.abs(runs.congestion - now), kind="stable")[:count]
    return _slowdown_interval(runs.times_s[nearest] / mean_s), mean_s, len(nearest)


def _unknown_slowdown(text: str, evidence: str | None = None) -> Expected:
    return Expected(None, None, _make_reason("unknown", text, evidence))


def groups_stood_in(asked: PlacementQuestion, nodes: list[str], places: Counter[tuple[int, int]]) -> int | None:
    """Return the number of groups that the job would use on these nodes, or a lower bound; None if unknown.

    A list can contain more nodes than the job uses, or only some of them.
    """
    unknown = len(nodes) - places.total()
    if len(places) > 1:
        # From a longer list, the job might get nodes of only one group.
        fits_in_one = max(places.values()) + unknown >= asked.nodes
        return None if len(nodes) > asked.nodes and fits_in_one else len(places)
    return 1 if places and not unknown and len(nodes) >= asked.nodes else None


def routing_mode(basis: Basis, asked: PlacementQuestion, groups: int | None) -> tuple[str | None, schemas.Reason]:
    """Return the MPICH_GNI_ROUTING_MODE that the application-aware model chose from NIC counters, for a job in `groups` groups; None if unknown."""
    chosen = basis.routing_modes.get(asked.application)
    if chosen is None:
        return None, _make_reason(
            "routing_mode", "unknown: no NIC counters show latency and stalls under each routing mode"
        )
    evidence = f"/api/v1/advice/{chosen['recommendation_id']}"
    name, _, mode = (chosen["environment"] or "").partition("=")
    if name != "MPICH_GNI_ROUTING_MODE" or not mode:
        return None, _make_reason("routing_mode", f"unknown: {chosen['reason']}", evidence)
    mode, text = advise_mode(mode, chosen["reason"], chosen["groups"], groups)
    return mode, _make_reason("routing_mode", text if mode is not None else f"unknown: {text}", evidence)


def _mode_of_all(modes: list[tuple[str | None, schemas.Reason]], best: int | None) -> tuple[str | None, schemas.Reason]:
    """Return the preferred candidate's mode, or else the mode that all candidates share."""
    if best is not None:
        return modes[best]
    if len({mode for mode, _ in modes}) == 1:
        return modes[0]
    return None, _make_reason(
        "routing_mode",
        "unknown: each candidate has its own",
        next(why.evidence for mode, why in modes if mode is not None),
    )


def give_advice(
    basis: Basis, asked: PlacementQuestion, shown: NameMask, age_s: float, away: bool = False, parts: Parts = SERVED
) -> schemas.Advice:
    """Return the answer of POST /advice.

    Parameters
    ----------
    shown : function   returns a user's name as the caller may see it
    age_s : float      age of the basis
    away : bool        whether the last query failed because the database was unavailable
    parts : Parts      parts that the answer may use
    """
    reasons: list[schemas.Reason] = []
    reason_texts: set[str] = set()
    expectations: list[Expected] = []
    where: list[Counter[tuple[int, int]]] = []
    for nodes in asked.candidates or [[]]:
        places, unknown = groups_of(basis, nodes)
        candidate = (near_blamed(basis, asked, places, shown, parts) if parts.blame else None) or from_congestion(
            basis, asked, places, parts
        )
        expectations.append(candidate)
        where.append(places)
        if unknown and places:
            reasons.append(_make_reason("unknown_nodes", f"{unknown} of {len(nodes)} nodes are on no fabric"))
        if candidate.reason.text not in reason_texts:
            reason_texts.add(candidate.reason.text)
            reasons.append(candidate.reason)
    action, best = _choose_action(basis, asked, expectations, where, reasons, parts)
    placed = placed_best(basis, asked) if parts.pattern else None
    if placed is not None and placed.placement is not None and action == "start":
        action, best = _by_pattern(placed, expectations, where, best, reasons)
    modes = [
        routing_mode(basis, asked, groups_stood_in(asked, nodes, places))
        for nodes, places in zip(asked.candidates or [[]], where, strict=True)
        if parts.routing
    ]
    mode, why = _mode_of_all(modes, best if action == "prefer" else None) if modes else (None, None)
    if why is not None:
        reasons.append(why)
    stale = stale_reasons(basis, age_s, away)
    reasons += stale
    candidates = [
        schemas.Candidate(
            index=at,
            action=_candidate_action(action, at, best, candidate),
            expected_slowdown=candidate.slowdown,
            reason=candidate.reason.text,
            routing_mode=modes[at][0] if modes else None,
        )
        for at, candidate in enumerate(expectations if asked.candidates else [])
    ]
    kind = kind_of(basis, asked.application, asked.nodes, parts)
    return schemas.Advice(
        action=action,
        preferred=best if action == "prefer" else None,
        retry_after_s=WAIT_S if action == "delay" else None,
        expected_slowdown=expectations[best].slowdown,
        usual_s=expectations[best].known_s(asked.nodes),
        usual_range_s=expectations[best].range_s(asked.nodes),
        routing_mode=mode,
        candidates=candidates,
        reasons=reasons,
        because=findings.list_findings(
            basis,
            findings.AdviceQuestion(
                asked.application,
                asked.nodes,
                kind,
                expectations[best].usual_s,
                {place for candidate in where for place in candidate},
            ),
            [candidate.reason for candidate in expectations if candidate.blamed is not None],
            placed,
            why,
            parts,
        ),
        stale=bool(stale),
        as_of=datetime.fromtimestamp(basis.now_s, UTC),
    )


def _choose_action(
    basis: Basis,
    asked: PlacementQuestion,
    found: list[Expected],
    where: list[Counter[tuple[int, int]]],
    reasons: list[schemas.Reason],
    parts: Parts,
) -> tuple[Action, int]:
    """Choose the action from the expected slowdowns; also return the best candidate's index."""
    action: Action = "start"
    best = 0
    estimated = [at for at, candidate in enumerate(found) if candidate.slowdown is not None]
    if estimated:
        best = min(estimated, key=lambda at: _mean_slowdown(found[at]))
        gain = max(_mean_slowdown(found[at]) for at in estimated) - _mean_slowdown(found[best])
        # A good known estimate is preferred to an unknown one; a bad known one is not.
        all_known, good = len(estimated) == len(found), _mean_slowdown(found[best]) <= 1 + PREFER_BY
        if (all_known and gain >= PREFER_BY) or (not all_known and good):
            action = "prefer"
        if all_known and _is_slow(found[best]):
            if parts.running and leaves_soon(basis, where[best], found[best].blamed) is False:
                reasons.append(
                    _make_reason(
                        "waiting",
                        "the jobs there are expected to stay longer than the longest delay, so waiting does not help",
                    )
                )
            else:
                action = _choose_delay(basis, asked, found[best], reasons, action)
    return action, best


def _by_pattern(
    placed: Pattern,
    found: list[Expected],
    where: list[Counter[tuple[int, int]]],
    best: int,
    reasons: list[schemas.Reason],
) -> tuple[Action, int]:
    """Prefer the candidate that matches the application's placement pattern, unless it is expected to be slower than the best one."""
    groups = [len(places) for places in where]
    if min(groups) == max(groups) or not min(groups):
        return "start", best
    group_count = min(groups) if placed.placement == "together" else max(groups)
    fitting = [at for at, count in enumerate(groups) if count == group_count]
    chosen = min(fitting, key=lambda at: (_mean_slowdown(found[at]), at))
    if found[best].slowdown is not None and not _mean_slowdown(found[chosen]) < _mean_slowdown(found[best]) + PREFER_BY:
        return "start", best
    reasons.append(_make_reason("pattern", f"better {placed.placement}: {placed.text}", placed.evidence))
    return "prefer", chosen


def _mean_slowdown(expected: Expected) -> float:
    return expected.slowdown.mean if expected.slowdown is not None else float("inf")


def _is_slow(expected: Expected) -> bool:
    """Return whether the slowdown is large enough to wait for and hardly any comparable run escaped it."""
    slowdown = expected.slowdown
    return slowdown is not None and slowdown.mean >= DELAY_AT and slowdown.low > 1


def _candidate_action(action: Action, at: int, best: int, one: Expected) -> Action:
    """Derive the action for one list of nodes from the answer's action; `delay` also if only this list is expected to be slow."""
    if action == "prefer" and at == best:
        return "prefer"
    return "delay" if _is_slow(one) and action != "start" else "start"


def _choose_delay(
    basis: Basis, asked: PlacementQuestion, best: Expected, reasons: list[schemas.Reason], otherwise: Action
) -> Action:
    usual_s = best.longest_s(asked.nodes)
    needs_s = WAIT_S + usual_s
    if asked.deadline_s is not None and basis.now_s + needs_s > asked.deadline_s:
        reasons.append(
            _make_reason("deadline", f"a delay of {WAIT_S:.0f} s and the usual {usual_s:.0f} s would miss the deadline")
        )
        return otherwise
    return "delay"


def stale_reasons(basis: Basis, age_s: float, away: bool) -> list[schemas.Reason]:
    """Return why the answer uses outdated data; empty if it does not."""
    reasons = []
    if basis.workers == 0:
        reasons.append(
            _make_reason(
                "stale",
                f"no worker of queue {BASIS_QUEUE} is running, so estimates are not renewed",
                "/api/v1/estimates",
            )
        )
    if away or age_s > OLD_S:
        why = "the database does not answer" if away else "a new state is still being read"
        reasons.append(_make_reason("stale", f"the state is {age_s:.0f} s old: {why}"))
    return reasons
