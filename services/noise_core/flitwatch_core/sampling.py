"""Reservoir sampling inside packets (Taffet 2021, chapter 2): hash, receivers and experiments.

Links have non-zero 32-bit numbers. H_GF is the top bit of id * d * g in GF(2^32) modulo the polynomial of CRC-32; 16-bit
packet ids are zero-extended.
"""

from __future__ import annotations

from flitwatch_core._sampling import (
    DEFAULT_G,
    OTHER_G,
    POLYNOMIAL,
    Experiment,
    OneBitReceiver,
    cycles_per_test,
    false_positive_threshold,
    gf_multiply,
    hash,
    mask_of,
)

__all__ = [
    "DEFAULT_G",
    "OTHER_G",
    "POLYNOMIAL",
    "Experiment",
    "OneBitReceiver",
    "cycles_per_test",
    "false_positive_threshold",
    "gf_multiply",
    "hash",
    "mask_of",
]
