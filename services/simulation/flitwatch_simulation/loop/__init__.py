"""The closed loop (Taffet 2021, chapter 5): simulate, count, reconstruct, optimise, and simulate again before anything is recommended.

`machine` holds the true traffic in a process of its own and answers with counters, times and scores; `estimate` gets counters alone; `turn` runs both.
"""

from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.loop.turn import run

__all__ = ["LoopRun", "run"]
