"""Commands of research, which the entry points of this distribution add to `flitwatch`: module, attribute and short help by name."""

COMMANDS = {
    "study": ("flitwatch_research.commands.study", "study", "Reproduce a published study."),
    "scorecard": (
        "flitwatch_research.commands.scorecard",
        "scorecard",
        "Score the estimators against the twin's truth.",
    ),
}
BENCHMARKS = {
    "ingest": (
        "flitwatch_research.commands.bench_ingest",
        "ingest",
        "Carry a machine's counters through log, writer and database, and count them.",
    ),
}
