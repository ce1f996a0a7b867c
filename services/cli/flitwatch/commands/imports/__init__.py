"""One module per kind of file that `flitwatch import` reads.

What happens, in order: a command finds the files and the decoder for them, opens the database and its log, publishes what the decoder gives, lets
the writer carry that into the database, and prints a report. Fabrics and routes are written without the log.

Open

- `fabric` for topologies: ibnetdiscover, Cray's interconnect lists, Slingshot's links; `routes` for forwarding tables;
- `dragonview` for DragonView's links, counters and jobs;
- `accounting` for what all schedulers' imports have in common: batches, numbers of incarnations, rejected records;
- `sacct` for Slurm; `schedulers` for PBS, Flux, the Standard Workload Format and ClusterCockpit;
- `ncl` for runs of AriesNCL; `ldms_csv` for counters of store_csv; `noise_bench` for results of the noise benchmark;
- `runs` for measured runs and who was alongside them, which become an estimate of blame;
- `through_log` for the log between decoder and writer, the list of what was refused, and exit statuses;
- `zones` for names of time zones.

A new scheduler takes a reader in `flitwatch_ingest.sources` and a command in `schedulers`.
"""
