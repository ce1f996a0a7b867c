"""The scorecard: every estimator, the paper's methods beside ours, on simulated scenarios with seeds, as one table."""
