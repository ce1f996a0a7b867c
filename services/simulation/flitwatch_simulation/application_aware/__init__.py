"""Network noise of an application from its own NICs' counters, and routing adapted to it (De Sensi 2019)."""
