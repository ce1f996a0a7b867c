"""Decoders from producers' files to records of the log. They read text and bytes and publish nothing.

A collector (`flitwatch_ingest.collectors`) reads a producer's file and passes its bytes to a decoder here. The decoder returns records as in
docs/contracts/log.md, and a `Rejection` for each undecodable piece. The collector publishes both.

Open

- `ldms_csv` for LDMS store_csv files: header, lines, types;
- `ncl` for the runs in a folder of AriesNCL, `ncl_yaml` for the layout before 2019, `ncl_run` for `run.json`;
- `sacct` for Slurm accounting: the choice between both formats, jobs and their steps;
- `sacct_text` for `--parsable2`, `sacct_json` for `--json`, `sacct_fields` for the cells of both: times, states, node lists, counts;
- `pbs`, `flux`, `swf`, `clustercockpit` for accounting of other schedulers and portals; `json_entries` for long lists of JSON;
- `perfquery` for counters of InfiniBand ports in the output of `perfquery`, `pma` for the same counters in datagrams;
- `slingshot` for samples from records of Slingshot's fabric telemetry;
- `sonic` for counters of SONiC's databases, `sonic_gnmi` for the same over gNMI, `openconfig` for OpenConfig's trees, `ethernet` for the records of all;
- `incarnations` for requeued jobs if Slurm prints no restarts;
- `rejection` for the stored part of refused input.

A new producer needs one decoder here, one collector, and a command in `flitwatch.commands`. A decoder keeps no state between files, reads only the
given file, and never raises for a single bad line.
"""

from flitwatch_ingest.sources.rejection import Rejection

__all__ = ["Rejection"]
