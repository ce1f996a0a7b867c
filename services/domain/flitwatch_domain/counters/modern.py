"""Counters of InfiniBand, Omni-Path and Slingshot, named as in their LDMS samplers (ibmad, opa2, slingshot_metrics), perfquery and the fabric manager."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from flitwatch_domain.counters.kinds import CounterKind, Scope
from flitwatch_domain.fabric import Technology

_port_counter = partial(CounterKind, scope=Scope.PORT, technology=Technology.INFINIBAND)

#: IBTA PortCounters stop at their largest value (InfiniBand specification 1.4, 16.1.3.5); PortCountersExtended are wider and pass it. Data counters count
#: words of 4 bytes. The length of a wait's tick differs between devices (`counters.units.stall_worth`). Waits are stored in word times, so that stalls
#: over words is the stalled time divided by sending time (ADR 0047).
INFINIBAND: tuple[CounterKind, ...] = (
    _port_counter("port_xmit_data", "port_tx_words", "4 bytes", "Words sent on all virtual lanes.", router_column="rt_flits", endpoint_column="tx_bytes", port_array="flits", endpoint_scale=4, bits=32),
    _port_counter("port_rcv_data", "port_rx_words", "4 bytes", "Words received on all virtual lanes.", endpoint_column="rx_bytes", endpoint_scale=4, bits=32),
    _port_counter("port_xmit_packets", "port_tx_packets", "packets", "Packets sent.", router_column="rt_packets", endpoint_column="tx_packets", port_array="packets", bits=32),
    _port_counter("port_rcv_packets", "port_rx_packets", "packets", "Packets received.", endpoint_column="rx_packets", bits=32),
    _port_counter("port_xmit_wait", "port_tx_wait_ticks", "ticks", "Ticks in which data was ready but no credit let it leave.", router_column="rt_stall_cycles", endpoint_column="tx_wait_cycles", port_array="stall_cycles", stall_units=1, bits=32),
    _port_counter("port_unicast_xmit_packets", "port_tx_unicast_packets", "packets", "Unicast packets sent."),
    _port_counter("port_unicast_rcv_packets", "port_rx_unicast_packets", "packets", "Unicast packets received."),
    _port_counter("port_multicast_xmit_packets", "port_tx_multicast_packets", "packets", "Multicast packets sent."),
    _port_counter("port_multicast_rcv_packets", "port_rx_multicast_packets", "packets", "Multicast packets received."),
    _port_counter("symbol_error", "port_symbol_errors", "errors", "Minor link errors.", endpoint_column="errors", bits=16),
    _port_counter("link_error_recovery", "port_link_recoveries", "events", "Times the link recovered from an error.", bits=8),
    _port_counter("link_downed", "port_link_downs", "events", "Times the link failed to recover and went down.", bits=8),
    _port_counter("port_rcv_errors", "port_rx_errors", "packets", "Packets received with an error.", endpoint_column="errors", bits=16),
    _port_counter("port_rcv_remote_physical_errors", "port_rx_remote_errors", "packets", "Packets that an earlier switch marked as bad.", bits=16),
    _port_counter("port_rcv_switch_relay_errors", "port_relay_errors", "packets", "Packets that the switch could not forward.", bits=16),
    _port_counter("port_xmit_discards", "port_tx_discards", "packets", "Packets dropped because the port was down or congested.", endpoint_column="errors", bits=16),
    _port_counter("port_xmit_constraint_errors", "port_tx_constraint_errors", "packets", "Packets not sent because of a filter.", bits=8),
    _port_counter("port_rcv_constraint_errors", "port_rx_constraint_errors", "packets", "Packets dropped because of a filter.", bits=8),
    _port_counter("local_link_integrity_errors", "port_integrity_errors", "events", "Times local errors exceeded the threshold.", bits=4),
    _port_counter("excessive_buffer_overrun_errors", "port_overrun_errors", "events", "Times consecutive flow-control periods overran.", bits=4),
    _port_counter("xmt_data_sl{sl}", "port_tx_sl_words", "4 bytes", "Words sent at the service level.", lane_array="sl_flits", bits=32),
    _port_counter("port_vl_xmit_wait{vl}", "port_tx_vl_wait_ticks", "ticks", "Ticks in which data of the virtual lane was ready but no credit let it leave.", lane_array="stall_cycles", stall_units=1, bits=16),
    _port_counter("vl15_dropped", "port_vl15_dropped_packets", "packets", "Management packets dropped for lack of buffers.", bits=16),
)  # fmt: skip

_OPA_ONLY = (
    ("xmit_time_cong", "port_tx_congested_ticks", "ticks", "Ticks in which the port was in congested state."),
    ("xmit_wasted_bw", "port_tx_wasted_flits", "flits", "Flit times lost to lower-priority traffic."),
    ("xmit_wait_data", "port_tx_wait_data_flits", "flits", "Flit times lost because the packet's data was late."),
    ("rcv_fecn", "port_rx_fecn_packets", "packets", "Packets received with a forward congestion mark."),
    ("rcv_becn", "port_rx_becn_packets", "packets", "Packets received with a backward congestion mark."),
    ("mark_fecn", "port_marked_packets", "packets", "Packets that this port marked as congested."),
    ("rcv_bubble", "port_rx_bubbles", "flits", "Idle flits received inside packets."),
    (
        "sw_port_congestion",
        "port_congestion_discards",
        "packets",
        "Packets that a switch dropped because of congestion.",
    ),
)

#: Omni-Path uses the InfiniBand names, but a data count is one flit of 8 bytes and a tick is the time of one flit. It has its own congestion counters.
OMNI_PATH: tuple[CounterKind, ...] = (
    *(
        replace(
            entry,
            technology=Technology.OPA,
            unit="8 bytes" if entry.unit == "4 bytes" else entry.unit,
            canonical=entry.canonical.replace("_words", "_flits"),
            endpoint_scale=8.0 if entry.unit == "4 bytes" else 1.0,
            stall_units=0,
            bits=0,
        )
        for entry in INFINIBAND
    ),
    *(
        CounterKind(name, canonical, unit, text, Scope.PORT, Technology.OPA)
        for name, canonical, unit, text in _OPA_ONLY
    ),
)


def _cassini_counter(
    name: str, canonical: str, unit: str, text: str, column: str | None = None, lane: str | None = None
) -> CounterKind:
    scope, technology = Scope.NIC, Technology.SLINGSHOT
    return CounterKind(name, canonical, unit, text, scope, technology, endpoint_column=column, lane_array=lane)


def _rosetta_counter(name: str, canonical: str, unit: str, text: str, array: str) -> CounterKind:
    column = {"flits": "rt_flits", "packets": "rt_packets"}[array]
    scope, technology = Scope.PORT, Technology.SLINGSHOT
    return CounterKind(name, canonical, unit, text, scope, technology, router_column=column, port_array=array)


#: Slingshot: ports of Rosetta switches, named by the objects of RFC 2863 that RFC 3635 requires of Ethernet (one is spelt as in the fabric manager);
#: and Cassini NICs, with the traffic class in `{tc}`.
SLINGSHOT: tuple[CounterKind, ...] = (
    _rosetta_counter("IfHCOutOctets", "port_tx_bytes", "bytes", "Bytes sent, frames' headers among them.", "flits"),
    _rosetta_counter("IfHCOutUcastPkts", "port_tx_unicast_packets", "packets", "Unicast packets sent.", "packets"),
    _rosetta_counter("IfHCOutMulticastPkts", "port_tx_multicast_packets", "packets", "Multicast packets sent.", "packets"),
    _rosetta_counter("IfHCOutBroadcastPckts", "port_tx_broadcast_packets", "packets", "Broadcast packets sent.", "packets"),
    _cassini_counter("hni_sts_tx_ok_octets", "nic_tx_bytes", "bytes", "Bytes sent in good frames.", "tx_bytes"),
    _cassini_counter("hni_sts_rx_ok_octets", "nic_rx_bytes", "bytes", "Bytes received in good frames.", "rx_bytes"),
    _cassini_counter("hni_pkts_sent_by_tc_{tc}", "nic_tx_packets", "packets", "Packets sent in the traffic class.", "tx_packets", "packets"),
    _cassini_counter("hni_pkts_recv_by_tc_{tc}", "nic_rx_packets", "packets", "Packets received in the traffic class.", "rx_packets"),
    _cassini_counter("hni_tx_paused_{tc}", "nic_tx_paused_cycles", "cycles", "Cycles in which the switch paused the NIC's sending.", "tx_wait_cycles", "stall_cycles"),
    _cassini_counter("hni_rx_paused_{tc}", "nic_rx_paused_cycles", "cycles", "Cycles in which the NIC paused the switch."),
    _cassini_counter("hni_pcs_good_cw", "nic_good_codewords", "codewords", "Codewords received without an error."),
    _cassini_counter("hni_pcs_corrected_cw", "nic_corrected_codewords", "codewords", "Codewords corrected."),
    _cassini_counter("hni_pcs_uncorrected_cw", "nic_uncorrected_codewords", "codewords", "Codewords beyond correction.", "errors"),
    _cassini_counter("parbs_tarb_pi_posted_pkts", "nic_pcie_posted_packets", "packets", "PCIe packets on the posted path."),
    _cassini_counter("parbs_tarb_pi_posted_blocked_cnt", "nic_pcie_posted_blocked_cycles", "cycles", "Cycles in which the posted path was blocked."),
    _cassini_counter("parbs_tarb_pi_non_posted_pkts", "nic_pcie_non_posted_packets", "packets", "PCIe packets on the non-posted path."),
    _cassini_counter("parbs_tarb_pi_non_posted_blocked_cnt", "nic_pcie_non_posted_blocked_cycles", "cycles", "Cycles in which the non-posted path was blocked."),
    _cassini_counter("pct_trs_rsp_nack_drops", "nic_dropped_nacks", "events", "Negative acknowledgements dropped."),
)  # fmt: skip
