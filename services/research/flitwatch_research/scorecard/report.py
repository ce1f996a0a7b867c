"""The scorecard as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from flitwatch_ml.forecast.baselines import AVERAGED
from flitwatch_ml.work.deviation import FOLDS
from flitwatch_research.campaign import VARIANTS
from flitwatch_research.scorecard import variants
from flitwatch_research.scorecard.verdict import Check, list_checks
from flitwatch_research.stress import CALENDAR
from flitwatch_research.stress import VARIANTS as CALENDARS

HEAD = """# Scorecard

Every estimator on the cluster twin, with the paper's methods (Bhatele 2020) and ours, in scenarios from easy to hard. **All data is simulated**. The
true effects are counterfactual (the same seed without a user). They are in separate files, and only the scoring process reads them.

Generated with `{command}`, with **{seeds} {word}** of each scenario{fewer}; the command's default is 10.

"""
FORECASTERS = (
    *("attention alone", "attention", "ridge", "lightgbm"),
    *(" + ".join(names) for names in AVERAGED),
    *("ratio", "curve", "last steps"),
)
HOLDS = {True: "yes", False: "**no**", None: "–"}
Report = dict[str, Any]
Row = TypeVar("Row", bound=Mapping[str, Any])


def to_markdown(report: Report) -> str:
    """Return the whole scorecard."""
    word = "seed" if report["seeds"] == 1 else "seeds"
    return (
        HEAD.format(command=report["command"], seeds=report["seeds"], word=word, fewer=_format_missing_parts(report))
        + "".join(f"- {line}\n" for line in variants.write_headline(report))
        + _format_checks(report)
        + _format_variants()
        + _format_blame(report)
        + _format_stress(report)
        + _format_deviation(report)
        + _format_forecast(report)
        + _format_timings(report)
    )


def _format_missing_parts(report: Report) -> str:
    """List the parts with fewer sets than expected from the seeds and variants."""
    short = dict.fromkeys(part for part, *_ in report.get("lacking", ()))
    return f", but for {' and '.join(short)} (some sets were not made)" if short else ""


def format_table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(_format_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _format_cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _group_rows(rows: list[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return groups


def _format_checks(report: Report) -> str:
    results = list(list_checks(report))
    lines = [(check.what, check.published, check.wanted, check.found, HOLDS[check.holds]) for check in results]
    text = _summarize_checks(results) + _format_missing(report)
    heads = ("what", "published, or a prototype's", "wanted", "found", "holds")
    return "\n## Acceptance criteria\n\n" + text + format_table(heads, lines) + "\n"


def _summarize_checks(found: list[Check]) -> str:
    """Count the acceptance criteria that pass, that fail, and that cannot be judged; the last ones do not count as passed."""
    criteria = [check for check in found if check.is_criterion]
    successes, failed = (sum(check.holds is holds for check in criteria) for holds in (True, False))
    unjudged = [f"{check.what} ({check.found})" for check in criteria if check.holds is None]
    text = f"{successes} of {len(criteria)} criteria pass, {failed} {'does' if failed == 1 else 'do'} not (**no**)"
    if unjudged:
        text += f", {len(unjudged)} cannot be judged (–): {'; '.join(unjudged)}"
    return text + ".\n\n"


def _format_missing(report: Report) -> str:
    """List the pieces that were not computed, so that their absence does not look like success."""
    by_part = _group_rows([{"part": part, "seed": seed} for part, _, seed, _ in report.get("lacking", ())], "part")
    if not by_part:
        return ""
    names = [f"{part} ({len(rows)} pieces)" for (part,), rows in by_part.items()]
    return f"**Not made yet**, so not in these tables: {', '.join(names)}.\n\n"


def _format_variants() -> str:
    lines = [(name, variant.grade, variant.summary) for name, variant in VARIANTS.items()]
    return "## Scenarios\n\n" + format_table(("variant", "grade", "difficulty"), lines) + "\n"


def _format_blame(report: Report) -> str:
    if not report["blame"] and not report["blame_pooled"]:
        return ""
    sizes = variants.size_names()
    lines: list[tuple[Any, ...]] = []
    for variant, rows in variants.group_by_variant(report["blame"]):
        for method, own in variants.group_methods(rows).items():
            line = variants.blame_line(own)
            lines.append(
                (
                    variant,
                    method,
                    len(own),
                    variants.format_interval(line["average_precision"]),
                    f"{variants.format_interval(line['precision_at_10'])} of {line['best_at_10']:.2f}",
                    *(
                        f"{variants.format_interval((value[0], float('nan'), float('nan')))} of {n}"
                        for value, n in zip(line["recall"], line["with_effect"], strict=True)
                    ),
                    variants.format_interval(line["false_share"]),
                    line["found"],
                )
            )
    heads = (
        "variant",
        "method",
        "sets",
        "average precision",
        "precision at 10, compared with the best possible",
        *(f"recall, {size} sd" for size in sizes),
        "false share of those named",
        "named in a set",
    )
    text = (
        f"{report['users']} users. A user counts from a mean effect of {variants.EFFECT_SIZES[0]} sd of log run time over the runs "
        f"that they met; the rest are nulls.\n\nAverage precision is over "
        "all users, each weighed by the effect. Named: q at most 0.05.\n\nBrackets: 95 % intervals over seeds (bootstrap, from "
        "three seeds on; for a share, at least Wilson's). Scenarios with one seed share its machine and users.\n\n"
    )
    pooled = ""
    if report["blame_pooled"]:
        lines_pooled = [
            (
                method,
                len(own),
                variants.format_interval(variants.blame_line(own)["average_precision"]),
                variants.format_interval(variants.blame_line(own)["false_share"]),
            )
            for method, own in variants.group_methods(report["blame_pooled"]).items()
        ]
        pooled = f"\nSix sets of one machine pooled, {report['pooled_users']} users:\n\n" + format_table(
            ("method", "sets", "average precision", "false share of those named"), lines_pooled
        )
    return "## Blame\n\n" + text + format_table(heads, lines) + pooled + "\n"


def _format_deviation(report: Report) -> str:
    if not report["deviation"]:
        return ""
    lines = []
    for variant, rows in variants.group_by_variant(report["deviation"]):
        for (inputs, split), own in _group_rows(rows, "inputs", "split").items():
            planted = "; ".join(dict.fromkeys(", ".join(row["planted_counters"]) for row in own))
            figures = (
                variants.format_interval(
                    variants.bootstrap_interval([row[key] for row in own], [row["seed"] for row in own])
                )
                for key in ("planted_found", "mape", "chosen_mape", "baseline_mape")
            )
            places = ", ".join(str(row["rank_of_planted"]) for row in own)
            lines.append((variant, inputs, split, len(own), planted, places, *figures))
    heads = (
        "variant",
        "inputs",
        "split by",
        "sets",
        "planted counters, the strongest first",
        "place of the strongest, by set",
        "found of n among the first n",
        "nested MAPE %",
        "MAPE % where they were chosen",
        "mean curve's MAPE %",
    )
    text = (
        f"{FOLDS} folds, 13 counters and the placement of the runs.\n\nIn each fold, the counters are chosen on a part of the training runs, "
        f"and the error is that of the held-out runs.\n\nThe paper's random split of rows is shown to demonstrate how optimistic it "
        f"is. A count over a step also reflects the step's duration, so errors from deltas mean little.\n\n"
    )
    return "## Drivers\n\n" + text + format_table(heads, lines) + "\n"


def _format_stress(report: Report) -> str:
    if not report["stress"]:
        return ""
    lines = [
        (
            f"{variant}: {CALENDARS[variant]}",
            method,
            figures["draws"],
            variants.format_interval(figures["false_share"]),
            variants.format_interval(figures["recall"]),
            figures["named"],
        )
        for (variant, method), figures in sorted(
            variants.stress_lines(report["stress"]).items(), key=lambda item: CALENDAR.index(item[0][0])
        )
    ]
    heads = ("calendar", "method", "draws", "false share of those named", "recall of strong users", "named in a draw")
    text = (
        "There are eight strong users, twelve weak ones, and 220 users without an effect who are present for three to eight "
        "weeks.\n\nIn two of the calendars, an upgrade on one day slows all runs. `flitwatch study blame-stress` has harder "
        "calendars.\n\n"
    )
    return "## Calendar stress\n\n" + text + format_table(heads, lines) + "\n"


def _format_forecast(report: Report) -> str:
    if not (report["forecast"] or report["long"] or report["ablation"]):
        return ""
    lines = []
    forecasters = [name for name in FORECASTERS if all(name in row["mape"] for row in report["forecast"])]
    for variant, rows in variants.group_by_variant(report["forecast"]):
        best, _ = variants.select_best(rows)
        means = [variants.bootstrap_interval([row["mape"][name] for row in rows])[0] for name in forecasters]
        chosen = ", ".join(dict.fromkeys(name for row in rows for names in row["chosen"] for name in names))
        lines.append(
            (
                variant,
                len(rows),
                variants.format_interval(variants.interval_over_seeds(rows, lambda row: row["served_mape"])),
                *means,
                best,
                variants.format_interval(variants.forecast_gain(rows), "+.1%"),
                chosen,
                variants.format_interval(variants.interval_over_seeds(rows, lambda row: row["coverage90"])),
                variants.format_interval(variants.interval_over_seeds(rows, lambda row: row["fixed_coverage90"])),
            )
        )
    heads = (
        "variant",
        "sets",
        "what served, MAPE %",
        *(f"{name} MAPE %" for name in forecasters),
        "best one, known afterwards",
        "gain of the deployed forecaster",
        "what served",
        "coverage of 90 %, adaptive",
        "coverage, calibrated once",
    )
    features = ", ".join(dict.fromkeys(row["features"] for row in report["forecast"]))
    text = (
        "Forecasters are trained on earlier runs and tested on later ones, all on the same windows: 40 % of the runs, then "
        "three blocks.\n\nIn each block, the candidate or the average of candidates that earlier blocks chose is deployed. "
        "The first block is only for the choice.\n\nAttention alone is the paper's: counters and "
        "times of m steps to the time of the next k. "
        f"AMG: m 8, k 10; MILC: m 20, k 40.\n\nFeatures, chosen only on the earliest runs: {features}.\n\n"
    )
    return (
        "## Forecasts\n\n"
        + (text + format_table(heads, lines) if lines else "")
        + _format_extra_forecasts(report)
        + "\n"
    )


def _format_extra_forecasts(report: Report) -> str:
    text = ""
    if report["long"]:
        rows = [
            (row["scenario"], row["m"], row["k"], *(row["mape"].get(name) for name in FORECASTERS), row["serves"])
            for row in report["long"]
        ]
        text += "\nRuns of 620 steps in segments, by forecasters that learned from 80 steps:\n\n"
        text += format_table(("scenario", "m", "k", *FORECASTERS, "least error"), rows)
    if report["ablation"]:
        rows = [
            (
                row["scenario"],
                row["m"],
                row["k"],
                row["features"],
                *(row["mape"].get(name) for name in FORECASTERS),
                row["serves"],
            )
            for row in report["ablation"]
        ]
        text += "\nAblations, one run-wise split:\n\n"
        text += format_table(("scenario", "m", "k", "features", *FORECASTERS, "least error"), rows)
    return text


def _format_timings(report: Report) -> str:
    text = ""
    if report["timings"]:
        lines = [(row["what"], row["wall_s"], row["cpu_s"], row["bound_s"]) for row in report["timings"]]
        text = "## Timings\n\n" + format_table(("what", "wall s", "CPU s of one process", "bound s"), lines)
    efforts = [
        (part, spent["pieces"], spent["wall_s"], spent["cpu_s"])
        for part, spent in report.get("effort", {}).items()
        if spent["pieces"]
    ]
    if efforts:
        text += "\nThe table shows the time to compute the scorecard's parts with one process each, without simulating the sets:\n\n"
        text += format_table(("part", "pieces", "wall s", "CPU s"), efforts)
    return text
