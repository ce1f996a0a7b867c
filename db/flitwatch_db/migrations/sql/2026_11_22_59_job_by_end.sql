-- Who ran beside a job: jobs that ended after a moment, without reading every job that ever was (those that run are job_running's).
CREATE INDEX job_by_end ON job (end_ts);
