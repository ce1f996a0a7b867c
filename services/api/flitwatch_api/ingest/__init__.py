"""Ingest status: arrivals and refused records."""
