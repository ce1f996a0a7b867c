"""Limits on the cost of one request. A request over a limit is refused with the limit's name; an answer is never truncated silently."""

from __future__ import annotations

from flitwatch_domain.errors import TooCostly

#: Rows of the tables that one series may read.
MAX_ROWS = 1_000_000
#: Bytes of counters that one window may read: VALUE_BYTES a counter, and KEY_BYTES a row for its router and time. So a window's length hangs on the size of
#: the machine and on the columns that its classes need: 110 s by the second of 32,640 routers with three classes.
MAX_BYTES = 320 << 20
VALUE_BYTES, KEY_BYTES = 8, 12
#: Buckets of a whole fabric times its routers: a year of days of 8,160 routers.
MAX_CELLS = 3_000_000
#: Rows of port counters (each holds the arrays of all ports).
MAX_PORT_ROWS = 250_000
#: Port rows whose every port is summed one by one; of a longer window only so many are read, and its sums are estimates.
MAX_WHOLE_PORT_ROWS = 60_000
SAMPLED_PORT_ROWS = 30_000
#: Numbers in one answer.
MAX_VALUES = 2_000_000
MAX_POINTS = 2_000
#: The longest step that may be asked for.
LONGEST_STEP_S = 30 * 86_400
MAX_COUNTERS = 20


def check_limit(cost: float, limit: int, name: str, what: str, advice: str = "") -> None:
    """Refuse what costs more than a limit.

    Raises
    ------
    TooCostly
    """
    if cost > limit:
        raise TooCostly(
            f"the request would take {int(cost):,} {what}; the limit {name} is {limit:,}",
            advice=advice or "Request a shorter period, fewer routers or fewer points.",
        )
