"""Incidents of machines, stored permanently.

- `finding` selects the stored part of a job's explanation;
- `update` examines the running jobs and those that have ended since the last run, and updates the incidents;
- `store` writes incidents, their slowed jobs, minutes and notes;
- `shown` reads them, for the API, the command line, alerts and explanations.
"""
