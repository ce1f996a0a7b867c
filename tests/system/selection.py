"""A pytest plugin that selects the tests of one suite: the gate, or a shard of the system suite.

Without `--suite` all tests are selected, so that a file or a test can be run by name.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

from system.record import Record
from system.shards import NAMES, PROPERTIES, SHARDS

GATE = "gate"
#: Fixtures that start a foreign server: what uses one belongs to a shard without a mark of its own.
_SERVERS = {"kafka": "stores", "timescale_server": "stores", "slurm": "schedulers", "alertmanager": "processes"}
LEFT_OUT = pytest.StashKey[Counter[str]]()
RECORD = pytest.StashKey[Record]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--suite` and `--record`."""
    group = parser.getgroup("flitwatch")
    group.addoption(
        "--suite", choices=(GATE, *NAMES), help="run the gate's tests, or those of one shard of the system suite"
    )
    group.addoption(
        "--record",
        type=Path,
        help="skip tests that this file records as passed with the same sources, and add the new results",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks of the suites."""
    config.addinivalue_line(
        "markers", f"system(shard): runs in this shard of the system suite, not in the gate: {', '.join(NAMES)}"
    )
    config.addinivalue_line("markers", "smoke: runs in the gate too, as the one test of a real component")
    if config.getoption("record"):
        record = config.stash[RECORD] = Record(config.getoption("record"), config.rootpath)
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Recorder(record))


class _Recorder:
    """Records each result as soon as it is known. With pytest-xdist only the controller, which hears every report, has one."""

    def __init__(self, record: Record) -> None:
        self._record, self._run = record, uuid4().hex

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._record.add(report, self._run)


def shard_of(item: pytest.Item) -> str | None:
    """The shard of the nearest `system` mark, or of a foreign server among the fixtures; None for a test of the gate."""
    # The mark of a case comes before that of its function, which pytest lists first.
    of_case = getattr(getattr(item, "callspec", None), "marks", ())
    mark = next((mark for mark in of_case if mark.name == "system"), item.get_closest_marker("system"))
    if mark is None:
        used = set(getattr(item, "fixturenames", ()))
        return next((shard for server, shard in _SERVERS.items() if server in used), None)
    if mark.args not in {(name,) for name in NAMES}:
        raise pytest.UsageError(f"{item.nodeid}: unknown shard {mark.args}; expected one of {', '.join(NAMES)}")
    return str(mark.args[0])


def belongs(item: pytest.Item, suite: str) -> bool:
    """Whether a test is part of a suite."""
    shard = shard_of(item)
    if suite == GATE:
        return shard is None or item.get_closest_marker("smoke") is not None
    return shard == suite or (suite == PROPERTIES and item.get_closest_marker("hypothesis") is not None)


@pytest.hookimpl(trylast=True)  # Hypothesis marks its tests in this hook.
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the suite that are not recorded as passed."""
    suite = config.getoption("suite")
    if suite is None:
        return
    selected = [item for item in items if belongs(item, suite)]
    if suite == GATE:
        left_out = Counter(shard_of(item) or "" for item in items if not belongs(item, suite))
        # These run here too, with the same examples each time.
        left_out[PROPERTIES] += sum(1 for item in items if item.get_closest_marker("hypothesis") is not None)
        config.stash[LEFT_OUT] = left_out
    if RECORD in config.stash:
        record = config.stash[RECORD]
        record.expect(item.nodeid for item in selected)
        selected = [item for item in selected if not record.has_passed(item.nodeid)]
    chosen = set(selected)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = selected


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what was left out from a worker of pytest-xdist to its controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(session.config.stash.get(LEFT_OUT, Counter()))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Take what a worker left out: every worker collects the same tests."""
    left_out = getattr(node, "workeroutput", {}).get("left_out")
    if left_out:
        node.config.stash[LEFT_OUT] = Counter(left_out)  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what the gate did not run, and how to run it."""
    left_out = config.stash.get(LEFT_OUT, None)
    if not left_out:
        return
    terminalreporter.section("not run: the system suite", sep="-")
    for shard in SHARDS:
        what = f"{left_out[shard.name]:4} tests: {shard.title}"
        terminalreporter.write_line(what.ljust(56) + f"make test-system SHARD={shard.letter}")
    terminalreporter.write_line("The last results are in docs/system-tests.md.")
