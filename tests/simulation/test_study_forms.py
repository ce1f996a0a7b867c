"""The lab's form sends a study only what it takes: its rule for the number of draws is held against each study's own model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from flitwatch_domain.errors import BadInput
from flitwatch_domain.task_models.studies import read_study
from flitwatch_research.studies.registry import STUDIES

PAGE = (Path(__file__).resolve().parents[2] / "web/src/features/lab/studies.ts").read_text()


def accepted(study: str, **parameters: Any) -> bool:
    try:
        read_study({"study": study, "parameters": parameters})
    except BadInput:
        return False
    return True


def test_the_form_offers_draws_where_the_study_takes_them_and_a_seed_everywhere() -> None:
    cards = re.findall(r'study: "([^"]+)"', PAGE)
    assert sorted(cards) == sorted(STUDIES)
    (rule,) = re.findall(r"takesRuns = .*?=> /(.+?)/\.test", PAGE)
    assert {name: bool(re.search(rule, name)) for name in cards} == {name: accepted(name, runs=9) for name in cards}
    assert all(accepted(name, seed=2) for name in cards)
