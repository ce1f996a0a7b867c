"""Does advice pay? The same weeks of the same simulated machine under several advisers.

What happens, in order: `worlds` draws a month of jobs and how the network is felt; `closed_loop` runs it: `backfill` starts jobs as Slurm does, an adviser of `advisers`
(the code that REST serves, fed with what a site records) or the `oracle` is asked about them, `network` says how they slow one another; `pieces` keeps each policy's figures;
`study` compares them over seeds, and `report` writes them for people.

Open

- `study` for the figures and verdicts, `report` for the page in docs;
- `advisers` for what an adviser sees; `worlds` for what is drawn from what;
- `job_log` for jobs of a log in the Standard Workload Format, or drawn as on Theta;
- `backfill` for the order of starts;
- `network` for how jobs slow one another, `closed_loop` for what happens between a question and a start;
- `modes` for what a routing mode does to a job, measured in the packet engine by `mode_fit`;
- `oracle` for the best that could be had, `pieces` for what is kept of a run.
"""
