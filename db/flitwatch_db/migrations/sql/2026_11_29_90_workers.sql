-- expansion
-- The queue is table `task` alone: workers take its rows. Schema `queue` and `worker_queue` of an older database stay for workers of the version before.
CREATE TABLE worker (
    name    text PRIMARY KEY,
    queues  text[] NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE periodic_task (
    name     text PRIMARY KEY,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON worker, periodic_task TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON worker, periodic_task TO flitwatch_writer;
