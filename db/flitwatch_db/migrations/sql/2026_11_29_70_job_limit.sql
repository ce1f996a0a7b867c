-- expansion
-- How long a job may run, in seconds: what accounting calls running long after is over.
ALTER TABLE job ADD COLUMN limit_s float8;
GRANT UPDATE (state) ON job TO flitwatch_keeper;
