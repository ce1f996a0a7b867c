"""Days of a simulated machine on which a user or no user slows an instrumented run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from flitwatch_domain.fabric import ROLES, Endpoints, Fabric, NodeRole
from flitwatch_domain.generators import build_xgft
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import InstrumentedSpec, InterferenceSpec, TwinSpec

APPLICATIONS = ("amg-128", "milc-128")
#: Period of a timetable's entry: once per day.
ONCE_S = 100_000.0
#: Bandwidth of a tree's cable, 4x FDR.
TREE_BANDWIDTH_BPS = 56e9
#: By levels: one in this many leaves has a file system node. About one node in 25 serves it, as on the dragonfly.
IO_LEAVES = {2: 1, 3: 2}
#: Length of a day in seconds, even if jobs are still running.
DAY_S = 1800


@dataclass(frozen=True)
class Draw:
    """One day. Times are seconds of that day.

    Attributes
    ----------
    day : number that distinguishes the machine's days
    kind : a key of `KINDS`
    run : the instrumented run
    planted : the interfering users; empty if there are none
    cards : share of network cards with counters
    sampled_s : sampling interval of counters
    fabric : a key of `FABRICS`
    """

    day: int
    kind: str
    run: InstrumentedSpec
    planted: tuple[InterferenceSpec, ...] = ()
    cards: float = 1.0
    sampled_s: int = 10
    fabric: str = "dragonfly"

    @property
    def application(self) -> str:
        """Application of the instrumented run."""
        return self.run.application

    def cluster(self, seed: int, muted: frozenset[str] = frozenset(), demand: float | None = None) -> Cluster:
        """Return the machine on that day; `demand` replaces the instrumented run's drawn demand."""
        run = self.run if demand is None else self.run.model_copy(update={"demand": demand})
        first_job, tree = 10_000 * (1 + self.day), FABRICS[self.fabric]()
        return Cluster(make_spec((run,), self.planted), seed, muted, first_job, self.day, tree)


#: Trees by number of levels: children of a switch by level, and parents, from the nodes on. A leaf has half as many up cables as nodes.
TREES = {2: ((26, 39), (1, 13)), 3: ((16, 12, 8), (1, 8, 8))}


@lru_cache(maxsize=len(TREES))
def build_tree(levels: int) -> Fabric:
    """Return an InfiniBand fat tree with about 1,000 nodes on 39 leaves, or 1,536 on 96; every leaf or every second one has an I/O node."""
    children, parents = TREES[levels]
    fabric = build_xgft(levels, children, parents, bandwidth_bps=TREE_BANDWIDTH_BPS)
    role = np.full(len(fabric.endpoints), ROLES.index(NodeRole.COMPUTE))
    role[children[0] - 1 :: IO_LEAVES[levels] * children[0]] = ROLES.index(NodeRole.IO)
    ends = fabric.endpoints
    return replace(fabric, endpoints=Endpoints(ends.router, port=ends.port, node=ends.node, role=role))


#: Machines by name: the tree that replaces the spec's dragonfly.
FABRICS: dict[str, Callable[[], Fabric | None]] = {
    "dragonfly": lambda: None,
    "tree": lambda: build_tree(2),
    "tree-3-levels": lambda: build_tree(3),
}


def make_spec(instrumented: tuple[InstrumentedSpec, ...], planted: tuple[InterferenceSpec, ...]) -> TwinSpec:
    """Return a dragonfly of four groups with its ordinary users; a tree can replace it."""
    return TwinSpec.model_validate(
        {
            "name": "drawn",
            "fabric": {"groups": 4},
            "users": {"load": 0.6, "most_nodes": 192},
            "instrumented": instrumented,
            "interference": planted,
        }
    )


def _instrument_run(application: str, first_s: float = 0.0, demand: float = 1.0) -> InstrumentedSpec:
    return InstrumentedSpec.model_validate(
        {"application": application, "first_s": first_s, "every_s": ONCE_S, "demand": demand}
    )


def _plant_job(rng: np.random.Generator, mechanism: str = "bandwidth", **given: float) -> InterferenceSpec:
    drawn = {
        "mechanism": mechanism,
        "nodes": int(rng.integers(200, 341)),
        "rate": float(rng.uniform(1.0, 1.5)),
        "first_s": float(rng.integers(70, 150)),
        "lasts_s": float(rng.integers(200, 400)),
        "every_s": ONCE_S,
    }
    return InterferenceSpec.model_validate(drawn | given)


@dataclass(frozen=True)
class _Parts:
    """Runs and planted jobs of one kind of day."""

    run: InstrumentedSpec
    planted: tuple[InterferenceSpec, ...] = ()


def _start_before(rng: np.random.Generator, application: str) -> _Parts:
    return _Parts(_instrument_run(application), (_plant_job(rng),))


def _start_inside(rng: np.random.Generator, application: str) -> _Parts:
    planted = _plant_job(rng, first_s=float(rng.integers(30, 80)), lasts_s=float(rng.integers(400, 700)))
    return _Parts(_instrument_run(application, planted.first_s + float(rng.integers(60, 150))), (planted,))


def _send_bursts(rng: np.random.Generator, application: str) -> _Parts:
    duty, burst_s = float(rng.uniform(0.4, 0.6)), float(rng.uniform(60, 120))
    return _Parts(
        _instrument_run(application, 30.0), (_plant_job(rng, first_s=0.0, lasts_s=900.0, duty=duty, burst_s=burst_s),)
    )


def _plant_two(rng: np.random.Generator, application: str) -> _Parts:
    nodes = int(rng.integers(160, 240))
    return _Parts(_instrument_run(application), (_plant_job(rng, nodes=nodes), _plant_job(rng, nodes=nodes)))


def _plant_incast(rng: np.random.Generator, application: str) -> _Parts:
    return _Parts(_instrument_run(application), (_plant_job(rng, "incast"),))


def _plant_io(rng: np.random.Generator, application: str) -> _Parts:
    return _Parts(_instrument_run(application), (_plant_job(rng, "io", rate=float(rng.uniform(1.2, 1.9))),))


def _join_later(rng: np.random.Generator, application: str) -> _Parts:
    """Return a day on which another job slows the run slightly before the main one starts."""
    little = {"nodes": int(rng.integers(96, 161)), "rate": float(rng.uniform(0.5, 0.8)), "first_s": float(rng.integers(40, 80)), "lasts_s": 400.0}  # fmt: skip
    later = {"first_s": little["first_s"] + float(rng.integers(80, 160))}
    return _Parts(
        _instrument_run(application), (_plant_job(rng, "bandwidth", **little), _plant_job(rng, "bandwidth", **later))
    )


def _slow_itself(rng: np.random.Generator, application: str) -> _Parts:
    return _Parts(_instrument_run(application, float(rng.integers(120, 300)), demand=float(rng.uniform(6.0, 10.0))))


def _plant_none(rng: np.random.Generator, application: str) -> _Parts:
    return _Parts(_instrument_run(application))


def _start_either(rng: np.random.Generator, application: str) -> _Parts:
    return (_start_before, _start_inside)[int(rng.integers(2))](rng, application)


#: Kinds of days by name.
KINDS: dict[str, Callable[[np.random.Generator, str], _Parts]] = {
    "victim-before": _start_before,
    "victim-inside": _start_inside,
    "bursts": _send_bursts,
    "two-aggressors": _plant_two,
    "incast": _plant_incast,
    "io-burst": _plant_io,
    "joined-later": _join_later,
    "self-inflicted": _slow_itself,
    "quiet": _plant_none,
    "two-thirds-of-cards": _start_either,
    "minute-sampler": _start_either,
}
#: Kinds of days on which no other job must be named.
ALONE = ("self-inflicted", "quiet")


def draw_days(
    seed: int, count: int, kinds: tuple[str, ...] = tuple(KINDS), fabric: str = "dragonfly"
) -> Iterator[Draw]:
    """Draw `count` days, cycling through the kinds."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        kind = kinds[number % len(kinds)]
        application = APPLICATIONS[(number // len(kinds)) % len(APPLICATIONS)]
        parts = KINDS[kind](rng, application)
        cards, sampled_s = (2 / 3 if kind == "two-thirds-of-cards" else 1.0), (60 if kind == "minute-sampler" else 10)
        yield Draw(1 + number, kind, parts.run, parts.planted, cards, sampled_s, fabric)
