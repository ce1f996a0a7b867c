"""The scorecard's verdicts follow from its rows, and its table says which do not hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flitwatch.commands.scorecard import PARTS
from flitwatch.main import main
from flitwatch.scorecard.pieces import Piece
from flitwatch.scorecard.report import markdown
from flitwatch.scorecard.verdict import OURS, PAPER, checks


def card(**parts: Any) -> dict[str, Any]:
    return {
        "command": "flitwatch scorecard",
        "users": 300,
        "pooled_users": 2000,
        **{name: [] for name in PARTS},
        **parts,
    }


def blamed(method: str, seed: int, precision: float, false_share: float) -> dict[str, Any]:
    return {
        "scenario": "amg-128", "seed": seed, "users": 300, "method": method, "precision_at_10": precision, "precision_aggressors": precision,
        "false_share": false_share, "found": 8,
    }  # fmt: skip


def deviated(inputs: str, split: str, mape: float, place: int) -> dict[str, Any]:
    return {
        "scenario": "milc-128", "seed": 1, "inputs": inputs, "split": split, "learner": "lightgbm", "mape": mape, "baseline_mape": 40.0,
        "planted": "RT_RB_STL", "rank_of_planted": place, "cpu_s": 1.0,
    }  # fmt: skip


def test_each_demand_is_held_against_the_rows() -> None:
    rows = [blamed(OURS, 1, 1.0, 0.1), blamed(OURS, 2, 0.7, 0.14), blamed(PAPER, 1, 0.6, 0.0)]
    deviation = [
        deviated("rates", "run", 19.0, 2),
        deviated("deltas", "run", 7.1, 9),
        deviated("deltas", "row", 6.0, 9),
    ]
    timings = [{"what": "training", "wall_s": 61.0, "cpu_s": 61.0, "bound_s": 60.0}]
    found = {one.what: one for one in checks(card(blame=rows, deviation=deviation, timings=timings))}
    assert [found[what].holds for what in found] == [False, False, True, True, False, True, False]
    assert found["blame, 300 users: precision, 2 sets"].found == "0.850 (the paper's method 0.600)"
    assert found["blame: false share, mean over 2 seeds"].found == "12.0%"
    assert found["deviation: MAPE from deltas"].found == "worst 7.10 %"


def test_the_table_says_what_does_not_hold_and_leaves_out_what_was_not_made() -> None:
    text = markdown(card(blame=[blamed(OURS, 1, 0.5, 0.0), blamed(PAPER, 1, 0.6, 0.0)]))
    assert "**no**" in text and "simulated" in text and OURS in text
    assert "long runs" not in text.split("## Who")[0] and "intervals" not in text.split("## Who")[0]


def test_a_piece_is_made_once_and_read_back(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flitwatch.scorecard import blame

    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path))
    made: list[int] = []

    def rows(scenario: str, seed: int, users: int) -> list[dict[str, Any]]:
        made.append(seed)
        return [{"scenario": scenario, "seed": seed, "precision_at_10": None}]

    monkeypatch.setattr(blame, "rows", rows)
    one, other = (Piece("blame", "blame.rows", ("amg-128", seed, 300)) for seed in (1, 2))
    first, second = one.made(), one.made()
    assert first.rows == second.rows == [{"scenario": "amg-128", "seed": 1, "precision_at_10": None}]
    assert (first.kept, second.kept, second.cpu_s) == (False, True, first.cpu_s)
    assert other.made().rows[0]["seed"] == 2 and made == [1, 2]


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
    found = {one.what: one for one in checks(card(ablation=rows))}
    assert [one.holds for one in found.values()] == [True, False, None, True]
    assert found["forecast milc-128, k 40: error falls with m"].found == "8.00 % at m 10, 8.20 % at m 20"
    assert "2 of 3 demands hold" in markdown(card(ablation=[row | {"serves": "ridge"} for row in rows]))
    naive_wins = [row | {"scenario": "amg-128", "mape": {"ridge": 9.0, "lightgbm": 9.0, "ratio": 7.0}} for row in rows]
    effect = [one for one in checks(card(ablation=naive_wins)) if "io and sys" in one.what]
    assert [one.holds for one in effect] == [False], "what changes nothing does not overfit"


def test_a_card_says_which_command_made_it(tmp_path, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path))  # nothing is kept there, so --kept makes nothing
    cards = []
    for options in ([], ["--seeds", "3", "--part", "blame", "--part", "long"]):
        main(["scorecard", "--kept", "--json", *options, "--out", str(tmp_path)])
        cards.append(json.loads(capfd.readouterr().out))
        assert f"Made by `{cards[-1]['command']}`" in (tmp_path / "scorecard.md").read_text()
    assert [one["command"] for one in cards] == [
        "flitwatch scorecard",
        "flitwatch scorecard --seeds 3 --part blame --part long",
    ]
    assert cards[0]["seeds"] == 2 and cards[0]["many"] == 20
    made = [(part, str(sets), seed, users) for part, sets, seed, users in cards[0]["lacking"]]
    assert len(set(made)) == len(made) - 1  # the smallest set once more, by the paper's learner
    assert {part for part, *_ in made} == {*PARTS} - {"timings"}
    assert (
        sum(part == "coverage" for part, *_ in made)
        == len({seed for part, _, seed, _ in made if part == "blame"})
        == 20
    )


def test_a_precision_that_no_user_qualifies_for_is_neither_held_nor_missed() -> None:
    rows = [
        {"method": f"pooled: {name}", "seed": 1, "precision_at_10": None, "precision_aggressors": 0.875}
        for name in ("exposure, conditional, by day (ours)", "mi, present throughout (the paper)")
    ]
    (found,) = checks(card(blame_pooled=rows))
    assert found.holds is None and "no user qualifies; among all aggressors 0.88" in found.found
