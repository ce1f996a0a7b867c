"""Value of advice: the same weeks of the same simulated machine under several advisers.

Steps, in order: `variants` draws a month of jobs and their sensitivity to the network. `closed_loop` runs it: `backfill` starts jobs as Slurm does, an adviser of
`advisers` (the code behind REST, with a site's records as input) or the `oracle` advises, and `network` computes mutual slowdowns. `pieces` stores each
policy's figures. `study` compares them over seeds, and `report` formats them.

Open

- `study` for the figures and verdicts, `report` for the page in docs;
- `advisers` for an adviser's input; `variants` for the random draws;
- `job_log` for jobs from a log in the Standard Workload Format, or drawn as on Theta;
- `backfill` for the order of starts;
- `network` for mutual slowdowns of jobs, `closed_loop` for the steps between a question and a start;
- `modes` for the effect of a routing mode on a job, measured in the packet engine by `mode_fit`;
- `oracle` for greedy decisions with the truth, `pieces` for the stored figures of a run.
"""
