"""Decoders from producers' files to the records of the log; they read text and bytes and publish nothing.

What happens, in order: a collector (`flitwatch_ingest.collectors`) reads a producer's file and hands its bytes to a decoder here. The decoder gives
records in the shapes of docs/contracts/log.md, and a `Rejection` for each piece that it cannot take. The collector publishes both.

Open

- `ldms_csv` for LDMS store_csv files: header, lines, types; `ldms_fast` for the quick way that nearly all lines take;
- `ncl` for a folder of AriesNCL and what becomes of its runs, `ncl_yaml` for the layout before 2019, `ncl_run` for `run.json`;
- `sacct` for Slurm accounting as a whole: which of both formats it is, jobs and their steps;
- `sacct_text` for `--parsable2`, `sacct_json` for `--json`, `sacct_fields` for the cells of both: times, states, node lists, counts;
- `pbs`, `flux`, `swf`, `clustercockpit` for accounting of other schedulers and portals; `json_entries` for long lists of JSON;
- `perfquery` for counters of InfiniBand ports as `perfquery` prints them, `pma` for the same as datagrams carry them;
- `slingshot` for records of Slingshot's fabric telemetry, as samples;
- `sonic` for counters of SONiC's databases, `sonic_gnmi` for the same by gNMI, `openconfig` for those of OpenConfig's trees, `ethernet` for the records of both;
- `incarnations` for a requeued job where Slurm prints no restarts;
- `rejection` for what is kept of refused input.

A new producer takes one decoder here, one collector, and a command in `flitwatch.commands`. A decoder keeps no state between files, does no I/O
beyond the file that it was given, and never raises for one bad line.
"""

from flitwatch_ingest.sources.rejection import Rejection

__all__ = ["Rejection"]
