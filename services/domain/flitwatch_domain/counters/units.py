"""What counts of data and of stalls are worth, and from where a port counts as stalled: for the writer, the API and the page alike."""

from __future__ import annotations

from flitwatch_domain.cray import BYTES_PER_FLIT
from flitwatch_domain.fabric import Technology

#: Bytes of one count of `flits`; of other technologies a port's use is unknown.
COUNT_BYTES: dict[Technology, float] = {
    Technology.CRAY_XC: BYTES_PER_FLIT,
    Technology.INFINIBAND: 4.0,
    Technology.OPA: 8.0,
    Technology.ETHERNET: 1.0,
}

#: Stalls over flits at which one colour of the page ends and the next begins. A count of stalls is the time in which one count of data goes out, so 1 is
#: a port that waits as long as it sends.
STALL_CUTS: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: From here on a port is stalled: less has the colour of none.
STALLED_AT = STALL_CUTS[0]
