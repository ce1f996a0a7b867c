"""Research: published studies again, the papers' tables, the scorecard of the estimators, and the benchmark of ingest."""
