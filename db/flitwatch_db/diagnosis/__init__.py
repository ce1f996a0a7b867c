"""What the diagnosis of congestion reads: counters of ports, packet samples, and the jobs that feed a root."""
