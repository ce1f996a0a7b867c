"""What network noise costs collectives: measured and simulated."""
