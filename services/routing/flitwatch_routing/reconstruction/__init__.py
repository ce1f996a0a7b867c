"""From switch counters to the traffic matrix (Taffet 2021, chapter 4): sparse recovery in a basis of communication patterns.

What happens, in order: `files` reads an epoch; `lanes` finds which (link, VL) each hop takes; `pairs` lists the unknowns; `sensing` is the operator R;
`consistency` checks the counters; `bases` and `choice` give a sparsifying basis; `program` scales the convex program; `pdhg` solves it with `steps`;
`settle` and `dives` end it early; `refine` fits the support; `alternatives`, `faces` and `reach` say how far the answer can be believed.

Open

- `recover` for the whole and its result; `study` for a run whose truth is known, scored apart from it;
- `sensing` for chapter 4.2, `bases` and `sparsity` for 4.3, `lanes` and `lanes_by_pair` for 4.4, `pairs` for 4.5 of Taffet 2021;
- `pdhg` and `steps` for the solver; `program` for scaling and tolerance;
- `settle`, `dives`, `refine` for how an iterate becomes an exact fit;
- `alternatives`, `faces`, `reach` for ambiguity; `limit` for time limits and cancel; `numbering` for dense keys;
- `ranked` for the largest pairs, and how much is certain;
- `count` for counters of known traffic. Nothing of `recover` imports it.
"""
