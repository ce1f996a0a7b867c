"""Jobs of the scheduler: in and out, the search box, a job's evidence and its explanation."""
