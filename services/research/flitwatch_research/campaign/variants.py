"""Hard variants: named variants of a campaign that are harder to judge than the plain one, with their truth.

A scenario is an application, or an application in a variant: `amg-128` or `amg-128@drift`. Variants change submissions, applications'
sensitivities, and records; none uses a formula of an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest


@dataclass(frozen=True)
class Demand:
    """Demand of a variant: users' submissions with nodes, times and placement, which determine the history of jobs.

    Attributes
    ----------
    windows : share of users who submit only in one window of 3 to 8 weeks.
    paired : innocents submit together with aggressors, so that both are present at once.
    graded : strengths are continuous, many of them weak.
    busy_days : sd of the log of a day's demand and of its background load.
    follows_load : jobs are placed in the groups with the least traffic.
    trend : log growth of the background over the campaign.
    """

    windows: float = 0.0
    paired: bool = False
    graded: bool = False
    busy_days: float = 0.0
    follows_load: bool = False
    trend: float = 0.0


@dataclass(frozen=True)
class Variant:
    """One kind of difficulty of a campaign.

    Attributes
    ----------
    grade : 0 (plain) to 4 (everything at once).
    summary : one line for people.
    demand : submissions with users, times and placement.
    variation : sd of the log of a run's needs for reasons other than the network.
    level_shift : log change of every run's needs at an upgrade on an unknown date.
    firmware : sd of the log change of each counter's scale at another date.
    packet_law : slowdown follows the curve fitted to the packet engine and several causes at once, while counters follow another curve
        with separate noise.
    missing : share of the counter readings that are lost, in contiguous intervals.
    """

    grade: int
    summary: str
    demand: Demand = Demand()
    variation: float = 0.0
    level_shift: float = 0.0
    firmware: float = 0.0
    packet_law: bool = False
    missing: float = 0.0


#: From easy to hard.
VARIANTS: dict[str, Variant] = {
    "plain": Variant(0, "nothing drifts; there are two kinds of users; counters follow the slowdown closely"),
    "variation5": Variant(1, "run times vary by 5 % for reasons other than the network", variation=0.05),
    "missing": Variant(1, "a fifth of the counter readings is lost", missing=0.2),
    "placement": Variant(1, "jobs are placed in the groups with the least traffic", Demand(follows_load=True)),
    "pairs": Variant(2, "innocent users submit when aggressors do", Demand(paired=True)),
    "graded": Variant(2, "strengths are continuous: many weak aggressors", Demand(graded=True)),
    "variation15": Variant(2, "run times vary by 15 % for reasons other than the network", variation=0.15),
    "windows": Variant(2, "two users in three are present for only 3 to 8 weeks", Demand(windows=0.65)),
    "law": Variant(
        3, "slowdown by the packet engine's curve, two to four causes at once, noisy counters", packet_law=True
    ),
    "busydays": Variant(3, "days differ: when many submit, the background is high too", Demand(busy_days=0.5)),
    "drift": Variant(
        3,
        "an upgrade changes run times by 15 %, firmware changes counters, the background grows, users come and go",
        Demand(windows=0.65, trend=0.6),
        level_shift=0.15,
        firmware=0.25,
    ),
    "everything": Variant(
        4,
        "all of these at once, each at about half its strength",
        Demand(windows=0.4, paired=True, graded=True, busy_days=0.25, follows_load=True, trend=0.3),
        variation=0.05,
        level_shift=0.1,
        firmware=0.15,
        packet_law=True,
        missing=0.1,
    ),
}


def split_scenario(scenario: str) -> tuple[str, str]:
    """Return the application's name and the variant's: `amg-128@drift` is (amg-128, drift), `amg-128` is (amg-128, plain)."""
    name, _, variant = scenario.partition("@")
    return name, variant or "plain"


def find_variant(scenario: str) -> Variant:
    """Return the variant of a scenario; raise BadRequest with a list of names."""
    _, name = split_scenario(scenario)
    if name not in VARIANTS:
        raise BadRequest(f"there is no variant {name!r}", advice=f"Choose one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]


Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Era:
    """Dates and sizes of the changes.

    Attributes
    ----------
    upgrade_s, pace : from this simulated second on, all needs of a run are multiplied by `pace`.
    firmware_s, gain : from this second on, counters are multiplied by `gain`: float64[counters].
    """

    upgrade_s: float
    pace: float
    firmware_s: float
    gain: Float

    @classmethod
    def draw(cls, variant: Variant, rng: np.random.Generator, span_s: float, counters: int) -> Era:
        """Draw changes in the middle half of the campaign; the upgrade can speed up or slow down runs."""
        upgrade_s, firmware_s = rng.uniform(0.25, 0.75, 2) * span_s
        pace = float(np.exp(variant.level_shift * rng.choice([-1, 1])))
        return cls(float(upgrade_s), pace, float(firmware_s), np.exp(variant.firmware * rng.standard_normal(counters)))

    def pace_at(self, time_s: float) -> float:
        """Return the needs of a run that starts at `time_s`, as a multiple of those before the upgrade."""
        return self.pace if time_s >= self.upgrade_s else 1.0

    def gain_at(self, time_s: float) -> Float | float:
        """Return the factor on counters of a run that starts at `time_s`."""
        return self.gain if time_s >= self.firmware_s else 1.0


def draw_variation(rng: np.random.Generator, variation: float) -> float:
    """Draw one run's needs as a multiple of the usual ones, independent of the network: log-normal with median 1."""
    return float(np.exp(variation * rng.standard_normal()))
