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
    "one_bit_variance",
    "standard_variance",
]


def standard_variance(packets: float, path_links: float) -> float:
    """Return the variance of the standard variant's count of a link: N (l - 1) (section 2.3.2)."""
    return packets * (path_links - 1)


def one_bit_variance(packets: float, tested: float, path_links: float) -> float:
    """Return the variance of the one-bit variant's count of a link: Q l^2 - N (section 2.5.1)."""
    return tested * path_links**2 - packets
