"""The command line: every capability behind one lazy command.

Open

- `main` for the entry: it finds a command's module by name, and turns a known error into one line and a status;
- `commands/` for the commands themselves;
- `console` for what every command shares: `--json`, times, output files, progress;
- `configuration` for the services' settings file, `profiles` for the user's own with the addresses of platforms;
- `rest` for asking the API: which one, with which token, and what a refusal means; `hottest` and `stored` for what is asked;
- `program_run/` for `flitwatch run`: a program as it would run without us, and its steps reported alongside it;
- `tables` for tables, figures and sparklines;
- `reference` for docs/commands.md and docs/settings.md, `manuals` for the manual pages, all from the commands themselves; `examples` for both; `client_reference` for docs/client.md;
- `simulated_past` for the day that the demo begins with;
- `http_server` for an HTTP server in a thread; `metrics` for the port that Prometheus reads, `own_figures` for what the worker and alerting show there, `metrics_reference` for the page of every metric; `exposure` for blame on measured runs.

Nothing here computes: a command calls one function of another package, imported when it runs.
"""
