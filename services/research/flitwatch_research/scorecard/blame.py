"""Blame on the scorecard: average precision, recall by effect size and false share by method, for single and pooled sets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from flitwatch_domain.blame import NAMED
from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame
from flitwatch_ml.blame.strata import day_numbers, hour_and_weekend, normal_scores
from flitwatch_ml.work.blame import fit_blame as served
from flitwatch_research import stress
from flitwatch_research.campaign import Campaign, generate_campaign
from flitwatch_research.scoring import BlameEstimate, BlameFigures, BlameScore, DeviationScore, score_all

Rows = Iterator[dict[str, Any]]


def _make_estimate(fitted: Any) -> BlameEstimate:
    """Return the ranking and the q-value of each user; an estimator with verdicts names only users with a verdict."""
    q_values = [None if np.isnan(q) else float(q) for q in fitted.q_value_]
    if hasattr(fitted, "verdict_"):
        q_values = [q if verdict == NAMED else None for q, verdict in zip(q_values, fitted.verdict_, strict=True)]
    return {"ranking": [int(user) for user in fitted.ranking_], "q": q_values}


def fit_methods(campaign: Campaign) -> dict[str, PresenceBlame | ExposureBlame | CalendarBlame]:
    """Return the fitted estimator of each method on one set."""
    times, strata = campaign.run_time_s, hour_and_weekend(campaign.run_start_s)
    return {
        "mi, present throughout (the paper)": PresenceBlame(rule="throughout").fit(campaign.overlap, times),
        "mi, any overlap, strata": PresenceBlame(rule="any").fit(campaign.overlap, times, strata),
        "exposure, marginal": ExposureBlame(max_selected=0).fit(campaign.exposure, times, strata),
        "exposure, conditional": ExposureBlame().fit(campaign.exposure, times, strata),
        "calendar (ours, as served)": served(
            campaign.exposure, times, campaign.run_start_s.astype(float), np.asarray(campaign.circumstances)
        ),
    }


def rows(scenario: str, seed: int, users: int) -> Rows:
    """Return one row per method."""
    fitted = fit_methods(generate_campaign(scenario, seed, users))
    scores = score_all("blame", scenario, seed, users, [_make_estimate(estimator) for estimator in fitted.values()])
    for name, scored in zip(fitted, scores, strict=True):
        yield {"scenario": scenario, "seed": seed, "users": users, "method": name, **_drop_truth(scored)}


def stress_rows(variants: tuple[str, ...], draw: int) -> Rows:
    """Return one row per calendar and method: false share of names, and recall of strong users, on one draw."""
    for variant in variants:
        for method, (false_share, recall, named) in stress.score_methods(variant, draw).items():
            yield {
                "scenario": variant,
                "seed": draw,
                "method": method,
                "false_share": false_share,
                "recall": recall,
                "named": named,
            }


def pooled_rows(scenarios: tuple[str, ...], seed: int, users: int) -> Rows:
    """Return rows for all sets of one machine pooled, clustered by day: the paper's method and ours."""
    sets = [generate_campaign(scenario, seed, users) for scenario in scenarios]
    exposure = np.concatenate([campaign.exposure for campaign in sets])
    overlap = np.concatenate([campaign.overlap for campaign in sets])
    standard = np.concatenate([np.exp(normal_scores(campaign.run_time_s)) for campaign in sets])
    strata = np.concatenate([hour_and_weekend(campaign.run_start_s) + 100 * i for i, campaign in enumerate(sets)])
    clusters = np.concatenate([day_numbers(campaign.run_start_s) for campaign in sets])
    relative = np.concatenate([campaign.run_time_s / campaign.run_time_s.mean() for campaign in sets])
    begun = time.process_time()
    ours = ExposureBlame(min_exposed=8).fit(exposure, standard, strata, clusters)
    cpu_s = time.process_time() - begun
    fitted = {
        "pooled: mi, present throughout (the paper)": PresenceBlame(rule="throughout").fit(overlap, relative),
        "pooled: exposure, conditional, by day (ours)": ours,
    }
    scores = score_all(
        "blame-pooled", ",".join(scenarios), seed, users, [_make_estimate(estimator) for estimator in fitted.values()]
    )
    for name, scored in zip(fitted, scores, strict=True):
        row = {"scenario": "pooled", "seed": seed, "users": users, "method": name, **_drop_truth(scored)}
        yield row | {"cpu_s": cpu_s if fitted[name] is ours else None}


def _drop_truth(scored: BlameScore | DeviationScore) -> BlameFigures:
    return cast(BlameFigures, {name: value for name, value in scored.items() if name != "truth"})
