"""Numbers of keys are those of numpy.unique, by a table or without."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_routing.reconstruction.numbering import number_keys, places_among


@pytest.mark.parametrize("bound", [50, 1 << 40])
def test_as_numpy_numbers_them(bound: int) -> None:
    key = np.random.default_rng(1).integers(0, 50, 30)
    distinct, of = number_keys(key, bound)
    expected, inverse = np.unique(key, return_inverse=True)
    assert (distinct == expected).all() and (of == inverse).all()


def test_what_is_not_there_has_the_place_behind_the_last() -> None:
    assert places_among(np.array([1, 3]), 5).tolist() == [2, 0, 2, 1, 2]
