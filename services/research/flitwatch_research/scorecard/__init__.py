"""The scorecard: every estimator, the paper's methods alongside ours, on simulated scenarios with seeds, as one table."""
