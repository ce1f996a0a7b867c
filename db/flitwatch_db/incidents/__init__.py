"""Incidents of machines: kept while they last, and for good.

- `finding` says what of a job's explanation is kept;
- `update` looks at the jobs that run and at those that ended since, and brings the incidents up to date;
- `store` writes incidents, their slowed jobs, minutes and notes;
- `shown` reads them, for the API, the command line, alerts and explanations.
"""
