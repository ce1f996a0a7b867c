"""From switch counters to the traffic matrix (Taffet 2021, chapter 4): sparse recovery in a basis of communication patterns.

`lanes` holds the SL-to-VL tables, `pairs` the unknowns, `sensing` the operator R, `bases` the operators Psi^-1, `pdhg` the solver, `settle` and `dives` its early end, `recover` the whole.
`count` makes counters from known traffic for studies; nothing of `recover` imports it.
"""
