"""Work over the database: read runs, estimate, keep the result with its data, parameters, code version and score."""
