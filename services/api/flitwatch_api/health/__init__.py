"""Is the process up, is it ready, and its own figures."""
