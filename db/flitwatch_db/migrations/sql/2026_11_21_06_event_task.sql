CREATE TABLE event (
    event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind     text NOT NULL,
    payload  jsonb NOT NULL
);
CREATE INDEX event_at ON event (at);

-- Numbers are drawn under a lock that is held until the commit, so that numbers become visible in order and a reader that has seen
-- number n has seen all below. Emit last in a transaction.
CREATE FUNCTION event_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7205759403792793);
    RETURN NULL;
END $$;
CREATE TRIGGER event_in_order BEFORE INSERT ON event FOR EACH STATEMENT EXECUTE FUNCTION event_in_order();

CREATE FUNCTION event_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('flitwatch_event', NEW.event_id::text);
    RETURN NULL;
END $$;
CREATE TRIGGER event_notify AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION event_notify();

CREATE TABLE task (
    task_id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text NOT NULL,
    args             jsonb NOT NULL,
    state            text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    done             int NOT NULL DEFAULT 0,
    total            int NOT NULL DEFAULT 0,
    message          text NOT NULL DEFAULT '',
    cancel_requested boolean NOT NULL DEFAULT false,
    attempts         int NOT NULL DEFAULT 0,
    result           jsonb,
    error            jsonb,
    created_by       text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    started_at       timestamptz,
    finished_at      timestamptz,
    heartbeat_at     timestamptz,
    worker           text
);
CREATE INDEX task_open ON task (task_id) WHERE state IN ('queued', 'running');

GRANT SELECT ON event, task TO flitwatch_reader, flitwatch_writer;
GRANT INSERT ON event, task TO flitwatch_writer;
GRANT UPDATE ON task TO flitwatch_writer;
