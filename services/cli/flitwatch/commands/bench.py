"""`flitwatch bench`: measure this installation; each benchmark is loaded when it is named."""

from __future__ import annotations

import importlib

import click

from flitwatch.main import load_extensions

#: By name: module, attribute and short help. Entry points `flitwatch.benchmarks` of other packages add theirs.
BENCHMARKS = {
    "api": (
        "flitwatch.commands.bench_api",
        "api",
        "Time the API's answers about a whole machine, while a feed is written.",
    ),
    "advice": ("flitwatch.commands.bench_advice", "advice", "Ask for advice to schedulers at a fixed rate."),
    "import": ("flitwatch.commands.bench_import", "import_", "Import a long text of sacct, and count its jobs."),
}


def _list_benchmarks() -> dict[str, tuple[str, str, str]]:
    return BENCHMARKS | load_extensions("benchmarks")


class Benchmarks(click.Group):
    """Imports a benchmark's module only when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_list_benchmarks())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module, attribute, _ = _list_benchmarks().get(cmd_name, ("", "", ""))
        return getattr(importlib.import_module(module), attribute) if module else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _list_benchmarks().items()])


@click.group(cls=Benchmarks)
def bench() -> None:
    """Measure this installation."""
