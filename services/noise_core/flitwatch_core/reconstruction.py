"""Passes of the reconstruction's iteration over arrays of float32 or float64. Results are written into the given arrays."""

from flitwatch_core._reconstruction import apart, ascend, descend_free, descend_pairs, fold, reflect, take

__all__ = ["apart", "ascend", "descend_free", "descend_pairs", "fold", "reflect", "take"]
