"""`flitwatch top`: live view of a machine's hottest groups, links and jobs."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from flitwatch.console import FiniteRange, json_option, print_result
from flitwatch.hottest import SORTS, HotLists, format_headline, format_lists, load_hot_lists
from flitwatch.rest import ApiOptions, Place, api_options, open_client
from flitwatch.tables import build_table, format_plain, is_on_terminal, remove_controls
from flitwatch_domain.errors import FlitwatchError

#: Interval of checks for pressed keys, in seconds.
KEYS_S = 0.2
HELP = "q quit   s order   m next machine   r read again"


@click.command()
@click.option(
    "--fabric", metavar="NAME", help="Name or number of the machine's fabric (default: the first fabric with counters)."
)
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="ratio",
    help="Order of the lists: ratio of stalls to data sent, stalls, or data sent, in the fabric's own units. Links are always ordered by ratio.",
)
@click.option("--most", type=click.IntRange(1, 100), default=10, help="Number of rows in each list.")
@click.option("--every", "every_s", type=FiniteRange(1, 3600), default=5, help="Seconds between two reads.")
@click.option("--once", is_flag=True, help="Print the lists once. This is the default if the output is not a terminal.")
@api_options
@json_option
def top(fabric: str | None, sort: str, most: int, every_s: float, once: bool, api: ApiOptions, as_json: bool) -> None:
    """Show a machine's hottest groups, links and jobs, live. Keys: q quits, s changes the order, m shows the next machine, r refreshes.

    Without --url or a profile, the command asks the platform of this checkout.
    """
    at = api.require()
    with open_client(at) as fw:
        hot_lists = load_hot_lists(fw, fabric, sort, most)
    if as_json:
        print_result(hot_lists, True)
    elif once or not is_on_terminal() or not sys.stdin.isatty():
        _print_lists(hot_lists)
    else:
        _show_live(_Reader(at, hot_lists, most, every_s))


def _print_lists(found: HotLists) -> None:
    if is_on_terminal():
        from rich.console import Console

        Console().print(_render_page(found, ""))
        return
    print(format_headline(found))
    for title, heads, rows, text_columns in format_lists(found, False):
        print("", *(format_plain(title, heads, rows, text_columns) if rows else [f"{title}: none"]), sep="\n")


def _render_page(found: HotLists, state: str) -> Any:
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(format_headline(found), style="bold"), *([Text(state)] if state else []), Text("")]
    for title, heads, rows, text_columns in format_lists(found, True):
        parts.append(build_table(title, heads, rows, text_columns) if rows else Text(f"{title}: none\n"))
    return Group(*parts)


class _Reader:
    """Reads the lists in a separate thread, so that keys respond at once.

    Attributes
    ----------
    found : dict
        Newest lists.
    problem : str
        Error of the last read; empty if it succeeded.
    """

    def __init__(self, at: Place, found: HotLists, most: int, every_s: float) -> None:
        self.found, self.problem = found, ""
        self._at, self._most, self._every_s = at, most, every_s
        self._machine, self._sort = found["fabric"], found["sort"]
        self._asked = threading.Event()
        threading.Thread(target=self._read_repeatedly, daemon=True).start()

    def _read_repeatedly(self) -> None:
        while True:
            self._asked.wait(self._every_s)
            self._asked.clear()
            try:
                with open_client(self._at) as fw:
                    self.found = load_hot_lists(fw, self._machine, self._sort, self._most)
                self.problem = ""
            except FlitwatchError as problem:
                self.problem = str(problem)
            except Exception as unknown:
                # The thread continues, and the display shows that its data are old.
                self.problem = f"{type(unknown).__name__}: {unknown}"

    def key(self, key: str) -> None:
        if key == "s":
            self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        elif key == "m":
            machines = self.found["fabrics"]
            at = machines.index(self._machine) if self._machine in machines else -1
            self._machine = machines[(at + 1) % len(machines)]
        if key in "smr":
            self._asked.set()

    def state(self) -> str:
        """Return the key help, or the reason why the displayed data are old."""
        return f"NOT CURRENT: {remove_controls(self.problem)}" if self.problem else HELP


def _show_live(reader: _Reader) -> None:
    from rich.live import Live

    with Live(screen=True, auto_refresh=False) as live, _single_keys() as pressed:
        shown: Any = None
        while True:
            now = (reader.found, reader.state(), live.console.size)
            if now != shown:
                live.update(_render_page(*now[:2]), refresh=True)
                shown = now
            for key in pressed():
                # Ctrl-D, and the end of input.
                if key in ("q", "\x04", ""):
                    return
                reader.key(key)


@contextmanager
def _single_keys() -> Iterator[Callable[[], str]]:
    """Yield a function that waits a moment and returns the next pressed key. The terminal passes keys without Enter."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)

    def pressed() -> Any:
        if not select.select([terminal], [], [], KEYS_S)[0]:
            return []
        return os.read(terminal, 64).decode("ascii", "ignore") or [""]

    try:
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
