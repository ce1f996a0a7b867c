"""Study of how often Flitwatch names the jobs that slow a run: incidents are drawn from the twin,
written into a database as their producers' records, and queried.

- `draws` draws a day of a machine: who runs, who disturbs it, what is not counted. It knows nothing of how the product looks for causes;
- `truth` lives through the day with one user muted: what that user cost, and whether they are a cause;
- `sampled` reads the counters of the machine; `site` writes a day into a database: jobs, runs, counters of routers, ports and network cards;
- `study` asks the product through the day and afterwards, and scores what it says.
"""
