"""Research commands, added to `flitwatch` by this distribution's entry points: module, attribute and short help by name.

A name of two words adds a command to a group, which can belong to the product.

Open

- `study` (with `advice_value`, `blame_stress` and `incident_study`) for published and our own studies;
- `scorecard` for all estimators;
- `ranking` for blame, `deviation` for drivers and `backtest` for forecasts,
  each on a scenario or a table;
- `sim` and `sim_packet` for collectives and packets, `topology_show` for their topologies;
- `routes_prove` for static routes;
- `twin_campaign` for months of runs, `sampler_experiment` for flows through namespaces;
- `options` for common options; `bench` with `bench_advice`, `bench_api`, `bench_import` and `bench_ingest`.
"""

_MODULES = {
    "study": ("study", "study", "Reproduce a published study."),
    "scorecard": ("scorecard", "scorecard", "Score the estimators against the twin's truth."),
    "sim": ("sim", "sim", "Simulate collectives and packets on a topology."),
    "sim packet": ("sim_packet", "packet", "Simulate packets."),
    "ranking": ("ranking", "ranking", "Rank users of a simulated or tabulated set of runs."),
    "backtest": ("backtest", "backtest", "Test every forecaster on held-out runs."),
    "deviation": ("deviation", "deviation", "Compute drivers from files: counters that predict slow steps."),
    "sampler experiment": ("sampler_experiment", "experiment", "Send flows through network namespaces."),
    "twin variants": ("twin_campaign", "variants", "List the variants of campaigns."),
    "twin campaign": ("twin_campaign", "campaign", "Simulate four months of runs of an application."),
    "topology show": ("topology_show", "show", "Show sizes and distances of a topology."),
    "routes prove": ("routes_prove", "prove", "Prove the best tables of a small tree."),
    "bench": ("bench", "bench", "Measure this installation."),
    "bench api": ("bench_api", "api", "Time the API's answers about a whole machine, while a feed is written."),
    "bench advice": ("bench_advice", "advice", "Ask for advice to schedulers at a fixed rate."),
    "bench import": ("bench_import", "import_", "Import a long text of sacct, and count its jobs."),
    "bench ingest": ("bench_ingest", "ingest", "Carry a machine's counters to the database, and count them."),
}
COMMANDS = {
    name: (f"flitwatch_research.commands.{module}", attribute, text)
    for name, (module, attribute, text) in _MODULES.items()
}
