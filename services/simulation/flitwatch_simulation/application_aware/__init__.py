"""Network noise of an application from its own NICs' counters, and routing that follows it (De Sensi 2019)."""
