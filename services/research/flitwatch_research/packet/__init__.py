"""Packet-level runs with the options of `flitwatch sim packet`: `workload` builds the workload, `run` starts the engine and summarises, also in the queue.

`jobs` and `traffic` read files, `background` adds traffic on free endpoints, `traffic_classes` gives classes a share of each link, and
`link_counters` writes counters by link.
"""
