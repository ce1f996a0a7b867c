"""Incidents of machines, stored permanently.

- `update` examines the running jobs and those that have ended since the last run, and updates the incidents;
- `store` writes incidents, their slowed jobs, minutes and notes, and the stored part of a job's explanation;
- `shown` reads them, for the API, the command line, alerts and explanations.
"""
