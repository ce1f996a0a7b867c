"""The scorecard's verdicts follow from its rows, and its table marks failed criteria."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flitwatch.main import main
from flitwatch_db.tasks.executors import LocalExecutor
from flitwatch_domain.errors import FlitwatchError
from flitwatch_research.campaign import VARIANTS
from flitwatch_research.commands.scorecard import EXTRA, PARTS
from flitwatch_research.scorecard.pieces import Piece, PieceResult, compute_pieces
from flitwatch_research.scorecard.report import to_markdown
from flitwatch_research.scorecard.variants import OURS, PAPER, bootstrap_interval, wilson_interval, write_headline
from flitwatch_research.scorecard.verdict import list_checks
from flitwatch_research.scoring import _start_scorer, score_all, score_blame, score_deviation


def make_report(**parts: Any) -> dict[str, Any]:
    return {
        "command": "flitwatch scorecard",
        "seeds": 2,
        "users": 300,
        "pooled_users": 2000,
        **{name: [] for name in (*PARTS, *EXTRA)},
        **parts,
    }


def blamed(
    method: str, scenario: str, precision: float, found: int = 8, false: int = 0, seed: int = 1
) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "seed": seed,
        "users": 300,
        "method": method,
        "average_precision": precision,
        "precision_at_10": 0.8,
        "best_at_10": 1.0,
        "with_effect": [2, 3, 4, 1],
        "found_by_size": [0, 1, 4, 1],
        "found": found,
        "false": false,
        "false_share": false / found,
    }


def deviated(scenario: str, mape: float, place: int) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "seed": 1,
        "inputs": "rates",
        "split": "run",
        "definition": "ours",
        "mape": mape,
        "chosen_mape": 0.9 * mape,
        "baseline_mape": 20.0,
        "planted": "RT_RB_STL",
        "planted_counters": ["RT_RB_STL", "PT_RB_STL_RQ"],
        "planted_found": 0.5,
        "rank_of_planted": place,
        "cpu_s": 1.0,
    }


def forecast_row(scenario: str, served: float, alone: float, coverage: float = 0.9) -> dict[str, Any]:
    mape = {
        "attention alone": alone,
        "attention": 11.0,
        "ridge": 10.0,
        "lightgbm": 10.5,
        "ratio": 11.0,
        "curve": 30.0,
        "last steps": 25.0,
    }
    gain = {
        name: {"mean": 1 - served / value, "low": 0.99 - served / value, "high": 1.01 - served / value}
        for name, value in mape.items()
    }
    return {
        "scenario": scenario,
        "seed": 1,
        "m": 8,
        "k": 10,
        "features": "app",
        "mape": mape,
        "served_mape": served,
        "gain_on": gain,
        "chosen": [["ridge"]],
        "serves": ["ridge"],
        "coverage90": coverage,
        "fixed_coverage90": 0.8,
        "runs": 70,
        "windows": 210,
    }


def test_where_a_baseline_wins_the_headline_says_so() -> None:
    rows = [
        blamed(OURS, "amg-128", 0.9),
        blamed(PAPER, "amg-128", 0.7),
        blamed(OURS, "amg-128@drift", 0.5, found=4, false=2),
        blamed(PAPER, "amg-128@drift", 0.6),
    ]
    forecasts = [forecast_row("amg-128", 9.0, 10.5), forecast_row("amg-128@drift", 9.9, 9.0)]
    deviation = [deviated("amg-128", 6.0, 1), deviated("amg-128@drift", 21.0, 5)]
    blame, what, following = write_headline(make_report(blame=rows, deviation=deviation, forecast=forecasts))
    assert "in drift mi, present throughout (the paper) is better" in blame and "1 of 2 scenarios" in blame
    assert "above 0.10 in drift" in blame
    assert "The mean curve alone is better in drift" in what
    assert (
        "more than 1 % in drift (-10.0%)" in following and "Attention alone is the best candidate in drift" in following
    )
    text = to_markdown(make_report(blame=rows, deviation=deviation, forecast=forecasts))
    assert text.index("is better") < text.index("## Acceptance criteria")
    assert "**2 seeds** of each scenario" in text and "simulated" in text


def test_a_variant_in_which_ours_names_nobody_is_said() -> None:
    rows = [blamed(OURS, "amg-128", 0.9), blamed(PAPER, "amg-128", 0.7), blamed(PAPER, "amg-128@law", 0.6)]
    silent = blamed(OURS, "amg-128@law", 0.8) | {"found": 0, "false": 0, "found_by_size": [0, 0, 0, 0]}
    assert "It names no user in law." in write_headline(make_report(blame=[*rows, silent]))[0]
    assert "nobody" not in write_headline(make_report(blame=[*rows, blamed(OURS, "amg-128@law", 0.8)]))[0]


def test_each_criterion_is_compared_with_the_rows() -> None:
    rows = [blamed(OURS, "amg-128@law", 0.9, false=1), blamed(PAPER, "amg-128@law", 0.95)]
    found = {
        one.what: one.holds
        for one in list_checks(
            make_report(
                blame=rows,
                deviation=[deviated("amg-128@law", 19.0, 4)],
                forecast=[forecast_row("amg-128@law", 10.05, 10.2, 0.93)],
            )
        )
    }
    assert found == {
        "blame, law: false share of those named": False,
        "blame, law: average precision over all users": False,
        "blame, all variants: recall of effects of 0.3 to 1 sd": True,
        "blame, all variants: recall of effects of 1 and more sd": True,
        "deviation, law: place of the strongest planted counter": False,
        "deviation, law: nested error": True,
        "forecast, law: the deployed forecaster compared with the best candidate, known afterwards": True,
        "forecast, law: 90 % intervals, later runs": False,
    }


def test_variants_go_from_easy_to_hard_and_missing_ones_are_omitted() -> None:
    text = to_markdown(
        make_report(
            blame=[blamed(OURS, f"amg-128{variant}", 0.5) for variant in ("@everything", "@pairs", "")]
            + [blamed(PAPER, f"amg-128{variant}", 0.4) for variant in ("@everything", "@pairs", "")]
        )
    )
    lines = [line.split(" | ")[0] for line in text.split("## Blame")[1].splitlines() if OURS in line]
    assert lines == ["| plain", "| pairs", "| everything"]
    assert "## Forecasts" not in text


def test_blame_is_scored_over_all_users_by_their_effects() -> None:
    effect = np.array([1.2, 0.5, 0.06, 0.0, 0.04])
    truth = SimpleNamespace(effect_sd=effect, roles=("io", "io", "incast", "ordinary", "owner"))
    best = score_blame(truth, {"ranking": [0, 1, 2, 3, 4], "q": [0.01, 0.01, 0.2, None, 0.9]})
    assert best["average_precision"] == 1 and best["precision_at_10"] == 0.6 and best["best_at_10"] == 0.3
    assert best["with_effect"] == [1, 0, 1, 1] and best["found_by_size"] == [0, 0, 1, 1] and best["false"] == 0
    strong_last = score_blame(truth, {"ranking": [2, 1, 3, 4, 0], "q": [0.9, 0.9, 0.01, 0.01, 0.01]})
    weak_last = score_blame(truth, {"ranking": [0, 1, 3, 4, 2], "q": [0.9] * 5})
    assert strong_last["average_precision"] < weak_last["average_precision"] < 1
    assert (strong_last["found"], strong_last["false"], strong_last["false_share"]) == (3, 2, pytest.approx(2 / 3))


def test_one_process_scores_everything_and_outlives_a_request_that_it_cannot_answer() -> None:
    seen = []
    for scenario in ("nonsense", "amg-128@mars"):
        with pytest.raises(FlitwatchError, match="scoring failed: BadRequest"):
            score_all("blame", scenario, 1, 40, [])
        seen.append(_start_scorer().pid)
    assert seen[0] == seen[1] and _start_scorer().poll() is None
    _start_scorer().kill()
    _start_scorer().wait()
    with pytest.raises(FlitwatchError, match="its process ended"):
        score_all("blame", "nonsense", 1, 40, [])
    with pytest.raises(FlitwatchError, match="BadRequest"):
        score_all("blame", "nonsense", 1, 40, [])


def test_several_planted_counters_are_looked_for_among_the_first_as_many() -> None:
    truth = SimpleNamespace(planted_counter="b", planted_counters=("b", "d"))
    scored = score_deviation(truth, {"rank": {"a": 2.0, "b": 1.0, "c": 4.0, "d": 3.0}})
    assert (scored["rank_of_planted"], scored["planted_found"]) == (1, 0.5)


def test_intervals_are_not_made_of_too_few_sets() -> None:
    mean, low, high = bootstrap_interval([1.0, 2.0])
    assert mean == 1.5 and np.isnan(low) and np.isnan(high)
    mean, low, high = bootstrap_interval([1.0, 2.0, 3.0, 2.0])
    assert low < mean < high
    assert wilson_interval([0], [10], [1])[2] > 0.1 and np.isnan(wilson_interval([0], [0], [1])[0])


def test_variants_of_a_seed_are_one_draw_and_intervals_are_of_95_percent() -> None:
    values, seeds = [0.0, 1.0, 0.2, 0.8, 0.4, 0.5], [1, 2, 3, 4, 5, 6]
    once, again = bootstrap_interval(values, seeds), bootstrap_interval(values * 8, seeds * 8)
    assert again == pytest.approx(once), "eight variants that say the same say no more than one"
    alone = bootstrap_interval(values * 8)
    assert alone[2] - alone[1] < 0.5 * (once[2] - once[1])
    apart = bootstrap_interval(np.random.default_rng(0).normal(size=400).tolist())
    assert apart[2] - apart[1] == pytest.approx(2 * 1.96 / 20, rel=0.1)
    by_seed = wilson_interval([10, 0, 9, 1, 10, 0], [10] * 6, seeds)
    assert by_seed[0] == 0.5 and by_seed[1] < 0.2 and by_seed[2] > 0.8, "Wilson's would be 0.38 to 0.62"


def test_recall_is_demanded_of_those_who_matter() -> None:
    rows = [blamed(OURS, "amg-128", 0.9), blamed(PAPER, "amg-128", 0.7)]
    other = blamed("exposure, conditional", "amg-128", 0.8)
    what = "blame, all variants: recall of effects of 0.3 to 1 sd"

    def holds(*more: dict[str, Any]) -> bool | None:
        return next(one.holds for one in list_checks(make_report(blame=[*rows, *more])) if one.what == what)

    assert holds(other)
    for row in rows:
        row["found_by_size"] = [0, 1, 3, 1]
    assert not holds(other) and holds(other | {"false": 8, "false_share": 1.0}), "a careless method is no measure"
    for row in rows:
        row["found_by_size"] = [0, 1, 1, 1]
    assert not holds()


def test_a_piece_is_made_once_and_read_back(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flitwatch_research.scorecard import blame

    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path))
    made: list[int] = []

    def rows(scenario: str, seed: int, users: int) -> list[dict[str, Any]]:
        made.append(seed)
        return [{"scenario": scenario, "seed": seed, "precision_at_10": None}]

    monkeypatch.setattr(blame, "rows", rows)
    one, other = (Piece("blame", "blame.rows", ("amg-128", seed, 300)) for seed in (1, 2))
    ((_, first),) = compute_pieces([one], LocalExecutor(1))
    ((_, second), (_, third)) = compute_pieces([one, other], LocalExecutor(1))
    assert first.rows == second.rows == [{"scenario": "amg-128", "seed": 1, "precision_at_10": None}]
    assert (first.kept, second.kept, second.cpu_s) == (False, True, first.cpu_s)
    assert third.rows[0]["seed"] == 2 and made == [1, 2]


def test_shapes_of_the_paper_are_held_against_the_ablation_and_what_is_only_reported_is_no_verdict() -> None:
    errors = {(10, 20): 9.0, (10, 40): 8.0, (20, 20): 8.5, (20, 40): 8.2}
    rows = [
        {
            "scenario": "milc-128",
            "m": m,
            "k": k,
            "features": features,
            "mape": {"ridge": error + more, "lightgbm": error + more, "attention": 0.0},
        }
        for (m, k), error in errors.items()
        for features, more in (("app", 0.0), ("app+placement+io+sys", -0.1))
    ]
    found = {one.what: one for one in list_checks(make_report(ablation=rows))}
    assert [one.holds for one in found.values()] == [True, False, None, True]
    assert found["forecast milc-128, k 40: error falls with m"].found == "8.00 % at m 10, 8.20 % at m 20"
    assert "2 of 3 criteria pass, 1 does not (**no**).\n" in to_markdown(
        make_report(ablation=[row | {"serves": "ridge"} for row in rows])
    )
    naive_wins = [row | {"scenario": "amg-128", "mape": {"ridge": 9.0, "lightgbm": 9.0, "ratio": 7.0}} for row in rows]
    effect = [one for one in list_checks(make_report(ablation=naive_wins)) if "io and sys" in one.what]
    assert [one.holds for one in effect] == [False], "what changes nothing does not overfit"


def test_what_cannot_be_judged_is_a_criterion_that_is_not_said_to_pass() -> None:
    rows = [blamed(method, scenario, 0.9) for method in (OURS, PAPER) for scenario in ("amg-128", "amg-128@law")]
    rows[1] |= {"found": 0, "false": 0}
    assert [one.holds for one in list_checks(make_report(blame=rows))] == [True, True, None, True, True, True]
    assert (
        "5 of 6 criteria pass, 0 do not (**no**), 1 cannot be judged (–): blame, law: false share of those named (no user was named).\n"
        in to_markdown(make_report(blame=rows))
    )


def test_a_scorecard_says_which_command_made_it(tmp_path, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path))  # nothing is kept there, so --kept makes nothing
    cards = []
    for options in ([], ["--seeds", "3", "--part", "blame", "--part", "long"]):
        main(["scorecard", "--kept", "--json", *options, "--out", str(tmp_path)])
        cards.append(json.loads(capfd.readouterr().out))
        text = (tmp_path / "scorecard.md").read_text()
        assert (
            f"Generated with `{cards[-1]['command']}`" in text
            and "some sets were not made" in text
            and "Not made yet" in text
        )
    assert [one["command"] for one in cards] == [
        "flitwatch scorecard",
        "flitwatch scorecard --seeds 3 --part blame --part long",
    ]
    made = [(part, scenario, seed) for part, scenario, seed, _ in cards[0]["lacking"]]
    assert len(set(made)) == len(made) and {part for part, *_ in made} == {*PARTS}
    blame = [(scenario.partition("@")[2], seed) for part, scenario, seed in made if part == "blame"]
    assert {variant for variant, _ in blame} == {"", *VARIANTS} - {"plain", "missing"}
    assert len(blame) == 10 * (len(VARIANTS) - 1)
    assert {seed for part, _, seed in made if part == "forecast"} == set(range(1, 11))
    with pytest.raises(SystemExit):
        main(["scorecard", "--kept", "--variant", "mars"])
    assert "there is no variant 'mars'" in capfd.readouterr().err


def test_a_part_that_is_made_anew_leaves_the_others_of_the_same_scorecard(tmp_path, monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
    from flitwatch_research import stress
    from flitwatch_research.scorecard import pieces

    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pieces, "simulate_sets", lambda *_: iter(()))
    scores = iter([0.7, 0.8, 0.6, 0.5])

    def made(asked: list[Piece], _: object) -> Iterator[tuple[str, PieceResult]]:
        score = next(scores)
        for one in asked:
            rows: list[dict[str, Any]] = []
            if one.part == "blame":
                rows = [
                    {**blamed(method, one.arguments[0], score), "seed": one.arguments[1]} for method in (OURS, PAPER)
                ]
            if one.part == "stress":
                seen = {"seed": one.arguments[1], "false_share": score, "recall": score, "named": 8.0}
                calendars = [(variant, method) for variant in stress.CALENDAR for method in (stress.OURS, stress.PAPER)]
                rows = [{**seen, "scenario": variant, "method": method} for variant, method in calendars]
            yield one.part, PieceResult(rows, 1.0, 1.0, kept=False)

    monkeypatch.setattr(pieces, "compute_pieces", made)

    def report_of(*options: str) -> dict[str, Any]:
        main(["scorecard", "--seeds", "1", *options, "--out", str(tmp_path), "--json"])
        report: dict[str, Any] = json.loads(capfd.readouterr().out)
        assert json.loads((tmp_path / "scorecard.json").read_text()) == report
        return report

    first = report_of("--part", "blame", "--part", "stress")
    second = report_of("--part", "blame")
    assert {row["average_precision"] for row in second["blame"]} == {0.8}
    assert second["stress"] == first["stress"] and second["effort"]["stress"] == first["effort"]["stress"]
    assert second["command"] == first["command"] == "flitwatch scorecard --seeds 1 --part blame --part stress"
    # A scorecard of other users, or of one variant, is another scorecard.
    assert report_of("--part", "blame", "--users", "40")["stress"] == []
    one_variant = report_of("--part", "stress", "--variant", "plain")
    assert one_variant["blame"] == [] and one_variant["command"].endswith("--variant plain --part stress")
    (tmp_path / "scorecard.json").write_text("{")
    with pytest.raises(SystemExit):
        main(["scorecard", "--seeds", "1", "--part", "blame", "--out", str(tmp_path)])
    assert "scorecard.json: is not JSON" in capfd.readouterr().err
