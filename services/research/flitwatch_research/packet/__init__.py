"""Packet-level runs by the options of `flitwatch sim packet`: `workload` makes what is sent, `run` starts the engine and sums up, `task` does the same in the queue.

`jobs` and `traffic` read files, `background` fills the endpoints that no job uses, `traffic_classes` gives classes a share of each link;
`link_counters` and `vendor_counters` write counters by link.
"""
