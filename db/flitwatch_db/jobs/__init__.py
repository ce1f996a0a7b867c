"""Jobs of the scheduler, and results about them.

Writes and reads of jobs:

- `store` writes jobs and their nodes, `arrays` the rows of pending array tasks and the places of runs' ranks; `reads` returns pages of jobs, their places, neighbours and outcomes, and answers the search box;
- `as_of` finds a job by the id that its scheduler prints, as of a time, and returns its end, which may be unknown.

Explanation of a job:

- `placed` reads the jobs on a fabric with the places of their nodes; `onset_counters` reads the counters of a job's routers around the onset of its slowness;
- `counted_routes` returns a machine's routes and the counted places on them, and `moments` reads all routers and network cards in some moments; `flow` chooses a quiet
  minute and those of the longest waits, to find the jobs it waits for;
- `explanation` reads all inputs of an explanation, and calls the domain's `flitwatch_domain.explanation`, which computes the answer; `whole` summarises those of an array's tasks;
- `incident` combines the explanations of a machine's running jobs for the home page;

Network noise of a job:

- `network_cards` reads the counters of a job's network cards by window; `network_noise` stores the results, returns the pending jobs, and reads the same
  for two sets of runs that are compared.

Display of a job:

- `parts` reads counters of a job's own network cards and links over time; `traffic` reads the traffic of its network cards, for shares of links
  and for the replay of a past moment in a simulation;
- `evidence` reads the data of a job's evidence page, and makes a ZIP with all rows about it.

Start at `explanation` for a verdict, and at `reads` for anything else.
"""
