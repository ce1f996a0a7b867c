"""Acceptance criteria of the estimators and their results, computed from the scorecard's rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flitwatch_domain.blame import FOUND_Q
from flitwatch_research import stress
from flitwatch_research.scorecard import variants
from flitwatch_research.scorecard.variants import OURS, PAPER

Report = dict[str, Any]
#: Text for a figure without a criterion.
REPORTED = "reported"


@dataclass(frozen=True)
class Check:
    """One criterion: name, required value, measured value, result (None: not judged), and the value of the paper or its method."""

    what: str
    wanted: str
    found: str
    holds: bool | None
    published: str | None = None

    @property
    def is_criterion(self) -> bool:
        """Whether there is a criterion; false if the figure is only reported."""
        return self.wanted != REPORTED


def list_checks(report: Report) -> Iterator[Check]:
    """Yield all criteria on blame, deviation, forecast and speed, if the scorecard contains the part."""
    for part, check_part in (
        ("blame", _check_blame),
        ("stress", _check_stress),
        ("blame_pooled", _check_pooled),
        ("deviation", _check_deviation),
        ("forecast", _check_forecast),
        ("long", _check_long),
    ):
        if report[part]:
            yield from check_part(report)
    yield from _check_shapes(report)
    for row in report["timings"]:
        holds = row["wall_s"] <= row["bound_s"]
        yield Check(row["what"], f"at most {row['bound_s']:g} s", f"{row['wall_s']:.2f} s", holds, row.get("published"))


def _average_of(rows: list[dict[str, Any]], key: str) -> float:
    values = [row[key] for row in rows if row[key] is not None]
    return float(sum(values) / len(values)) if values else float("nan")


def _check_blame(report: Report) -> Iterator[Check]:
    for variant, rows in variants.group_by_variant(report["blame"]):
        of = {name: variants.blame_line(own) for name, own in variants.group_methods(rows).items()}
        (share, low, high), theirs = of[OURS]["false_share"], of[PAPER]["false_share"]
        text = "no user was named" if math.isnan(share) else variants.format_interval((share, low, high))
        yield Check(
            f"blame, {variant}: false share of those named",
            "at most 0.10",
            text,
            None if math.isnan(share) else share <= 0.1,
            f"the paper's method here {variants.format_interval(theirs)}",
        )
        ours = of[OURS]["average_precision"]
        best = max(of, key=lambda name: (round(of[name]["average_precision"][0], 9), name == OURS))
        yield Check(
            f"blame, {variant}: average precision over all users",
            "no other method is better",
            f"{variants.format_interval(ours)}; best: {best}",
            ours[0] >= of[best]["average_precision"][0] - 1e-9,
            f"the paper's method here {variants.format_interval(of[PAPER]['average_precision'])}",
        )
    yield from _recall(report)


#: Required recall over all variants by size of effect, in the order of `EFFECT_SIZES`; None: no requirement for small effects.
RECALL = (None, None, 0.5, 0.9)


def _recall(report: Report) -> Iterator[Check]:
    """Yield criteria on recall: it must be sufficient, and at least that of any method with as few false names."""
    of = {name: variants.blame_line(own) for name, own in variants.group_methods(report["blame"]).items()}
    careful = {name: line for name, line in of.items() if line["false_share"][0] <= FOUND_Q}
    for at, (size, least) in enumerate(zip(variants.size_names(), RECALL, strict=True)):
        ours = of[OURS]["recall"][at]
        if least is None or math.isnan(ours[0]):
            continue
        best = max(careful, key=lambda name: (careful[name]["recall"][at][0], name == OURS), default=OURS)
        yield Check(
            f"blame, all variants: recall of effects of {size} sd",
            f"at least {least:.2f}, and no less than methods with a false share of at most {FOUND_Q}",
            f"{variants.format_interval(ours)}; best of these: {best}",
            ours[0] >= max(least, of[best]["recall"][at][0]),
            f"the paper's method here {variants.format_interval(of[PAPER]['recall'][at])}",
        )


def _check_stress(report: Report) -> Iterator[Check]:
    """Yield criteria on the stress: an upgrade that slows all runs must neither lead to false names nor hide true culprits."""
    of = variants.stress_lines(report["stress"])
    calm = of["none", stress.OURS]["recall"][0]
    for variant in stress.CALENDAR:
        ours, theirs = of[variant, stress.OURS], of[variant, stress.PAPER]
        yield Check(
            f"blame, calendar {variant}, {ours['draws']} draws: false share",
            "at most 0.10",
            variants.format_interval(ours["false_share"]),
            ours["false_share"][0] <= 0.1,
            f"the paper's method here {variants.format_interval(theirs['false_share'])}",
        )
        yield Check(
            f"blame, calendar {variant}, {ours['draws']} draws: recall of strong users",
            f"at least three quarters of {calm:.2f}, without stress",
            variants.format_interval(ours["recall"]),
            ours["recall"][0] >= 0.75 * calm,
            f"the paper's method here {variants.format_interval(theirs['recall'])}",
        )


def _check_pooled(report: Report) -> Iterator[Check]:
    by_method = variants.group_methods(report["blame_pooled"])
    precision = {name: _average_of(rows, "average_precision") for name, rows in by_method.items()}
    ours, theirs = (
        next(value for name, value in precision.items() if end in name) for end in ("(ours)", "(the paper)")
    )
    what = f"blame, {report['pooled_users']} users, six sets pooled, by day: average precision"
    yield Check(what, "at least the paper's", f"{ours:.2f} (the paper's method {theirs:.2f})", ours >= theirs)


def _check_deviation(report: Report) -> Iterator[Check]:
    ours = [row for row in report["deviation"] if (row["inputs"], row["split"]) == ("rates", "run")]
    for variant, rows in variants.group_by_variant(ours):
        planted_found = variants.interval_over_seeds(rows, lambda row: row["planted_found"])
        worst = max(row["rank_of_planted"] for row in rows)
        yield Check(
            f"deviation, {variant}: place of the strongest planted counter",
            "top 3 in every set",
            f"worst {worst}; of n planted {variants.format_interval(planted_found)} among the first n",
            worst <= 3,
        )
        nested, curve = (
            variants.bootstrap_interval([row[key] for row in rows], [row["seed"] for row in rows])
            for key in ("mape", "baseline_mape")
        )
        yield Check(
            f"deviation, {variant}: nested error",
            "below the mean curve's",
            f"{nested[0]:.2f} %, the curve {curve[0]:.2f} %",
            nested[0] < curve[0],
        )


def _check_forecast(report: Report) -> Iterator[Check]:
    for variant, rows in variants.group_by_variant(report["forecast"]):
        best, _ = variants.select_best(rows)
        gain = variants.forecast_gain(rows)
        yield Check(
            f"forecast, {variant}: the deployed forecaster compared with the best candidate, known afterwards",
            "at most 1 % worse",
            f"{variants.format_interval(gain, '+.1%')} on {best}",
            gain[0] >= -0.01,
        )
        coverage = variants.interval_over_seeds(rows, lambda row: row["coverage90"])
        yield Check(
            f"forecast, {variant}: 90 % intervals, later runs",
            "88-92 %",
            variants.format_interval(coverage, ".1%"),
            0.88 <= coverage[0] <= 0.92,
            f"calibrated once {variants.format_interval(variants.interval_over_seeds(rows, lambda row: row['fixed_coverage90']), '.1%')}",
        )


def _check_long(report: Report) -> Iterator[Check]:
    for row in report["long"]:
        learned = min(row["mape"][name] for name in ("attention", "ridge", "lightgbm"))
        text = f"best learned {learned:.1f} %, ratio {row['mape']['ratio']:.1f} %; {row['serves']} has the least error"
        yield Check("forecast of long runs", REPORTED, text, None)


def _check_shapes(report: Report) -> Iterator[Check]:
    """Yield checks of the observations in Bhatele 2020, section V-C, on m, k and feature sets, from the least error in every row; one run-wise split.

    Only ridge and LightGBM show the effect of features, because the naive forecasters use none.
    """
    least: dict[str, dict[tuple[int, int, str], float]] = {}
    learned: dict[str, dict[tuple[int, int, str], float]] = {}
    for row in report["ablation"]:
        key = row["m"], row["k"], row["features"]
        errors_of = {name: value for name, value in row["mape"].items() if not name.startswith("attention")}
        least.setdefault(row["scenario"], {})[key] = min(errors_of.values())
        learned.setdefault(row["scenario"], {})[key] = min(errors_of[name] for name in ("ridge", "lightgbm"))
    for scenario, errors in least.items():
        lengths, horizons = sorted({m for m, _, _ in errors}), sorted({k for _, k, _ in errors})
        for k in horizons:
            short, long = (errors[m, k, "app"] for m in lengths)
            text = f"{short:.2f} % at m {lengths[0]}, {long:.2f} % at m {lengths[1]}"
            yield Check(f"forecast {scenario}, k {k}: error falls with m", "required", text, long < short, "falls")
        near, far = (errors[lengths[1], k, "app"] for k in horizons)
        text = f"{near:.2f} % at k {horizons[0]}, {far:.2f} % at k {horizons[1]}"
        yield Check(f"forecast {scenario}, m {lengths[1]}: error falls with k", REPORTED, text, None, "falls")
        reading = learned[scenario]
        alone, around = (reading[lengths[1], horizons[1], features] for features in ("app", "app+placement+io+sys"))
        helps = scenario.startswith("milc")
        published = "they help" if helps else "they overfit"
        text = f"ridge or LightGBM {alone:.2f} % without, {around:.2f} % with placement, io and sys"
        what = f"forecast {scenario}: what io and sys do to the error"
        yield Check(what, "the paper's shape", text, around < alone if helps else around > alone, published)
