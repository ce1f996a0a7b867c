"""Columns of the counter tables (docs/contracts/tables.md), and the counters of the deviation study."""

from __future__ import annotations

from dataclasses import dataclass

#: Value columns of router_1s, router_1m and router_1h, in the tables' order.
ROUTER_COLUMNS: tuple[str, ...] = (
    "rt_flits", "rt_packets", "rt_stall_cycles", "rt_rb_2x_cycles",
    "green_flits", "green_stall_cycles", "black_flits", "black_stall_cycles", "blue_flits", "blue_stall_cycles",
    "pt_flits", "pt_packets", "pt_vc0_flits", "pt_vc4_flits", "pt_rq_stall_cycles", "pt_rs_stall_cycles",
    "pt_cb_rq_stall_cycles", "pt_cb_rs_stall_cycles", "pt_rb_2x_cycles",
)  # fmt: skip

#: Value columns of endpoint_1s, endpoint_1m and endpoint_1h, in the tables' order.
ENDPOINT_COLUMNS: tuple[str, ...] = (
    "tx_bytes",
    "rx_bytes",
    "tx_packets",
    "rx_packets",
    "tx_wait_cycles",
    "tx_flits",
    "rx_flits",
    "rq_flits",
    "rq_stall_cycles",
    "rq_packets",
    "latency_us_sum",
    "errors",
)

#: Number of lanes that a port can count: InfiniBand's virtual lanes and service levels, or traffic classes.
LANES = 16

#: For each link class, the columns that also receive a network tile's flits and stalls.
LINK_CLASS_COLUMNS: dict[str, tuple[str, str]] = {
    name: (f"{name}_flits", f"{name}_stall_cycles") for name in ("green", "black", "blue")
}


@dataclass(frozen=True, slots=True)
class DeviationCounter:
    """One of the 13 counters of Bhatele 2020, table II."""

    abbreviation: str
    vendor: str
    column: str
    what: str
    remark: str = ""


_PAPER_SAYS_STALLS = (
    "Table II describes this counter as a total of stalled cycles; the vendor's name means packets received, and packets are "
    "stored here."
)

#: Bhatele 2020, table II: abbreviation, vendor's name, our column, counted events.
_TABLE_II = """
RT_FLIT_TOT  | AR_RTR_INQ_PRF_INCOMING_FLIT_TOTAL     | rt_flits              | Flits that came in at router tiles
RT_PKT_TOT   | AR_RTR_INQ_PRF_INCOMING_PKT_TOTAL      | rt_packets            | Packets that came in at router tiles
RT_RB_2X_USG | AR_RTR_INQ_PRF_ROWBUS_2X_USAGE_CNT     | rt_rb_2x_cycles       | Cycles in which a router tile's row bus carried two flits
RT_RB_STL    | AR_RTR_INQ_PRF_ROWBUS_STALL_CNT        | rt_stall_cycles       | Cycles in which a router tile's row bus was stalled
PT_CB_STL_RQ | AR_RTR_PT_COLBUF_PERF_STALL_RQ         | pt_cb_rq_stall_cycles | Cycles in which requests stalled in a processor tile's column buffers
PT_CB_STL_RS | AR_RTR_PT_COLBUF_PERF_STALL_RS         | pt_cb_rs_stall_cycles | Cycles in which responses stalled in a processor tile's column buffers
PT_FLIT_VC0  | AR_RTR_PT_INQ_PRF_INCOMING_FLIT_VC0    | pt_vc0_flits          | Request flits (VC 0) that came in at processor tiles
PT_FLIT_VC4  | AR_RTR_PT_INQ_PRF_INCOMING_FLIT_VC4    | pt_vc4_flits          | Response flits (VC 4) that came in at processor tiles
PT_FLIT_TOT  | AR_RTR_PT_INQ_PRF_INCOMING_FLIT_TOTAL  | pt_flits              | Flits that came in at processor tiles
PT_PKT_TOT   | AR_RTR_PT_INQ_PRF_INCOMING_PKT_TOTAL   | pt_packets            | Packets that came in at processor tiles
PT_RB_STL_RQ | AR_RTR_PT_INQ_PRF_REQ_ROWBUS_STALL_CNT | pt_rq_stall_cycles    | Cycles in which requests stalled on a processor tile's row bus
PT_RB_STL_RS | AR_RTR_PT_INQ_PRF_RSP_ROWBUS_STALL_CNT | pt_rs_stall_cycles    | Cycles in which responses stalled on a processor tile's row bus
PT_RB_2X_USG | AR_RTR_PT_INQ_PRF_ROWBUS_2X_USAGE_CNT  | pt_rb_2x_cycles       | Cycles in which a processor tile's row bus carried two flits
"""
TABLE_II: tuple[DeviationCounter, ...] = tuple(
    DeviationCounter(abbreviation, vendor, column, what, _PAPER_SAYS_STALLS if "_PKT_TOT" in abbreviation else "")
    for abbreviation, vendor, column, what in (map(str.strip, row.split("|")) for row in _TABLE_II.strip().splitlines())
)

#: LDMS counters of routers without nodes of the job (Bhatele 2020, section III-B), by table II's abbreviations.
LDMS_FOUR: tuple[str, ...] = ("RT_FLIT_TOT", "RT_RB_STL", "PT_FLIT_TOT", "PT_RB_STL_RQ")
