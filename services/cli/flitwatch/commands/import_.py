"""`flitwatch import`: fabrics, counters, accounting and runs from files."""

from __future__ import annotations

import click

from flitwatch.commands.imports.dragonview import dragonview
from flitwatch.commands.imports.fabric import fabric
from flitwatch.commands.imports.ldms_csv import ldms_csv
from flitwatch.commands.imports.ncl import ncl
from flitwatch.commands.imports.noise_bench import noise_bench
from flitwatch.commands.imports.routes import routes
from flitwatch.commands.imports.runs import runs
from flitwatch.commands.imports.sacct import sacct
from flitwatch.commands.imports.schedulers import clustercockpit, flux, pbs, swf
from flitwatch.console import Group


@click.group("import", cls=Group)
def import_() -> None:
    """Import fabrics, counters, accounting and runs from files.

    Data of streaming sources (accounting, ncl, ldms-csv) use the same ingest path as live data: the database's log, then the writer.
    """


for command in (fabric, routes, dragonview, sacct, pbs, flux, swf, clustercockpit, ncl, ldms_csv, noise_bench, runs):
    import_.add_command(command)
