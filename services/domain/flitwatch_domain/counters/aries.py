"""Counters of Cray's Aries: router tiles, processor tiles, the netlink between them and the NICs, and the NICs.

Names are those of PAPI, AriesNCL and the LDMS samplers aries_rtr_mmr and aries_nic_mmr. If a tile's totals have no register of their own, the
virtual channels are catalogued and the totals are their sums.
"""

from __future__ import annotations

from dataclasses import replace

from flitwatch_domain.counters.kinds import CounterKind, Scope
from flitwatch_domain.fabric import Technology

_XC = Technology.CRAY_XC


def _tile_counter(
    suffix: str, canonical: str, unit: str, text: str, column: str | None, array: str | None
) -> CounterKind:
    name = "AR_RTR_{row}_{col}_" + suffix
    return CounterKind(name, canonical, unit, text, Scope.ROUTER_TILE, _XC, router_column=column, port_array=array)


def _processor_tile_counter(
    suffix: str, canonical: str, unit: str, text: str, column: str | None, array: str | None
) -> CounterKind:
    name = "AR_RTR_PT_{row}_{col}_" + suffix
    return CounterKind(name, canonical, unit, text, Scope.PROCESSOR_TILE, _XC, router_column=column, port_array=array)


def _nic_counter(name: str, canonical: str, unit: str, text: str, column: str | None) -> CounterKind:
    return CounterKind(name, canonical, unit, text, Scope.NIC, _XC, endpoint_column=column)


_FILTERED = (
    "Packets of the virtual channel that pass the tile's filter; the default filter passes every packet, but another "
    "configuration can make it count stalls."
)

ROUTER_TILES = (
    _tile_counter("INQ_PRF_INCOMING_FLIT_VC{vc}", "tile_vc_flits", "flits", "Flits that entered the tile's input queue on the virtual channel.", "rt_flits", "flits"),
    _tile_counter("INQ_PRF_INCOMING_PKT_VC{vc}_FILTER_FLIT{vc}_CNT", "tile_vc_packets", "packets", _FILTERED, "rt_packets", "packets"),
    _tile_counter("INQ_PRF_ROWBUS_STALL_CNT", "tile_stall_cycles", "cycles", "Cycles in which the input queue held a flit that the row bus did not take.", "rt_stall_cycles", "stall_cycles"),
    _tile_counter("INQ_PRF_ROWBUS_2X_USAGE_CNT", "tile_rb_2x_cycles", "cycles", "Cycles in which the tile moved two flits over the row bus.", "rt_rb_2x_cycles", None),
    _tile_counter("INQ_PRF_PKT_TO_DEAD_LINK_CNT", "tile_dead_link_packets", "packets", "Packets routed to a link that is down.", None, None),
    _tile_counter("INQ_PRF_MATCH_FLIT_3_TO_0_FILTERING_CNT", "tile_filtered_low_flits", "flits", "Flits on channels 0-3 that match the filter.", None, None),
    _tile_counter("INQ_PRF_MATCH_FLIT_7_TO_4_FILTERING_CNT", "tile_filtered_high_flits", "flits", "Flits on channels 4-7 that match the filter.", None, None),
    _tile_counter("COLBUF_PERF_STALL_RQ:COL_BUF_PERF_STALL_RQ", "tile_cb_rq_stall_cycles", "cycles", "Cycles in which a column buffer held request flits it could not send.", None, None),
    _tile_counter("COLBUF_PERF_STALL_RQ:VC_PTR", "tile_cb_rq_vc_pointer", "number", "The virtual channel that the column buffer's request stall counter watches.", None, None),
    _tile_counter("COLBUF_PERF_STALL_RS:COL_BUF_PERF_STALL_RS", "tile_cb_rs_stall_cycles", "cycles", "Cycles in which a column buffer held response flits it could not send.", None, None),
    _tile_counter("COLBUF_PERF_STALL_RS:VC_PTR", "tile_cb_rs_vc_pointer", "number", "The virtual channel that the column buffer's response stall counter watches.", None, None),
)  # fmt: skip

PROCESSOR_TILES = (
    _processor_tile_counter("INQ_PRF_INCOMING_FLIT_VC{vc}", "ptile_vc_flits", "flits", "Flits that entered the processor tile from its NIC on the virtual channel (0 requests, 4 responses).", "pt_flits", "flits"),
    _processor_tile_counter("INQ_PRF_INCOMING_PKT_VC{vc}_FILTER_FLIT{vc}_CNT", "ptile_vc_packets", "packets", _FILTERED, "pt_packets", "packets"),
    _processor_tile_counter("INQ_PRF_REQ_ROWBUS_STALL_CNT", "ptile_rq_stall_cycles", "cycles", "Cycles in which request flits waited for the row bus.", "pt_rq_stall_cycles", "stall_cycles"),
    _processor_tile_counter("INQ_PRF_RSP_ROWBUS_STALL_CNT", "ptile_rs_stall_cycles", "cycles", "Cycles in which response flits waited for the row bus.", "pt_rs_stall_cycles", "stall_cycles"),
    _processor_tile_counter("INQ_PRF_ROWBUS_2X_USAGE_CNT", "ptile_rb_2x_cycles", "cycles", "Cycles in which the tile moved two flits over the row bus.", "pt_rb_2x_cycles", None),
    _processor_tile_counter("COLBUF_PERF_STALL_RQ", "ptile_cb_rq_stall_cycles", "cycles", "Cycles in which request flits waited to leave towards the NIC.", "pt_cb_rq_stall_cycles", None),
    _processor_tile_counter("COLBUF_PERF_STALL_RS", "ptile_cb_rs_stall_cycles", "cycles", "Cycles in which response flits waited to leave towards the NIC.", "pt_cb_rs_stall_cycles", None),
    _processor_tile_counter("INQ_PRF_PKT_TO_DEAD_LINK_CNT", "ptile_dead_link_packets", "packets", "Packets routed to a link that is down.", None, None),
    _processor_tile_counter("INQ_PRF_MATCH_FLIT_3_TO_0_FILTERING_CNT", "ptile_filtered_low_flits", "flits", "Flits on channels 0-3 that match the filter.", None, None),
    _processor_tile_counter("INQ_PRF_MATCH_FLIT_7_TO_4_FILTERING_CNT", "ptile_filtered_high_flits", "flits", "Flits on channels 4-7 that match the filter.", None, None),
)  # fmt: skip


def _list_netlink_counters() -> tuple[CounterKind, ...]:
    entries = []
    columns = {"FLITS": ("flits", "flits"), "PKTS": ("packets", "packets"), "STALLED": ("stall_cycles", "cycles")}
    for message, word in (("REQ", "request"), ("RSP", "response")):
        for route, direction, text in (
            ("PTILES_TO_NIC_{nic}", "rx", "from the network to the NIC"),
            ("NIC_{nic}_TO_PTILES", "tx", "from the NIC to the network"),
        ):
            for suffix, (what, unit) in columns.items():
                column = {"flits": f"{direction}_flits", "packets": f"{direction}_packets"}.get(what)
                column = "tx_wait_cycles" if (what, direction) == ("stall_cycles", "tx") else column
                described = f"{what.replace('_', ' ').capitalize()} of {word}s {text}."
                entries.append(
                    _nic_counter(
                        f"AR_NL_PRF_{message}_{route}_{suffix}",
                        f"nic_{direction}_{word}_{what}",
                        unit,
                        described,
                        column,
                    )
                )
        for direction in ("IN", "OUT"):
            for suffix in ("FLITS", "PKTS"):
                what, unit = columns[suffix]
                text = f"{what.capitalize()} of {word}s that pass the processor tile {direction.lower()}wards."
                name = f"AR_NL_PRF_PTILE_{{tile}}_{message}_{direction}_NW_{suffix}"
                entries.append(
                    CounterKind(name, f"ptile_{direction.lower()}_{word}_{what}", unit, text, Scope.PROCESSOR_TILE, _XC)
                )
    return tuple(entries)


def _response_monitor() -> tuple[CounterKind, ...]:
    units = {"PKTS": ("packets", "packets"), "FLITS": ("flits", "flits"), "STALLED": ("stall_cycles", "cycles")}
    units["BLOCKED"] = ("blocked_cycles", "cycles")
    parts = {"PI": "processor interface", "AMO": "atomic memory operation", "WC": "write combining"}
    parts |= {"BTE_RD": "block transfer engine's read", "IOMMU": "I/O memory management"}
    return tuple(
        _nic_counter(
            f"AR_NIC_RSPMON_PARB_EVENT_CNTR_{part}_{suffix}",
            f"nic_{part.lower()}_{what}",
            unit,
            f"{what.replace('_', ' ').capitalize()} of the {words} path of the NIC.",
            None,
        )
        for part, words in parts.items()
        for suffix, (what, unit) in units.items()
    )


NICS = (
    _nic_counter("AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS", "nic_request_flits", "flits", "Request flits that the NIC sent.", "rq_flits"),
    _nic_counter("AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_STALLED", "nic_request_stall_cycles", "cycles", "NIC cycles in which request flits waited for the network.", "rq_stall_cycles"),
    _nic_counter("AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_PKTS", "nic_request_packets", "packets", "Request packets that the NIC sent.", "rq_packets"),
    _nic_counter("AR_NIC_ORB_PRF_REQ_BYTES_SENT", "nic_tx_bytes", "bytes", "Payload bytes of requests sent.", "tx_bytes"),
    _nic_counter("AR_NIC_RAT_PRF_REQ_BYTES_RCVD", "nic_rx_bytes", "bytes", "Payload bytes of requests received.", "rx_bytes"),
    _nic_counter("AR_NIC_ORB_PRF_RSP_BYTES_RCVD", "nic_response_bytes", "bytes", "Payload bytes of responses received.", None),
    _nic_counter("AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_FLITS", "nic_response_flits", "flits", "Response flits that the NIC received.", None),
    _nic_counter("AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_PKTS", "nic_response_packets", "packets", "Response packets that the NIC received.", None),
    _nic_counter("AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_STALLED", "nic_response_stall_cycles", "cycles", "NIC cycles in which response flits waited.", None),
    _nic_counter("AR_NIC_ORB_PRF_NET_RSP_TRACK_2", "nic_latency_us", "us", "Sum over tracked requests of the time from sending to the response (De Sensi 2019, section III).", "latency_us_sum"),
    _nic_counter("AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_NET_TRACK", "nic_tracked_responses", "responses", "Responses whose latency was tracked.", None),
)  # fmt: skip


def _without_tile(entry: CounterKind) -> CounterKind:
    """Return the same counter summed over a router's tiles, as derived sets name it (Bhatele 2020, table II)."""
    name = (
        entry.name.replace("{row}_{col}_", "").replace("VC{vc}_FILTER_FLIT{vc}_CNT", "TOTAL").replace("VC{vc}", "TOTAL")
    )
    canonical = entry.canonical.replace("tile_vc_", "tile_").replace("tile_", "tiles_")
    return replace(entry, name=name, canonical=canonical, port_array=None)


_TOTALS = tuple(_without_tile(entry) for entry in (*ROUTER_TILES[:4], *PROCESSOR_TILES[:7]))
#: Derived sets contain it in addition to TOTAL, so it feeds only its channel's column.
_CHANNEL_TOTAL = replace(
    PROCESSOR_TILES[0],
    name="AR_RTR_PT_INQ_PRF_INCOMING_FLIT_VC{vc}",
    canonical="ptiles_vc_flits",
    router_column=None,
    port_array=None,
)

ARIES: tuple[CounterKind, ...] = (
    *ROUTER_TILES,
    *PROCESSOR_TILES,
    *_list_netlink_counters(),
    *NICS,
    *_response_monitor(),
    *_TOTALS,
    _CHANNEL_TOTAL,
)
