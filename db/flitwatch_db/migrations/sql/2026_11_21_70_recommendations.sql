-- What the loop and the routing advice came to, also what was refused. The head is small and listed; the parts are large and read one at a time.
CREATE TABLE recommendation (
    recommendation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind              text NOT NULL CHECK (kind IN ('routes', 'routing_mode', 'placement')),
    state             text NOT NULL CHECK (state IN ('recommended', 'refused')),
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    task_id           bigint,
    fabric_id         int,
    fabric            text,
    job_id            text,
    user_name         text,
    application       text,
    title             text NOT NULL,
    reason            text NOT NULL,
    gain              jsonb,
    environment       text,
    detail            jsonb NOT NULL,
    simulated         boolean NOT NULL
);
CREATE INDEX recommendation_fabric ON recommendation (fabric_id);
-- A task that is tried again after its worker died writes its row once.
CREATE UNIQUE INDEX recommendation_task ON recommendation (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE recommendation_part (
    recommendation_id bigint NOT NULL REFERENCES recommendation ON DELETE CASCADE,
    part              text NOT NULL CHECK (part IN ('lfts', 'matrix_router', 'matrix_group', 'links')),
    packed            bytea NOT NULL,
    PRIMARY KEY (recommendation_id, part)
);

GRANT SELECT ON recommendation, recommendation_part TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON recommendation, recommendation_part TO flitwatch_writer;
