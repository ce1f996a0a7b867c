"""Jobs of the scheduler, and what is said of them.

Jobs come in and are read:

- `store` writes jobs and the nodes that they hold, `arrays` the rows of waiting array tasks, `rank_places` where the ranks of runs are; `reads` gives pages of them, their places and their neighbours;
- `outcomes` gives what became of jobs, for trials of advice;
- `by_id` finds a job by the id that its scheduler prints; `as_of` gives a job as it was at a moment; `ends` gives its end, which may be unknown;
- `search` answers the search box.

A job is explained:

- `onset_counters` reads the counters of a job's routers around the moment when it became slow;
- `counted_routes` gives a machine's routes and the places that are counted on them; `flow` reads the minutes in which it waits longest, and a quiet one, of all routers and network cards: whom it waits for;
- `explanation` reads all that an explanation needs, and calls the domain's `flitwatch_domain.explanation`, which finds the answer; `whole` sums up those of an array's tasks;
- `incident` puts the explanations of a machine's running jobs together: what home shows;
- `moments` reads a moment of the past as simulations replay it: which jobs held which endpoints, and what they sent.

A job's network noise:

- `network_cards` reads the counters of a job's network cards by window; `network_noise` keeps what was found, and says which jobs wait for it;
- `network_sets` reads the same of two sets of runs that are compared.

A job is shown:

- `parts` reads counters of a job's own network cards and links over time; `traffic` what its network cards sent and received, for shares of links;
- `case` reads what the evidence page of a job prints; `evidence` makes the ZIP of every row about it.

Start at `explanation` for a verdict, and at `reads` for anything else.
"""
