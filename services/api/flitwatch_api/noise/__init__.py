"""Cost of network noise to collectives: measured and simulated."""
