"""Catalogue of vendor counters: canonical name, unit, whether cumulative, and the table column of each.

`identify` maps a vendor's name as a sampler writes it (`AR_RTR_1_3_INQ_PRF_INCOMING_FLIT_VC4`, `ib_nics.port_xmit_data`,
`nics.hni_sts_tx_ok_octets`) to the catalogue's entry and the tile, NIC and virtual channel in the name.
"""

from flitwatch_domain.counters.aries import ARIES
from flitwatch_domain.counters.catalogue import CATALOGUE, identify_counter
from flitwatch_domain.counters.columns import (
    ENDPOINT_COLUMNS,
    LANES,
    LDMS_FOUR,
    LINK_CLASS_COLUMNS,
    ROUTER_COLUMNS,
    TABLE_II,
    DeviationCounter,
)
from flitwatch_domain.counters.ethernet import ETHERNET
from flitwatch_domain.counters.features import Feature, Meaning, feature_of
from flitwatch_domain.counters.kinds import CounterKind, CounterUse, Scope
from flitwatch_domain.counters.modern import INFINIBAND, OMNI_PATH, SLINGSHOT
from flitwatch_domain.counters.units import COUNT_BYTES, STALL_CUTS, STALLED_AT, UNKNOWN_WAITS

__all__ = [
    "ARIES",
    "CATALOGUE",
    "COUNT_BYTES",
    "ENDPOINT_COLUMNS",
    "ETHERNET",
    "INFINIBAND",
    "LANES",
    "LDMS_FOUR",
    "LINK_CLASS_COLUMNS",
    "OMNI_PATH",
    "ROUTER_COLUMNS",
    "SLINGSHOT",
    "STALLED_AT",
    "STALL_CUTS",
    "TABLE_II",
    "UNKNOWN_WAITS",
    "CounterKind",
    "CounterUse",
    "DeviationCounter",
    "Feature",
    "Meaning",
    "Scope",
    "feature_of",
    "identify_counter",
]
