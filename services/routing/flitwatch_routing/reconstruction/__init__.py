"""From switch counters to the traffic matrix (Taffet 2021, chapter 4): sparse recovery in a basis of communication patterns.

Steps, in order: `files` reads an epoch. `lanes` finds the (link, VL) of each hop. `pairs` lists the unknowns. `sensing` is the operator R.
`consistency` checks the counters. `bases` and `choice` provide a sparsifying basis. `program` scales the convex program. `pdhg` solves it with `steps`.
`settle` and `dives` end it early. `refine` fits the support. `alternatives` and `faces` estimate the reliability of the result.

Open

- `recover` for the whole process and its result; `study` for a run with known truth, which is used only for the score;
- `sensing` for chapter 4.2, `bases` for 4.3, `lanes` and `lanes_by_pair` for 4.4, `pairs` for 4.5 of Taffet 2021;
- `pdhg` and `steps` for the solver; `program` for scaling and tolerance;
- `settle`, `dives`, `refine` for turning an iterate into an exact fit;
- `alternatives`, `faces` for ambiguity; `limit` for time limits and cancel; `numbering` for dense keys;
- `ranked` for the largest pairs and the certain part of the traffic;
- `count` for counters of known traffic; `recover` never imports it.
"""
