"""The closed loop (Taffet 2021, chapter 5), on a simulated machine or on measured counters; the two are never mixed.

On a simulated machine: simulate, count, reconstruct, optimise, and simulate again before a recommendation. `machine` keeps the true traffic in a
separate process (`process`) and returns counters, times and scores. `estimate` gets only counters. `turn` runs both.

On measured counters: `stored` reads counters and loaded tables from the database, reconstructs and optimises with the same `estimate`, and predicts loads.

Open

- `parameters` for the input of a turn, `demand` for the traffic of simulated jobs;
- `machine` and `process` for the part with the truth, `estimate` for the part without it;
- `turn` for the steps of a simulated turn and its verdict, `stored` for those of a measured one;
- `outcome` and `matrices` for the row and the parts of a recommendation;
- `task` for tasks of the queue.

This package never loads routes: `flitwatch loop apply` does, with an operator's approval.
"""

from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.loop.turn import run_turn

__all__ = ["LoopRun", "run_turn"]
