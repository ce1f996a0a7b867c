-- expansion
-- The request that asked for a task: the worker's log lines carry it too.
ALTER TABLE task ADD COLUMN request_id text;
