"""One module per file format of `flitwatch import`.

A command finds the files and their decoder, opens the database and its log, and publishes the decoded records. The writer stores them in the
database, and the command prints a report. Fabrics and routes are written without the log.

Modules:

- `fabric` for topologies: ibnetdiscover, Cray's interconnect lists, Slingshot's links; `routes` for forwarding tables;
- `dragonview` for DragonView's links, counters and jobs;
- `accounting` for the shared parts of schedulers' imports: batches, incarnation numbers, rejected records;
- `sacct` for Slurm; `schedulers` for PBS, Flux, the Standard Workload Format and ClusterCockpit;
- `ncl` for runs of AriesNCL; `ldms_csv` for counters of store_csv; `noise_bench` for results of the noise benchmark;
- `runs` for measured runs and exposure, stored as a blame estimate;
- `through_log` for the log between decoder and writer, rejected records, and exit statuses.

A new scheduler needs a reader in `flitwatch_ingest.sources` and a command in `schedulers`.
"""
