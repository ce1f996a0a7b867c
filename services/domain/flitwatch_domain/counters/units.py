"""Units of data and stall counts, and the limit from which a port counts as stalled; used by the writer, the API and the page."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.cray import BYTES_PER_FLIT
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_domain.units import INFINIBAND_WIDTHS

#: Bytes of one count of `flits`; for other technologies a port's utilisation is unknown.
COUNT_BYTES: dict[Technology, float] = {
    Technology.CRAY_XC: BYTES_PER_FLIT,
    Technology.INFINIBAND: 4.0,
    Technology.OPA: 8.0,
    Technology.ETHERNET: 1.0,
    Technology.SLINGSHOT: 1.0,
}
#: Technologies whose network cards count waits in an undocumented unit, so that the ratio of waiting to sending is unknown.
UNKNOWN_WAITS = frozenset({Technology.SLINGSHOT})


class Tick(NamedTuple):
    """Bytes that a switch could send in one tick of PortXmitWait, per port or per lane."""

    bytes: int
    a_lane: bool


#: NVIDIA, ibdiagnet user manual 2.13, "Congestion assessment on InfiniBand links". Other vendors do not document it.
_PORT_TICK, _LANE_TICK = Tick(8, False), Tick(32, True)
#: By device id, from The PCI ID Repository: SwitchX-2, Switch-IB, Switch-IB 2; Quantum, Quantum-2, Quantum-3 and Quantum-3 with co-packaged optics.
_TICKS = {
    **dict.fromkeys((0xC738, 0xCB20, 0xCF08), _LANE_TICK),
    **dict.fromkeys((0xD2F0, 0xD2F2, 0xD2F4, 0xD2F6), _PORT_TICK),
}
#: Switches describe themselves as `MF0;name:MODEL/U1`. NVIDIA's product pages: SX60xx and SX65xx are SwitchX, MSB77xx and MSB78xx Switch-IB and Switch-IB 2,
#: MQM87xx and MQM97xx Quantum and Quantum-2.
_MODELS = ((re.compile(r"(^|:)(SX6|MSX6|MSB7)[0-9]{3}"), _LANE_TICK), (re.compile(r"(^|:)MQM[89][0-9]{3}"), _PORT_TICK))


def tick_of(device_id: int | None, model: str) -> Tick | None:
    """Return the tick of an InfiniBand switch from its device id, or else from its model or the description that contains the model.

    None: the id is undocumented. A device without an id or model is treated as a current one (ADR 0047).
    """
    if device_id:
        return _TICKS.get(device_id)
    return next((tick for pattern, tick in _MODELS if pattern.search(model)), _PORT_TICK)


def stall_worth(fabric: Fabric) -> NDArray[np.float64]:
    """Return the counts of data that each link's sender could have sent in one unit of its stalls (`CounterKind.stall_units`), (links,); NaN: unknown.

    On Ethernet the unit is a nanosecond, and the value follows from the cable's speed. On InfiniBand it is a tick of the switch model. For adapters and
    simulated machines, the tick of Quantum switches is assumed (ADR 0047).
    """
    links = fabric.links
    if fabric.technology is not Technology.INFINIBAND:
        return np.asarray(links.bandwidth_bps / 8e9 / COUNT_BYTES.get(fabric.technology, np.nan), np.float64)
    if fabric.simulated:
        return np.full(len(links.src), _PORT_TICK.bytes / COUNT_BYTES[fabric.technology])
    ids = fabric.attributes.get("device_ids") or [None] * len(fabric.routers)
    texts = [fabric.attributes.get(key) or [""] * len(fabric.routers) for key in ("models", "descriptions")]
    ticks = [tick_of(device_id, model or described) for device_id, model, described in zip(ids, *texts, strict=True)]
    a_port = np.array([tick.bytes if tick and not tick.a_lane else np.nan for tick in ticks] + [_PORT_TICK.bytes])
    a_lane = np.array([tick.bytes if tick and tick.a_lane else np.nan for tick in ticks] + [np.nan])
    sender = np.minimum(links.src, len(fabric.routers))
    lanes = np.array([INFINIBAND_WIDTHS.get(speed, np.nan) for speed in np.round(links.bandwidth_bps).tolist()])
    return np.where(np.isnan(a_port[sender]), a_lane[sender] * lanes, a_port[sender]) / COUNT_BYTES[fabric.technology]


class _Words(NamedTuple):
    """Names of `flits`, `stall_cycles` and their ratio on a fabric, and the ratio's unit after a number."""

    flits: str
    stalls: str
    ratio: str
    amount: str


_FLITS = _Words("flits", "stall cycles", "stalls per flit", "stall cycles per flit")
_WORDS = {
    Technology.SLINGSHOT: _Words("bytes", "byte times stalled", "stalls per byte", "stalls per byte"),
    Technology.INFINIBAND: _Words("words", "word times stalled", "stalls per word", "stalls per word"),
    Technology.ETHERNET: _Words("bytes", "byte times paused", "pause ratio", "x sending time paused"),
}


def words_of(technology: str | None) -> _Words:
    """Return the terms of a fabric's technology; flits and stalls if it is unknown."""
    return _FLITS if technology is None else _WORDS.get(Technology(technology), _FLITS)


#: Stalls over flits at which the page changes colour. A count of stalls is the time to send one count of data, so at 1 a port waits as long as it
#: sends.
STALL_CUTS: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: Value from which a port counts as stalled; lower values have the colour of no stalls.
STALLED_AT = STALL_CUTS[0]
