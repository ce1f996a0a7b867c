"""Finite fields of p^n elements as tuples of n digits below p: what lanes by Galois fields are drawn from (Taffet 2021, section 4.4.3)."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def element_powers(prime: int, degree: int) -> NDArray[np.uint8]:
    """(prime^degree - 1, degree) digits of 1, x, x^2, ... by a primitive polynomial: every element but zero, each once.

    The polynomial is the first whose x has the full order, found by trying.
    """
    count = prime**degree - 1
    for low in itertools.product(range(prime), repeat=degree):
        elements = _power_cycle(prime, low, count)
        if len(elements) == count:
            return np.array(elements, np.uint8)
    raise AssertionError(f"every field of {prime}^{degree} elements has a primitive polynomial")


def _power_cycle(prime: int, low: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """Powers of x modulo x^n - sum low[k] x^k until they come back to 1; shorter where they do not."""
    unit = (1, *[0] * (len(low) - 1))
    element = unit
    elements: list[tuple[int, ...]] = []
    while len(elements) < most:
        elements.append(element)
        carry = element[-1]
        element = tuple((a + carry * b) % prime for a, b in zip((0, *element[:-1]), low, strict=True))
        if element == unit:
            return elements
    return []
