-- expansion
-- How long a job may run, in seconds: what accounting calls running long after is over.
ALTER TABLE job ADD COLUMN limit_s float8;
-- Tasks of an array, and components of a heterogeneous job, by the number that they share.
CREATE INDEX job_by_number ON job (split_part(translate(job_id, '+', '_'), '_', 1)) WHERE strpos(translate(job_id, '+', '_'), '_') > 0;
GRANT UPDATE (state) ON job TO flitwatch_keeper;
