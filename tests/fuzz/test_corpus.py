"""Every input that fuzzing has found interesting, and every one that once broke an importer, ends in a result or a documented error."""

from __future__ import annotations

from pathlib import Path

import pytest

from flitwatch_domain.errors import FlitwatchError

from .targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("name", TARGETS)
def test_only_documented_errors_come_out(name: str) -> None:
    files = sorted((CORPUS / name).iterdir())
    assert any(file.name.startswith("seed") for file in files), "a target without a seed explores nothing"
    for file in files:
        try:
            TARGETS[name](file.read_bytes())
        except FlitwatchError:
            assert not file.name.startswith("seed"), f"{file.name} is a good input"
