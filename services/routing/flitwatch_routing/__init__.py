"""Traffic reconstruction, route optimisation and routing-mode choice."""
