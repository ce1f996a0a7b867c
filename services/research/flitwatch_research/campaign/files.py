"""A campaign as input files of the estimators' commands, and its truth in a separate file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flitwatch_research.campaign.dataset import COMPONENTS, COUNTER_NAMES, Campaign, CampaignTruth


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
