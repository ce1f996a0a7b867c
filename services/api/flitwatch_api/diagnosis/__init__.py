"""Where congestion begins, and what waits behind it."""
