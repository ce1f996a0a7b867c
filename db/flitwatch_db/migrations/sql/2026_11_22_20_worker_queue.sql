-- Which queues a worker serves: procrastinate's own table knows only that it lives.
CREATE TABLE worker_queue (
    worker_id bigint NOT NULL,
    queue     text NOT NULL,
    PRIMARY KEY (worker_id, queue)
);
GRANT SELECT, INSERT, DELETE ON worker_queue TO flitwatch_writer;
