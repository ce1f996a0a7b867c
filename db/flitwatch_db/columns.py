"""The counts of a router's and an endpoint's row, in the order of the tables and of a batch's values."""

from __future__ import annotations

ROUTER_COLUMNS: tuple[str, ...] = (
    "rt_flits", "rt_packets", "rt_stall_cycles", "rt_rb_2x_cycles",
    "green_flits", "green_stall_cycles", "black_flits", "black_stall_cycles", "blue_flits", "blue_stall_cycles",
    "pt_flits", "pt_packets", "pt_vc0_flits", "pt_vc4_flits", "pt_rq_stall_cycles", "pt_rs_stall_cycles",
    "pt_cb_rq_stall_cycles", "pt_cb_rs_stall_cycles", "pt_rb_2x_cycles",
)  # fmt: skip

ENDPOINT_COLUMNS: tuple[str, ...] = (
    "tx_bytes", "rx_bytes", "tx_packets", "rx_packets", "tx_wait_cycles", "tx_flits", "rx_flits",
    "rq_flits", "rq_stall_cycles", "rq_packets", "latency_us_sum", "errors",
)  # fmt: skip
