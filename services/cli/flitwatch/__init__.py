"""Command line: every function of Flitwatch as a command that is loaded on demand.

Modules:

- `main` for the entry point; `outline` for the names of commands and options, which answer `flitwatch --help` and TAB without Click;
- `command_line` for everything else: it finds a command's module by name, and converts a known error to one line and a status;
- `commands/` for the commands, `catalogue` for their list;
- `console` for the shared parts of commands: `--json`, times, output files, progress;
- `configuration` for the services' settings file;
- `rest` for API requests: address, token and refusals; `hottest` and `stored` for their data;
- `program_run/` for `flitwatch run`: runs a program unchanged and reports its steps;
- `tables` for tables, figures and sparklines;
- `reference` for docs/commands.md, docs/settings.md, docs/metrics.md and docs/client.md, `manuals` for the manual pages, all generated from the commands; `examples` for both;
- `simulated_past` for the simulated day before the demo starts;
- `http_server` for an HTTP server in a thread; `metrics` for the Prometheus port, `own_figures` for the metrics of the worker and alerting,
  `exposure` for the host names and anonymous role that the API accepts.

Commands do not compute: each calls one function of another package, imported when it runs.
"""
