"""Incidents: causes of slow jobs, for as long as they lasted."""
