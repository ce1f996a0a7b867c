"""Fixtures for all tests."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite(*(folder.name for folder in Path(__file__).parent.iterdir() if folder.is_dir()))

pytest_plugins = ["system.selection", "support.databases", "support.alertmanager", "support.browser"]

# A busy machine fails no property by its clock, and the same code has the same examples each time. New examples are drawn
# with `--hypothesis-profile=system`.
settings.register_profile("gate", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("system", settings.get_profile("gate"), derandomize=False, max_examples=400)
settings.load_profile("gate")


def pytest_collection_finish() -> None:
    """What stays to the end, every module and the plans of every test, is not looked through again at each garbage collection."""
    gc.collect()
    gc.freeze()


class FailuresAtOnce:
    """Names a test when it fails: a long run says so at its end only, and never where it is cut off."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and report.failed:
            reporter.write_line(f" {report.outcome}: {report.nodeid} ({report.when})")


def pytest_configure(config: pytest.Config) -> None:
    """Register what reports failures."""
    config.pluginmanager.register(FailuresAtOnce(config))


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    """Undo what a test's commands set up of logging in this process, such as JSON and the levels of other libraries' loggers."""
    root, excepthook = logging.getLogger(), sys.excepthook
    formatters = [(handler, handler.formatter) for handler in root.handlers]
    known = [root, *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger))]
    levels = [one.level for one in known]
    yield
    sys.excepthook = excepthook
    for handler, formatter in formatters:
        handler.setFormatter(formatter)
    for one, level in zip(known, levels, strict=True):
        if one.level != level:
            one.setLevel(level)


ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The measured data and captures next to the checkout; a test that needs them skips where they are absent."""
    place = Path(os.environ.get("FLITWATCH_SHARED", ROOT.parent / "shared"))
    if not (place / "data").is_dir():
        pytest.skip(f"needs the measured data at {place} (set FLITWATCH_SHARED)")
    return place
