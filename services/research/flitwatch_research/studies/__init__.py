"""Published studies, computed again from a seed.

What happens, in order: `registry` finds a study by name; `parameters` checks what was given; a study either plans points that workers share
(`sweep`) or runs in one piece with progress and cancel (`packet_common`); it answers with JSON, and `output` writes a folder with figures.

Open

- `registry` to make a study known: name, plan, run, answer, figures;
- `shared` for sweeps whose parts an executor runs;
- `published` for the papers' own numbers, which are typed nowhere else;
- `hoefler`, `hoefler_bisection`, `hoefler_sizes`, `hoefler_figures` for Hoefler 2009: noise, bisection, sizes;
- `taffet` for Taffet 2021: routing, pF3D's diagnosis; `taffet_minighost` for miniGhost's; `taffet_sampling` for sampling error;
  `taffet_stencil` for large and small messages; `taffet_routes` for formulations of routes, and reconstructions by lanes;
- `desensi`, `desensi_applications`, `desensi_calibration` for De Sensi 2019: allocation, routing modes, application-aware routing, its factors;
- `wang`, `wang_distributions`, `wang_figures` for Wang 2018: placement against routing, by draws, ranks and channels;
- `packet_figures` for bars of packet studies; `parameters` for what may be changed.

`flitwatch_research.study_tasks` runs them as tasks; the papers' tables are `flitwatch_research.papers_routes`. Every result says that it is
simulated, and carries the seed that makes it again.
"""
