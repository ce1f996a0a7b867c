"""The lab's form sends a study only what it takes: each field of each form is accepted by the task's model and by the study itself."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from flitwatch_domain.errors import Cancelled
from flitwatch_domain.task_models.studies import read_study
from flitwatch_research.studies import registry
from flitwatch_research.studies.registry import STUDIES

WEB = Path(__file__).resolve().parents[2] / "web/src"
FORMS: dict[str, list[dict[str, Any]]] = json.loads((WEB / "api/generated/studies.json").read_text())
CARDS = re.findall(r'study: "([^"]+)"', (WEB / "features/lab/studies.ts").read_text())


def filled(study: str, field: dict[str, Any]) -> Any:
    """A value that the form lets through."""
    if field["type"] == "choices":
        return field["choices"][:1]
    if field["type"] == "numbers":
        return [field.get("least", 0.5)]
    usual = {"integer": field.get("least", 1), "number": field.get("least", 1.0), "boolean": True}
    if field["name"] == "topology" and study.startswith("taffet"):
        return "xgft:2;32,72;1,16"
    if field["name"] == "topology" and study == "hoefler-ebb":
        return "xgft:2;4,4;1,4"  # its usual routing is a tree's
    if "topology" in field["name"]:
        return "theta" if "dragonfly" in field.get("says", "") else "torus:4,4"
    return field.get("usual", (field.get("choices") or [None])[0] or usual.get(field["type"], "theta"))


def test_every_card_has_a_form_and_every_study_a_card() -> None:
    assert sorted(CARDS) == sorted(STUDIES) == sorted(set(FORMS) & set(STUDIES))


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_takes_the_fields_of_its_form(study: str) -> None:
    """The model takes each field alone; the study takes all at once, for building its machine anew for each field takes most of the time."""
    given = {field["name"]: filled(study, field) for field in FORMS[study]}
    for name, value in given.items():
        assert read_study({"study": study, "parameters": {name: value}}).parameters.given() == {name: value}
    found = registry.find_study(study)
    if found.plan is not None:
        assert found.plan(given)
    else:
        with suppress(Cancelled):  # at its first step: what it does not know is refused before
            found.run(given, lambda *_: None, lambda: True)


def test_a_form_offers_no_field_that_another_study_has() -> None:
    names = {study: {field["name"] for field in fields} for study, fields in FORMS.items()}
    assert "runs" in names["wang-fig3"] and "runs" not in names["wang-fig2"] | names["taffet-pf3d"]
    assert "load_gib_per_s" in names["wang-fig8-10"] - names["wang-fig3"]
