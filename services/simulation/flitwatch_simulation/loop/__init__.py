"""The closed loop (Taffet 2021, chapter 5), on a simulated machine or on counters that were measured; the two are never mixed.

On a simulated machine: simulate, count, reconstruct, optimise, and simulate again before anything is recommended. `machine` holds the true traffic in a
process of its own (`process`) and answers with counters, times and scores; `estimate` gets counters alone; `turn` runs both.

On measured counters: `stored` reads them and the loaded tables from the database, reconstructs and optimises with the same `estimate`, and predicts loads.

Open

- `parameters` for what a turn is given, `demand` for what simulated jobs send;
- `machine` and `process` for who knows the truth, `estimate` for who must not;
- `turn` for the order of a simulated turn and its verdict, `stored` for those of a measured one;
- `outcome` and `matrices` for the row and the parts of a recommendation;
- `task` for the same as tasks of the queue.

Nothing here loads routes: `flitwatch loop apply` does, with an operator's approval.
"""

from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.loop.turn import run_turn

__all__ = ["LoopRun", "run_turn"]
