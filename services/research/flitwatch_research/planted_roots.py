"""Roots of congestion planted in the packet engine, and their detection from port counters only.

Each planted run has light uniform traffic of all endpoints. Planted flows together overload one or several links: their senders share a receiver, or their
routes share a link. The method gets only use and stalls of each link. With packet sampling, it gets estimates from the samples of one job's packets:
the job with the planted roots or, in quiet runs, the light traffic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.diagnosis import Findings, PortWindow, Turns, find_roots
from flitwatch_domain.diagnosis.answer import by_samples
from flitwatch_domain.diagnosis.trees import CongestionMap
from flitwatch_domain.fabric import CountedAt, Fabric, FabricKind
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies.taffet import congestion_of
from flitwatch_simulation.packet.machine import Machine, build_machine

#: Mean use by uniform traffic of the most used class of links between routers.
LIGHT = (0.05, 0.35)
#: Share of every endpoint's bandwidth for measuring the links' use, once per machine.
PROBE = 0.01
#: Offered load of the planted flows relative to the link's capacity.
OVERLOAD = (1.5, 3.0)
#: Largest load of a planted flow's receiver, as a share of its link's capacity.
MOST_RECEIVED = 0.85
MOST_RECEIVERS, MOST_SENDERS, LEAST_SENDERS = 6, 16, 4
LENGTH_S = 5e-4
#: Numbers of the engine's jobs: the light traffic of all endpoints, and the planted flows.
LIGHTLY, PLANTED = 0, 1
PACKET_BYTES = 2048

Ints = NDArray[np.int64]
Flows = list[tuple[int, int]]


@dataclass(frozen=True)
class Setting:
    """A machine, its routing, the kind of roots (`incast`, `link`, or `quiet`: none), their number, and the share of links without counters."""

    topology: str
    routing: str
    kind: str
    roots: int = 1
    uncounted: float = 0.0


@dataclass(frozen=True)
class PlantedRun:
    """One run: the planted links and the port counters."""

    machine: Machine
    planted: tuple[int, ...]
    window: PortWindow
    turns: Turns
    samples: CongestionMap


class Planter:
    """Planter of roots on one machine."""

    def __init__(self, topology: str, routing: str) -> None:
        self.machine = build_machine(fabric_of(topology), routing, packet_bytes=PACKET_BYTES)
        self.fabric: Fabric = self.machine.fabric
        links = self.fabric.links
        self._routers = len(self.fabric.routers)
        self._src, self._dst = links.src.astype(np.int64), links.dst.astype(np.int64)
        self._home = self.fabric.endpoints.router.astype(np.int64)
        static = self.fabric.kind is FabricKind.FAT_TREE and self.machine.mode == packet.TreeMode.STATIC
        self._table = self.machine.core.static_table() if static else None
        self.turns = Turns(self.fabric, self._table)
        self._capacity = np.asarray(links.bandwidth_bps) / 8

    def planted_run(self, kind: str, roots: int, seed: int) -> PlantedRun:
        """Plant `roots` roots of a kind and run; `quiet` plants none."""
        rng = np.random.default_rng(seed)
        planted: list[int] = []
        flows: list[tuple[Flows, float]] = []
        used_ends: set[int] = set()
        while kind != "quiet" and len(planted) < roots:
            link, pairs = (
                self._plant_incast(rng, used_ends) if kind == "incast" else self._plant_crossing(rng, used_ends)
            )
            if any(self.distance(link, other) < 3 for other in planted):
                continue
            used_ends |= {end for pair in pairs for end in pair}
            planted.append(link)
            offered = float(rng.uniform(*OVERLOAD)) * self._bundle_bytes_per_s(link)
            if kind == "link":
                received = len({target for _, target in pairs}) * self.machine.terminal_bytes_per_s
                offered = min(offered, MOST_RECEIVED * received)
            flows.append((pairs, offered))
        result = self._run_traffic(flows, used_ends, seed, rng)
        samples = congestion_of(self.machine, result, PLANTED if flows else LIGHTLY)
        return PlantedRun(self.machine, tuple(planted), measure_ports(self.machine, result), self.turns, samples)

    @cached_property
    def _most_used(self) -> float:
        """Use of the most used class of links between routers, relative to the endpoints' links, under uniform traffic."""
        everyone = np.arange(self.machine.endpoints)
        rate = PROBE * self.machine.terminal_bytes_per_s
        generators = [
            packet.Generator(int(end), everyone, PACKET_BYTES, int(4 * LENGTH_S * rate), PACKET_BYTES / rate * 1e9)
            for end in everyone.tolist()
        ]
        result = self.machine.core.run(
            packet.Workload(generators=generators, default_mode=self.machine.mode), packet_bytes=PACKET_BYTES, seed=0
        )
        use = measure_ports(self.machine, result).utilisation
        between = self.fabric.router_links()
        classes = self.fabric.links.link_class
        mine = float(use[~between].mean())
        return max(float(use[between & (classes == code)].mean()) for code in np.unique(classes[between])) / mine

    def _plant_incast(self, rng: np.random.Generator, taken: set[int]) -> tuple[int, Flows]:
        free = np.setdiff1d(np.arange(self.machine.endpoints), list(taken))
        target = int(rng.choice(free))
        away = free[self._home[free] != self._home[target]]
        senders = rng.choice(away, min(len(away), int(rng.integers(8, 17))), replace=False)
        link = int(np.flatnonzero(self._dst == self._routers + target)[0])
        return link, [(int(sender), target) for sender in senders]

    def _plant_crossing(self, rng: np.random.Generator, taken: set[int]) -> tuple[int, Flows]:
        """Return a link between routers, and pairs of endpoints whose routes cross it."""
        between = np.flatnonzero(self.fabric.router_links())
        while True:
            link = int(rng.choice(between))
            pairs = (
                self._pair_static(link, rng, taken) if self._table is not None else self._pair_minimal(link, rng, taken)
            )
            receivers = len({target for _, target in pairs})
            most_bytes = MOST_RECEIVED * receivers * self.machine.terminal_bytes_per_s
            if len({sender for sender, _ in pairs}) >= LEAST_SENDERS and most_bytes >= OVERLOAD[
                0
            ] * self._bundle_bytes_per_s(link):
                return link, pairs

    def _pair_static(self, link: int, rng: np.random.Generator, taken: set[int]) -> Flows:
        """Return pairs from static routes: some receivers after the link, and senders at least one switch before it, each used once."""
        assert self._table is not None
        behind = np.flatnonzero(self._table[:, self._src[link]] == link)
        far = rng.permutation(np.flatnonzero(self._home != self._src[link])).tolist()
        crossed = {
            (sender, target) for target in behind.tolist() for sender in far[:MOST_SENDERS] if link in self._trace_route(sender, target)
        }  # fmt: skip
        targets = [
            receiver
            for receiver in rng.permutation(behind).tolist()
            if receiver not in taken and any(t == receiver for _, t in crossed)
        ]
        pairs: Flows = []
        for sender in far[:MOST_SENDERS]:
            reached = [receiver for receiver in targets[:MOST_RECEIVERS] if (sender, receiver) in crossed]
            if sender not in taken and sender not in targets and reached:
                pairs.append((sender, reached[len(pairs) % len(reached)]))
        return pairs

    def _trace_route(self, sender: int, target: int) -> list[int]:
        assert self._table is not None
        at, route = int(self._home[sender]), []
        while at < self._routers:
            route.append(int(self._table[target, at]))
            at = int(self._dst[route[-1]])
        return route

    def _pair_minimal(self, link: int, rng: np.random.Generator, taken: set[int]) -> Flows:
        """Return pairs on a dragonfly: endpoints of the link's first router to those of its second; for a global link, all of one group to all of the other."""
        group = self.fabric.routers.group
        a, b = int(self._src[link]), int(self._dst[link])
        apart = group[a] != group[b]
        free = np.setdiff1d(np.arange(self.machine.endpoints), list(taken))
        home = self._home[free]
        senders = free[(group[home] == group[a]) & (home != a)] if apart else free[home == a]
        receivers = free[(group[home] == group[b]) & (home != b)] if apart else free[home == b]
        if not apart:
            pairs = [(int(s), int(r)) for s in senders for r in receivers]
        else:
            count = min(len(senders), len(receivers), 16)
            pairs = list(
                zip(
                    rng.choice(senders, count, replace=False).tolist(),
                    rng.choice(receivers, count, replace=False).tolist(),
                    strict=True,
                )
            )
        return pairs

    def _bundle_bytes_per_s(self, link: int) -> float:
        """Return bytes per second of a link and its parallel cables."""
        return float(self._capacity[(self._src == self._src[link]) & (self._dst == self._dst[link])].sum())

    def _run_traffic(
        self, flows: Sequence[tuple[Flows, float]], taken: set[int], seed: int, rng: np.random.Generator
    ) -> packet.Result:
        everyone = np.arange(self.machine.endpoints)
        wire = self.machine.terminal_bytes_per_s
        light = min(float(rng.uniform(*LIGHT)) / self._most_used, 0.35) * wire
        generators = [
            packet.Generator(int(end), everyone, PACKET_BYTES, int(LENGTH_S * light), PACKET_BYTES / light * 1e9)
            for end in everyone.tolist()
            if end not in taken
        ]
        for pairs, offered in flows:
            by_sender: dict[int, list[int]] = defaultdict(list)
            for sender, target in pairs:
                by_sender[sender].append(target)
            rate = min(offered / len(by_sender), wire)
            generators += [
                packet.Generator(
                    sender,
                    np.array(targets),
                    PACKET_BYTES,
                    int(LENGTH_S * rate),
                    PACKET_BYTES / rate * 1e9,
                    job=PLANTED,
                )
                for sender, targets in by_sender.items()
            ]
        workload = packet.Workload(generators=generators, default_mode=self.machine.mode)
        return self.machine.core.run(workload, packet_bytes=PACKET_BYTES, seed=seed, sampling=True)

    def distance(self, link: int, other: int) -> int:
        """Return the distance of two links in any direction: 0 for the same or a parallel cable, 1 if they touch."""
        ends = {int(self._src[link]), int(self._dst[link])}
        goal = {int(self._src[other]), int(self._dst[other])}
        if self._src[link] == self._src[other] and self._dst[link] == self._dst[other]:
            return 0
        steps = 1
        while not ends & goal and steps < 10:
            touched = np.isin(self._src, list(ends))
            ends |= set(self._dst[touched].tolist())
            steps += 1
        return steps


def measure_ports(machine: Machine, result: packet.Result) -> PortWindow:
    """Compute a run's port counters in flit times: waiting time of packets at receivers, time without credit at senders."""
    links, raw = machine.fabric.links, result.raw
    wire_s = np.asarray(raw["vc_bytes"]).sum(axis=1) / (np.asarray(links.bandwidth_bps) / 8)
    receiver = machine.fabric.counted_at is CountedAt.RECEIVER
    waited_ps = np.asarray(raw["vc_stall_ps"]).sum(axis=1) if receiver else np.asarray(raw["link_wait_ps"])
    stalls = np.divide(waited_ps * 1e-12, wire_s, out=np.zeros(len(links)), where=wire_s > 0)
    if receiver:
        stalls[links.dst >= len(machine.fabric.routers)] = np.nan
    return PortWindow(machine.fabric, wire_s / result.time_s, stalls)


class RootScore(TypedDict):
    """Roots of a planted run: numbers planted, found within one link, found exactly, named, and falsely named; with the confidence of each named one."""

    planted: int
    found: int
    exact: int
    named: int
    wrong: int
    first_right: bool
    confidence: list[float]
    right: list[bool]
    cannot_tell: bool


def score_counters(planter: Planter, planted_run: PlantedRun, findings: Findings) -> RootScore:
    """Score the roots of a planted run found from port counters."""
    confidence = [round(root.confidence, 3) for root in findings.roots]
    return _score_roots(
        planter, planted_run, [root.link for root in findings.roots], confidence, findings.cannot_tell is not None
    )


def score_samples(planter: Planter, planted_run: PlantedRun) -> RootScore:
    """Score the roots found from packet samples, which have no confidence."""
    diagnosis = by_samples(planted_run.samples)
    return _score_roots(
        planter, planted_run, [root["link"] for root in diagnosis["roots"]], [], diagnosis["verdict"] == "cannot tell"
    )


def _score_roots(
    planter: Planter, planted_run: PlantedRun, named: Sequence[int], confidence: list[float], cannot_tell: bool
) -> RootScore:
    """Score planted roots with a named one within one link, and false names."""
    hits = [any(planter.distance(suspect, link) <= 1 for suspect in named) for link in planted_run.planted]
    exact = [any(planter.distance(suspect, link) == 0 for suspect in named) for link in planted_run.planted]
    right = [any(planter.distance(suspect, link) <= 1 for link in planted_run.planted) for suspect in named]
    return {
        "planted": len(planted_run.planted),
        "found": sum(hits),
        "exact": sum(exact),
        "named": len(named),
        "wrong": len(named) - sum(right),
        "first_right": bool(right) and right[0],
        "confidence": confidence,
        "right": right,
        "cannot_tell": cannot_tell,
    }


SETTINGS = (
    Setting("dragonfly:4,2,4,1", "minimal", "link"),
    Setting("dragonfly:4,2,4", "minimal", "incast"),
    Setting("dragonfly:4,2,4", "adaptive2", "incast"),
    Setting("xgft:2;8,8;1,4", "ftree", "link"),
    Setting("xgft:2;8,8;1,4", "ftree", "incast"),
    Setting("xgft:2;8,8;1,4", "hw-adaptive", "incast"),
    Setting("xgft:3;4,4,4;1,2,2", "ftree", "link"),
)
SEVERAL = (
    Setting("dragonfly:6,2,6,2", "minimal", "incast", 3),
    Setting("dragonfly:6,2,6,1", "minimal", "link", 2),
    Setting("xgft:3;6,6,4;1,3,3", "ftree", "incast", 3),
    Setting("xgft:3;6,6,4;1,3,3", "ftree", "link", 2),
)
UNCOUNTED = tuple(replace(one, uncounted=0.1) for one in SETTINGS)
QUIET = tuple(
    Setting(*machine, "quiet")
    for machine in dict.fromkeys((one.topology, one.routing) for one in (*SETTINGS, *SEVERAL))
)


def run_samples(setting: Setting, seeds: Sequence[int]) -> list[RootScore]:
    """Return scores of one setting from packet samples, one per seed."""
    planter = Planter(setting.topology, setting.routing)
    return [score_samples(planter, planter.planted_run(setting.kind, setting.roots, seed)) for seed in seeds]


def score_setting(setting: Setting, seeds: Sequence[int]) -> list[RootScore]:
    """Return scores of one setting, one per seed."""
    planter = Planter(setting.topology, setting.routing)
    scores = []
    for seed in seeds:
        planted_run = planter.planted_run(setting.kind, setting.roots, seed)
        window = drop_counters(planted_run.window, setting.uncounted, seed)
        scores.append(score_counters(planter, planted_run, find_roots(window, planted_run.turns)))
    return scores


def drop_counters(window: PortWindow, part: float, seed: int) -> PortWindow:
    """Return the window without the counters of a random part of the links."""
    lost = np.random.default_rng([seed, 1]).random(len(window.utilisation)) < part
    return PortWindow(
        window.fabric,
        np.where(lost, np.nan, window.utilisation),
        np.where(lost, np.nan, window.stalls_per_flit),
    )
