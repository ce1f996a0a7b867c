"""Reproductions of published studies, deterministic by seed.

Steps, in order: `registry` finds a study by name. `parameters` checks its parameters. A study either plans points that workers share
(`sweep`) or runs as a whole with progress and cancellation (`packet_common`). It returns JSON, and `output` writes a folder with figures.

Open

- `registry` to add a study: name, plan, run, answer, figures;
- `shared` for sweeps whose parts run on an executor;
- `published` for the papers' figures, which are written nowhere else;
- `hoefler`, `hoefler_bisection`, `hoefler_sizes`, `hoefler_figures` for Hoefler 2009: noise, bisection, sizes;
- `taffet` for Taffet 2021: routing, pF3D's diagnosis; `taffet_minighost` for miniGhost's; `taffet_sampling` for sampling error;
  `taffet_stencil` for large and small messages; `taffet_routes` for formulations of routes, and reconstructions by lanes;
- `desensi`, `desensi_applications`, `desensi_calibration` for De Sensi 2019: allocation, routing modes, application-aware routing, its factors;
- `wang`, `wang_distributions`, `wang_figures` for Wang 2018: placement against routing, by draws, ranks and channels;
- `packet_figures` for bars of packet studies; `parameters` for validating parameters.

`shared` runs them as tasks; the papers' tables are in `flitwatch_research.papers_routes`. Every result is marked as
simulated, and contains its seed.
"""
