"""Study of how often Flitwatch names the jobs that slow a run: incidents are drawn from the twin,
written into a database as their producers' records, and queried.

- `draws` draws a day of a machine: jobs, interference, and missing counters. It is independent of the product's search for causes;
- `truth` repeats the day with one user muted: that user's effect, and whether they are a cause;
- `sampled` reads the counters of the machine; `site` writes a day into a database: jobs, runs, counters of routers, ports and network cards;
- `study` queries the product during the day and afterwards, and scores its answers.
"""
