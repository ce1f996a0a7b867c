"""Results of a campaign: observations for estimators and, separately, the truth for scoring."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.counters import TABLE_II

#: The 13 counters of Bhatele 2020, table II, by abbreviation: the order of `Campaign.counters`.
COUNTER_NAMES: tuple[str, ...] = tuple(counter.abbreviation for counter in TABLE_II)
#: The four counters that LDMS provides for routers without nodes of the job.
LDMS_NAMES: tuple[str, ...] = ("RT_FLIT_TOT", "RT_RB_STL", "PT_FLIT_TOT", "PT_RB_STL_RQ")
PLACEMENT_NAMES: tuple[str, ...] = ("NUM_ROUTERS", "NUM_GROUPS")
IO_NAMES: tuple[str, ...] = tuple(f"IO_{name}" for name in LDMS_NAMES)
SYS_NAMES: tuple[str, ...] = tuple(f"SYS_{name}" for name in LDMS_NAMES)
#: Places of waiting that slow an application, in the order of `CampaignTruth.component_share`.
COMPONENTS: tuple[str, ...] = ("router", "processor", "global", "io", "responses", "buffers")

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Campaign:
    """About 200 runs of one application over four months; simulated.

    Attributes (N runs, S steps, U users; the last user submits the instrumented runs)
    ----------
    run_key : tuple of str; run_start_s : int64[N] epoch seconds, ascending; clock is UTC and the machine's local time.
    times_s : float64[N, S]; time of each step.
    counters : float64[N, S, 13]; increments within each step, summed over the run's routers, in the order of `COUNTER_NAMES`.
    placement : float64[N, 2]; io, sys : float64[N, S, 4]; increments within each step, in the order of `IO_NAMES` and `SYS_NAMES`.
    user_names : tuple of str of length U.
    overlap, exposure : float64[N, U]; share of the run covered by the user's large jobs, and nodes near the run, as defined in
        `flitwatch_domain.neighbourhood` for this machine.
    circumstances : float64[N, 3]; a run's placement and the machine's occupancy, see `CIRCUMSTANCES` there.
    machine_nodes : float64[N]; nodes of all users' jobs at the run's start.
    """

    scenario: str
    seed: int
    application: str
    executable: str
    nodes: int
    run_key: tuple[str, ...]
    run_start_s: NDArray[np.int64]
    times_s: Float
    counters: Float
    placement: Float
    io: Float
    sys: Float
    user_names: tuple[str, ...]
    overlap: Float
    exposure: Float
    circumstances: Float
    machine_nodes: Float
    simulated: bool = True

    @property
    def run_time_s(self) -> Float:
        """Total time of each run: float64[N]."""
        return self.times_s.sum(axis=1)

    @property
    def rates(self) -> Float:
        """Counters per second of step time: float64[N, S, 13]."""
        return self.counters / self.times_s[:, :, None]

    @property
    def io_rates(self) -> Float:
        """`io` per second of step time."""
        return self.io / self.times_s[:, :, None]

    @property
    def sys_rates(self) -> Float:
        """`sys` per second of step time."""
        return self.sys / self.times_s[:, :, None]


@dataclass(frozen=True, eq=False)
class CampaignTruth:
    """Planted effects and the effect of each user, by counterfactual; for scoring only.

    Attributes
    ----------
    roles : tuple of str, length U; each user's planted role (`owner` is the last).
    effect_s : float64[N, U]; run time - run time with the same seed while the user's jobs send nothing; placement and schedule are equal.
    effect_log : float64[N, U]; log of the ratio of the two times.
    effect_sd : float64[U]; mean effect_log over the runs the user overlaps, in standard deviations of log run time.
    runs_exposed : int64[U]; number of runs that the user overlaps.
    label : tuple of str, length U; `aggressor`: a mean effect of at least 0.3 sd in at least 10 runs; `null`: below 0.05 sd; else `grey`.
    component_share : float64[6]; share of the slowdown caused by each of `COMPONENTS`.
    planted_counter : str; the local counter with the largest share (`COUNTER_NAMES`).
    planted_counters : tuple of str; local counters with at least `PLANTED_SHARE` of the slowdown, in descending order.
    slowdown : float64[N]; mean F of each run.
    """

    scenario: str
    seed: int
    roles: tuple[str, ...]
    effect_s: Float
    effect_log: Float
    effect_sd: Float
    runs_exposed: NDArray[np.int64]
    label: tuple[str, ...]
    component_share: Float
    planted_counter: str
    planted_counters: tuple[str, ...]
    slowdown: Float
    simulated: bool = True


#: Minimum number of nodes of a job in the truth.
PRESENT_NODES = 64
#: Minimum share of the slowdown for a planted counter.
PLANTED_SHARE = 0.15
#: The limits of the labels, in standard deviations of log run time.
AGGRESSOR_SD, NULL_SD, AGGRESSOR_RUNS = 0.3, 0.05, 10


def label_effects(
    effect_log: Float, overlap: Float, run_time_s: Float
) -> tuple[Float, NDArray[np.int64], tuple[str, ...]]:
    """Return each user's mean effect in standard deviations of log run time, number of exposed runs, and label."""
    exposed = (overlap > 0).sum(axis=0)
    spread = float(np.log(run_time_s).std()) or 1.0
    mean = np.where(overlap > 0, effect_log, 0.0).sum(axis=0) / np.maximum(exposed, 1) / spread
    labels = np.where(
        (mean >= AGGRESSOR_SD) & (exposed >= AGGRESSOR_RUNS), "aggressor", np.where(mean < NULL_SD, "null", "grey")
    )
    return mean, exposed.astype(np.int64), tuple(str(label) for label in labels)


def write_campaign(folder: Path, campaign: Campaign) -> None:
    """Write runs.csv (run,start,time_s,nodes), exposure.csv (run,user,amount) and steps.csv (run,step,time,counters...); a lost reading is an empty cell."""
    folder.mkdir(parents=True, exist_ok=True)
    starts, times = campaign.run_start_s.tolist(), campaign.run_time_s.tolist()
    runs = (
        (run, start, f"{time:.6g}", campaign.nodes)
        for run, start, time in zip(campaign.run_key, starts, times, strict=True)
    )
    _write_table(folder / "runs.csv", ("run", "start", "time_s", "nodes"), runs)
    met = np.argwhere(campaign.exposure > 0)
    exposure = (
        (campaign.run_key[run], campaign.user_names[user], f"{campaign.exposure[run, user]:.6g}") for run, user in met
    )
    _write_table(folder / "exposure.csv", ("run", "user", "amount"), exposure)
    steps = (
        (
            run,
            step,
            f"{campaign.times_s[at, step]:.6g}",
            *("" if np.isnan(value) else f"{value:.6g}" for value in campaign.counters[at, step]),
        )
        for at, run in enumerate(campaign.run_key)
        for step in range(campaign.times_s.shape[1])
    )
    _write_table(folder / "steps.csv", ("run", "step", "time", *COUNTER_NAMES), steps)


def write_truth(folder: Path, truth: CampaignTruth, user_names: Sequence[str]) -> None:
    """Write truth.json: effects in standard deviations of log run time, labels and roles by user; shares of the slowdown; planted counters."""
    users = [
        {"user": name, "role": role, "label": label, "effect_sd": float(effect), "runs_met": int(runs)}
        for name, role, label, effect, runs in zip(
            user_names, truth.roles, truth.label, truth.effect_sd, truth.runs_exposed, strict=True
        )
    ]
    summary = {
        "scenario": truth.scenario,
        "seed": truth.seed,
        "simulated": True,
        "users": users,
        "planted_counters": list(truth.planted_counters),
        "component_share": dict(zip(COMPONENTS, map(float, truth.component_share), strict=True)),
    }
    (folder / "truth.json").write_text(json.dumps(summary, indent=1))


def _write_table(path: Path, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        writer.writerows(rows)
