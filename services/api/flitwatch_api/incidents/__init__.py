"""Incidents: what slowed jobs, for as long as it lasted."""
