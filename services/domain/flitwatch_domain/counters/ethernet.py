"""Counters of Ethernet switches as SONiC (SAI) and OpenConfig name them.

SAI: opencomputeproject/SAI, inc/saiport.h (`sai_port_stat_t`) and inc/saiqueue.h (`sai_queue_stat_t`). `EST_PORT_STAT_*`: sonic-net/SONiC,
doc/PFC_historical_statistics. OpenConfig: openconfig-interfaces.yang (`interface-counters-state`) and openconfig-qos-interfaces.yang
(`qos-queue-state`). SAI and OpenConfig have the queue's number in the key; records append it to the name.
"""

from __future__ import annotations

from functools import partial

from flitwatch_domain.counters.kinds import CounterKind, Scope
from flitwatch_domain.fabric import Technology

#: Array of a port or a lane to which a count belongs.
_FLITS, _PACKETS, _STALLS = "flits", "packets", "stall_cycles"

_port_counter = partial(CounterKind, scope=Scope.PORT, technology=Technology.ETHERNET)

_PAUSED = "Time in which the neighbour paused the priority, so that the port could not send it."

#: Counters of a switch's ports and queues. PFC pauses count as the port's stalls: counted in microseconds, stored in byte times.
ETHERNET: tuple[CounterKind, ...] = (
    _port_counter("SAI_PORT_STAT_IF_OUT_OCTETS", "port_tx_bytes", "bytes", "Bytes sent.", endpoint_column="tx_bytes", router_column="rt_flits", port_array=_FLITS),
    _port_counter("SAI_PORT_STAT_IF_IN_OCTETS", "port_rx_bytes", "bytes", "Bytes received.", endpoint_column="rx_bytes"),
    _port_counter("SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "port_tx_unicast_packets", "packets", "Unicast packets sent.", endpoint_column="tx_packets", router_column="rt_packets", port_array=_PACKETS),
    _port_counter("SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS", "port_tx_other_packets", "packets", "Multicast and broadcast packets sent.", endpoint_column="tx_packets", router_column="rt_packets", port_array=_PACKETS),
    _port_counter("SAI_PORT_STAT_IF_IN_UCAST_PKTS", "port_rx_unicast_packets", "packets", "Unicast packets received.", endpoint_column="rx_packets"),
    _port_counter("SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", "port_rx_other_packets", "packets", "Multicast and broadcast packets received.", endpoint_column="rx_packets"),
    _port_counter("SAI_PORT_STAT_IF_IN_ERRORS", "port_rx_errors", "packets", "Packets received with an error.", endpoint_column="errors"),
    _port_counter("SAI_PORT_STAT_IF_OUT_ERRORS", "port_tx_errors", "packets", "Packets not sent because of an error.", endpoint_column="errors"),
    _port_counter("SAI_PORT_STAT_IF_IN_DISCARDS", "port_rx_discards", "packets", "Packets received and dropped."),
    _port_counter("SAI_PORT_STAT_IF_OUT_DISCARDS", "port_tx_discards", "packets", "Packets dropped instead of sent.", endpoint_column="errors"),
    _port_counter("SAI_PORT_STAT_PFC_{tc}_RX_PAUSE_DURATION_US", "port_tx_paused_us", "us", _PAUSED, endpoint_column="tx_wait_cycles", router_column="rt_stall_cycles", port_array=_STALLS, lane_array=_STALLS, stall_units=1000),
    _port_counter("EST_PORT_STAT_PFC_{tc}_RX_PAUSE_DURATION_US", "port_tx_estimated_paused_us", "us", _PAUSED + " SONiC estimates it if the device does not count it.", endpoint_column="tx_wait_cycles", router_column="rt_stall_cycles", port_array=_STALLS, lane_array=_STALLS, stall_units=1000),
    _port_counter("SAI_PORT_STAT_PFC_{tc}_RX_PKTS", "port_rx_pause_frames", "packets", "Received frames that pause or resume the priority."),
    _port_counter("SAI_PORT_STAT_PFC_{tc}_TX_PKTS", "port_tx_pause_frames", "packets", "Sent frames that pause or resume the priority."),
    _port_counter("SAI_PORT_STAT_ECN_MARKED_PACKETS", "port_marked_packets", "packets", "Packets that this port marked as congested."),
    _port_counter("SAI_PORT_STAT_WRED_DROPPED_PACKETS", "port_wred_dropped_packets", "packets", "Packets dropped early because the queue was long."),
    _port_counter("SAI_QUEUE_STAT_BYTES_{queue}", "queue_tx_bytes", "bytes", "Bytes sent from the queue.", lane_array="sl_flits"),
    _port_counter("SAI_QUEUE_STAT_PACKETS_{queue}", "queue_tx_packets", "packets", "Packets sent from the queue.", lane_array=_PACKETS),
    _port_counter("SAI_QUEUE_STAT_DROPPED_PACKETS_{queue}", "queue_dropped_packets", "packets", "Packets dropped at the queue."),
    _port_counter("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS_{queue}", "queue_marked_packets", "packets", "Packets that the queue marked as congested."),
    _port_counter("out-octets", "port_tx_bytes", "bytes", "Bytes sent.", endpoint_column="tx_bytes", router_column="rt_flits", port_array=_FLITS),
    _port_counter("in-octets", "port_rx_bytes", "bytes", "Bytes received.", endpoint_column="rx_bytes"),
    _port_counter("out-pkts", "port_tx_packets", "packets", "Packets sent.", endpoint_column="tx_packets", router_column="rt_packets", port_array=_PACKETS),
    _port_counter("in-pkts", "port_rx_packets", "packets", "Packets received.", endpoint_column="rx_packets"),
    _port_counter("in-errors", "port_rx_errors", "packets", "Packets received with an error.", endpoint_column="errors"),
    _port_counter("out-errors", "port_tx_errors", "packets", "Packets not sent because of an error.", endpoint_column="errors"),
    _port_counter("in-discards", "port_rx_discards", "packets", "Packets received and dropped."),
    _port_counter("out-discards", "port_tx_discards", "packets", "Packets dropped instead of sent.", endpoint_column="errors"),
    _port_counter("in-mac-pause-frames", "port_rx_pause_frames", "packets", "Pause frames received."),
    _port_counter("out-mac-pause-frames", "port_tx_pause_frames", "packets", "Pause frames sent."),
    _port_counter("transmit-octets-{queue}", "queue_tx_bytes", "bytes", "Bytes sent from the queue.", lane_array="sl_flits"),
    _port_counter("transmit-pkts-{queue}", "queue_tx_packets", "packets", "Packets sent from the queue.", lane_array=_PACKETS),
    _port_counter("dropped-pkts-{queue}", "queue_dropped_packets", "packets", "Packets dropped at the queue."),
    _port_counter("ecn-marked-pkts-{queue}", "queue_marked_packets", "packets", "Packets that the queue marked as congested."),
)  # fmt: skip
