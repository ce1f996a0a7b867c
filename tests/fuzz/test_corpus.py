"""All inputs that fuzzing found interesting, and all that once broke an importer, end in a result or a documented error."""

from __future__ import annotations

import pytest

from flitwatch_domain.errors import FlitwatchError

from .inputs import read_inputs
from .targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_only_documented_errors_come_out(name: str) -> None:
    names = []
    for file, data in read_inputs(name).items():
        names.append(file)
        try:
            TARGETS[name](data)
        except FlitwatchError:
            assert not file.startswith("seed"), f"{file} is a good input"
    assert any(file.startswith("seed") for file in names), "a target without a seed explores nothing"
