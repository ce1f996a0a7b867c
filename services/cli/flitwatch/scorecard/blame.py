"""Blame on the scorecard: precision and false share by method, alone and pooled over sets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from flitwatch.scoring import score
from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.blame.strata import days, hour_and_weekend, normal_scores
from flitwatch_simulation.twin.campaign import Campaign, generate


def _estimate(fitted: Any) -> dict[str, Any]:
    q_values = [None if np.isnan(q) else float(q) for q in fitted.q_value_]
    return {"ranking": [int(user) for user in fitted.ranking_], "q": q_values}


def methods(campaign: Campaign) -> Iterator[tuple[str, Any]]:
    """(name, fitted estimator) of each method on one set."""
    times, strata = campaign.run_time_s, hour_and_weekend(campaign.run_start_s)
    yield "mi, present throughout (the paper)", PresenceBlame(rule="throughout").fit(campaign.overlap, times)
    yield "mi, any overlap, strata", PresenceBlame(rule="any").fit(campaign.overlap, times, strata)
    yield "exposure, marginal", ExposureBlame(max_selected=0).fit(campaign.exposure, times, strata)
    yield "exposure, conditional (ours)", ExposureBlame().fit(campaign.exposure, times, strata)


def rows(scenarios: tuple[str, ...], seeds: tuple[int, ...], users: int) -> Iterator[dict[str, Any]]:
    """One row a scenario, seed and method."""
    for scenario in scenarios:
        for seed in seeds:
            campaign = generate(scenario, seed, users)
            for name, fitted in methods(campaign):
                scored = score("blame", scenario, seed, users, _estimate(fitted))
                yield {"scenario": scenario, "seed": seed, "users": users, "method": name, **_figures(scored)}


def pooled_rows(scenarios: tuple[str, ...], seeds: tuple[int, ...], users: int) -> Iterator[dict[str, Any]]:
    """One row a seed: all sets of one machine pooled, clustered by day."""
    for seed in seeds:
        sets = [generate(scenario, seed, users) for scenario in scenarios]
        exposure = np.concatenate([campaign.exposure for campaign in sets])
        standard = np.concatenate([np.exp(normal_scores(campaign.run_time_s)) for campaign in sets])
        strata = np.concatenate([hour_and_weekend(campaign.run_start_s) + 100 * i for i, campaign in enumerate(sets)])
        clusters = np.concatenate([days(campaign.run_start_s) for campaign in sets])
        begun = time.process_time()
        fitted = ExposureBlame(min_exposed=8).fit(exposure, standard, strata, clusters)
        cpu_s = time.process_time() - begun
        scored = score("blame-pooled", ",".join(scenarios), seed, users, _estimate(fitted))
        yield {
            "scenario": "pooled",
            "seed": seed,
            "users": users,
            "method": "exposure, conditional, by day (ours)",
            "cpu_s": cpu_s,
            **_figures(scored),
        }


def _figures(scored: dict[str, Any]) -> dict[str, Any]:
    return {name: scored[name] for name in ("precision_at_10", "precision_aggressors", "false_share", "found")}
