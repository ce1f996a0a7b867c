"""`flitwatch bench`: measure this installation; each benchmark is loaded when it is named."""

from __future__ import annotations

import importlib

import click

BENCHMARKS = {
    "api": ("bench_api", "Measure the API's response times for a whole machine during ingest."),
    "advice": ("bench_advice", "Ask for advice to schedulers at a fixed rate."),
    "ingest": ("bench_ingest", "Carry a machine's counters through log, writer and database, and count them."),
    "import": ("bench_import", "Import a long text of sacct, and count its jobs."),
}


class Benchmarks(click.Group):
    """Imports a benchmark's module only when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(BENCHMARKS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in BENCHMARKS:
            return None
        command: click.Command = getattr(
            importlib.import_module(f"flitwatch.commands.{BENCHMARKS[cmd_name][0]}"),
            "import_" if cmd_name == "import" else cmd_name,
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in BENCHMARKS.items()])


@click.group(cls=Benchmarks)
def bench() -> None:
    """Measure this installation."""
