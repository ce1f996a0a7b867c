"""Traffic reconstruction, route optimisation and routing-mode choice.

What happens, in order: traffic comes from `patterns`, from a file (`matrices`, `traces`) or from counters (`reconstruction`); `tree` makes dense slots of a fabric;
`bounds` says how good tables could be; `optimise` searches in the C++ core; `forwarding`, `switch_lids` and `lmc` complete the tables; `deadlock` and
the check of `optimise` refuse what would not work; `lft` writes them, `difference` says what loading them would change.

Open

- `optimise` for the whole, `baselines`, `minhop` and `greedy` for other tables, `compared` for the comparison;
- `bounds`, `packing` and `adaptive` for lower bounds; `weighting` for what a link's load counts;
- `cabling` for parallel cables;
- `forwarding`, `switch_lids`, `lmc` for complete linear forwarding tables; `deadlock` for channel dependency cycles;
- `traces` for DUMPI text, OTF2 archives and GOAL: operations, a matrix, what was left out;
- `lft` for OpenSM's dump format; `difference` for route changes; `staging` for OpenSM's folder; `service_levels` for levels by pair;
- `port_groups` for groups of ports and their splits, the alternative to one port an entry.

The package imports the domain and the core, no database and no simulator. `flitwatch_simulation.loop` joins it to both.
"""
