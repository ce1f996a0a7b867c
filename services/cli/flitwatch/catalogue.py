"""Catalogue of the installed commands, without importing them."""

from __future__ import annotations

import importlib
import os
import sys
from functools import cache

#: command name -> (module under flitwatch.commands, attribute, short help). Entry points `flitwatch.commands` of other packages add theirs, with full
#: module names.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "up": ("up", "up", "Start the platform: database, log, writer, worker, API and page."),
    "down": ("down", "down", "Stop the platform that `up` started."),
    "status": ("status", "status", "Show what is running."),
    "doctor": ("doctor", "doctor", "Check a site before you start Flitwatch."),
    "db": ("db", "db", "Migrate, inspect and maintain the database."),
    "import": ("import_", "import_", "Import fabrics, counters, accounting and runs from files."),
    "collect": ("collect", "collect", "Collect data from a source continuously and publish them to the log."),
    "sampler": ("sampler", "sampler", "Decode marked packets on a receiving host."),
    "writer": ("writer", "writer", "Write records from the log to the database."),
    "api": ("api", "api", "Serve the API and the page."),
    "users": ("users", "users", "Create, list and change accounts."),
    "tokens": ("tokens", "tokens", "Create, list and revoke API tokens."),
    "worker": ("worker", "worker", "Run tasks from the queue."),
    "run": ("run", "run", "Run a program and report its steps."),
    "job": ("job", "job", "Explain why a job is slow, since when, and what would help."),
    "noise": ("noise", "noise", "Compare the network noise of two sets of runs."),
    "incidents": (
        "incidents",
        "incidents",
        "List incidents, or show one: which job slowed which, for how long, and at what cost.",
    ),
    "top": ("top", "top", "Show a machine's hottest groups, links and jobs, live."),
    "open": ("open", "open_", "Print the address of a job's page."),
    "alerting": ("alerting", "alerting", "Evaluate alert rules and deliver alerts."),
    "project": ("project", "project", "Report what a project lost to congestion in a month."),
    "alerts": ("alerts", "alerts", "List alerts, and test rules on past data."),
    "agent": ("agent", "agent", "Give advice to a scheduler."),
    "mail": ("mail", "mail", "Send a mail when a Slurm job ends, and say what slowed it."),
    "trial": ("trial", "trial", "Show the results of a randomised trial of advice."),
    "task": ("task", "task", "Start, watch and cancel tasks."),
    "twin": ("twin", "twin", "Run the cluster twin: a simulated machine that writes the formats of real sources."),
    "topology": ("topology", "topology", "Describe a topology."),
    "blame": ("blame", "blame", "Rank users whose jobs coincide with slow runs."),
    "blamed": ("blamed", "blamed", "List names found in several applications."),
    "drivers": ("drivers", "drivers", "Show the drivers of an application: counters that predict slow steps."),
    "forecast": ("forecast", "forecast", "Forecast the next steps or the run time of jobs."),
    "routes": ("routes", "routes", "Optimise, check and exchange static routes."),
    "traffic": ("traffic", "traffic", "Reconstruct traffic matrices from switch counters."),
    "loop": ("loop", "loop", "Run the closed loop from counters to routes."),
    "completion": ("completion", "completion", "Print the completion script of a shell."),
}

#: Groups of commands in `flitwatch --help`.
GROUPS: dict[str, tuple[str, ...]] = {
    "Watch": ("top", "incidents", "project", "alerts", "status", "open"),
    "Ask": ("job", "blame", "blamed", "drivers", "ranking", "deviation", "forecast", "backtest", "noise", "trial"),
    "Route": ("routes", "traffic", "loop"),
    "Simulate": ("sim", "study", "twin", "topology", "task", "scorecard", "bench"),
    "Connect": ("import", "collect", "sampler", "run", "agent", "mail"),
    "Operate": ("up", "down", "doctor", "db", "writer", "api", "worker", "alerting", "users", "tokens", "completion"),
}


@cache
def list_installed_commands() -> dict[str, tuple[str, str, str]]:
    """Return module, attribute and short help of each installed command."""
    # A collector's host has only some modules.
    modules = {name.partition(".")[0] for name in os.listdir(os.path.join(os.path.dirname(__file__), "commands"))}
    installed = {
        name: (f"flitwatch.commands.{module}", attribute, text)
        for name, (module, attribute, text) in COMMANDS.items()
        if module in modules
    }
    return installed | {name: entry for name, entry in load_extensions().items() if " " not in name}


@cache
def load_extensions() -> dict[str, tuple[str, str, str]]:
    """Return the commands that entry points `flitwatch.commands` of packages `flitwatch-...` add, as (module, attribute, short help) by name.

    A name of two words, such as `twin campaign`, adds a command to a group. The files are read here because `importlib.metadata` would take a third of
    the time of `flitwatch --help`.
    """
    extensions: dict[str, tuple[str, str, str]] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder)
        except OSError:
            # No folder, or one that this user cannot read.
            continue
        for name in names:
            if name.startswith("flitwatch_") and name.endswith(".dist-info"):
                for module, attribute in _read_entry_points(os.path.join(folder, name, "entry_points.txt")):
                    extensions |= getattr(importlib.import_module(module), attribute)
    return extensions


def _read_entry_points(file: str) -> list[tuple[str, str]]:
    """Return module and attribute of each entry point `flitwatch.commands`."""
    if not os.path.exists(file):
        return []
    with open(file, encoding="utf-8") as opened:
        section = opened.read().partition("[flitwatch.commands]\n")[2].partition("[")[0]
    targets = (line.partition("=")[2].strip().partition(":") for line in section.splitlines() if "=" in line)
    return [(module, attribute) for module, _, attribute in targets]
