"""Read the data for the diagnosis of congestion: port counters, packet samples, and the jobs that feed a root."""
