"""The scorecard: all estimators, the paper's methods and ours, on simulated scenarios with seeds, as one table."""
