"""Deviation: relevance of counters for the deviation of a step's time from the mean behaviour of its application."""

from flitwatch_ml.deviation.curve import MeanCurve
from flitwatch_ml.deviation.model import DeviationModel

__all__ = ["DeviationModel", "MeanCurve"]
