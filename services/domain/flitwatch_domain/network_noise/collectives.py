"""Statistics of a collective's times alongside perturbation: notched boxes and a fitted line, each with its 95 % interval (Hoefler 2009, section 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Half a notch over the interquartile range and the root of the sample's size: medians whose notches do not overlap differ with 95 % confidence
#: (McGill, Tukey and Larsen, Variations of box plots, 1978).
_NOTCH = 1.57
_SHARE = 0.975


@dataclass(frozen=True)
class NotchedBox:
    """Distribution of single measurements; `notch` is the median's 95 % interval."""

    least: float
    q1: float
    median: float
    q3: float
    most: float
    notch: tuple[float, float]
    measurements: int


@dataclass(frozen=True)
class FittedLine:
    """Line fitted by least squares.

    Attributes
    ----------
    slope, intercept, slope_ci95 : of the line of values over ratios
    band : (ratio, low, fitted, high); the 95 % interval of the line at each ratio
    points : number of fitted values
    """

    slope: float
    intercept: float
    slope_ci95: tuple[float, float]
    band: tuple[tuple[float, float, float, float], ...]
    points: int


def notched_box(five: Sequence[float], measurements: int) -> NotchedBox:
    """Return the box with the given minimum, quartiles, median and maximum, in ascending order."""
    least, q1, median, q3, most = five
    half = _NOTCH * (q3 - q1) / math.sqrt(measurements)
    return NotchedBox(least, q1, median, q3, most, (median - half, median + half), measurements)


def fitted_line(ratios: Sequence[float], values: Sequence[float]) -> FittedLine | None:
    """Fit values over ratios by least squares; None for fewer than three values, or if all ratios are equal."""
    n = len(values)
    mean_x, mean_y = sum(ratios) / max(n, 1), sum(values) / max(n, 1)
    sxx = sum((x - mean_x) ** 2 for x in ratios)
    if n < 3 or sxx <= 0:
        return None
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(ratios, values, strict=True)) / sxx
    intercept = mean_y - slope * mean_x
    residual = sum((y - intercept - slope * x) ** 2 for x, y in zip(ratios, values, strict=True))
    deviation, t = math.sqrt(residual / (n - 2)), t_quantile(_SHARE, n - 2)
    half = t * deviation / math.sqrt(sxx)
    band = []
    for x in sorted(set(ratios)):
        here, off = intercept + slope * x, t * deviation * math.sqrt(1 / n + (x - mean_x) ** 2 / sxx)
        band.append((x, here - off, here, here + off))
    return FittedLine(slope, intercept, (slope - half, slope + half), tuple(band), n)


def t_quantile(share: float, degrees: int) -> float:
    """Return the value that Student's t with this many degrees of freedom does not exceed with probability `share` (0.5 to 1).

    It uses bisection on the distribution's exact finite sums (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    low, high = 0.0, 1.0
    while _t_share(high, degrees) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_share(middle, degrees) < share else (low, middle)
    return (low + high) / 2


def _t_share(t: float, degrees: int) -> float:
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    for k in range(2 + odd, degrees - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    if odd:
        inside = 2 / math.pi * (angle + (math.sin(angle) * total if degrees > 1 else 0.0))
    else:
        inside = math.sin(angle) * total
    return 0.5 + inside / 2
