"""Packet samples: traffic and congestion by link, in the context of a job."""
