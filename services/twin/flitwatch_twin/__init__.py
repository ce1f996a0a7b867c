"""The cluster twin: a simulated dragonfly machine whose users, jobs and interference are known.

Two modes share users, workload, scheduler, stall curve and applications:

- `twin.run` simulates a whole machine second by second on its links and speaks the producers' wire formats;
- `twin.campaign` simulates months, in windows around instrumented runs, on router-level footprints.

Between flows and counters or step times nothing knows who owns a flow; what was planted, and what each user did to each
run by counterfactual, stands in a truth that only scoring reads.
"""
