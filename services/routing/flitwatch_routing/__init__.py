"""Traffic reconstruction, route optimisation and routing-mode choice.

Steps, in order: traffic comes from `patterns`, from a file (`matrices`, `traces`) or from counters (`reconstruction`). `tree` maps a fabric to dense slots.
`bounds` computes lower bounds of the load. `optimise` searches in the C++ core. `forwarding`, `switch_lids` and `lmc` complete the tables. `deadlock`
and the check in `optimise` reject invalid tables. `lft` writes them, and `difference` lists the changes that loading them would make.

Open

- `optimise` for the whole search, `baselines` and `greedy` for other tables, `compared` for MINHOP and the comparison;
- `bounds`, `packing` and `adaptive` for lower bounds, and the unit of a link's load;
- `cabling` for parallel cables;
- `forwarding`, `switch_lids`, `lmc` for complete linear forwarding tables; `deadlock` for channel dependency cycles;
- `traces` for DUMPI text, OTF2 archives and GOAL: operations, a matrix, and the omitted calls;
- `lft` for OpenSM's dump format; `difference` for route changes; `staging` for OpenSM's folder; `service_levels` for levels by pair;
- `port_groups` for groups of ports and their splits, the alternative to one port per entry.

The package imports the domain and the core, but neither the database nor the simulator. `flitwatch_simulation.loop` connects it to both.
"""
