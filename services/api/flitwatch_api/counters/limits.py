"""Limits on the cost of one request. A request over a limit is refused with the limit's name; a response is never truncated silently."""

from __future__ import annotations

from flitwatch_domain.errors import TooCostly

#: Table rows that one series can read.
MAX_ROWS = 1_000_000
#: Bytes of counters that one window can read: VALUE_BYTES per counter, and KEY_BYTES per row for its router and time. The longest window thus depends
#: on the machine's size and on the columns of its classes: 110 s of one-second rows for 32,640 routers with three classes.
MAX_BYTES = 320 << 20
VALUE_BYTES, KEY_BYTES = 8, 12
#: Buckets of a whole fabric times its routers: a year of one-day buckets of 8,160 routers.
MAX_CELLS = 3_000_000
#: Rows of port counters (each contains the arrays of all ports).
MAX_PORT_ROWS = 250_000
#: Port rows that are read completely. For longer windows only this many are read, and the sums are estimates.
MAX_WHOLE_PORT_ROWS = 60_000
SAMPLED_PORT_ROWS = 30_000
#: Numbers in one response.
MAX_VALUES = 2_000_000
MAX_POINTS = 2_000
#: Longest step that a request can ask for.
LONGEST_STEP_S = 30 * 86_400
MAX_COUNTERS = 20


def check_limit(cost: float, limit: int, name: str, what: str, advice: str = "") -> None:
    """Refuse a cost over a limit.

    Raises
    ------
    TooCostly
    """
    if cost > limit:
        raise TooCostly(
            f"the request would take {int(cost):,} {what}; the limit {name} is {limit:,}",
            advice=advice or "Request a shorter period, fewer routers or fewer points.",
        )
