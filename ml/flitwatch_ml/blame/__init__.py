"""Blame: dependence between a user's presence and a run's optimality; never proof of cause."""

from flitwatch_ml.blame.exposure import ExposureBlame
from flitwatch_ml.blame.presence import PresenceBlame
from flitwatch_ml.blame.verdict import CalendarBlame

__all__ = ["CalendarBlame", "ExposureBlame", "PresenceBlame"]
