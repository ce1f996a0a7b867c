"""The loop of a polling collector: counters in every round, the topology in some."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

from flitwatch_domain.heartbeat import Heartbeat

#: Number of devices or switches named in a warning.
MOST_NAMED = 5


def ask_again(
    stop: threading.Event,
    heartbeat: Heartbeat,
    interval_s: float,
    look: Callable[[bool], bool],
    discovery_s: float = 0.0,
) -> None:
    """Call `look` every `interval_s` until `stop` is set.

    Parameters
    ----------
    look : callable
        One round. Its argument says whether the topology is due; it returns whether it read the topology. If it did not, the topology is due in the next round.
    discovery_s : float
        The topology is due again after this many seconds.
    """
    next_discovery = 0.0
    while not stop.is_set():
        begun = time.monotonic()
        due = begun >= next_discovery
        if look(due) and due:
            next_discovery = begun + discovery_s
        heartbeat.wait(stop, max(0.0, interval_s - (time.monotonic() - begun)))


def format_names(names: Collection[str]) -> str:
    """Return the first few names in order, and how many more there are."""
    others = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(sorted(names)[:MOST_NAMED])}{others}"
