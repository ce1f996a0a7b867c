"""Work on the database: read runs, estimate, store the result with its data, parameters, code version and score."""
