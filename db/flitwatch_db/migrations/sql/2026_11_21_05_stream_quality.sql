CREATE TABLE stream_position (
    consumer_group text NOT NULL,
    topic          text NOT NULL,
    partition      int NOT NULL,
    position       bigint NOT NULL,
    replay_from    bigint NOT NULL,
    closed_through timestamptz,
    updated_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_group, topic, partition),
    CHECK (replay_from <= position)
) WITH (fillfactor = 50);

CREATE TABLE source_position (
    source     text PRIMARY KEY,
    sequence   bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE dead_letter (
    dead_letter_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at             timestamptz NOT NULL DEFAULT now(),
    topic          text NOT NULL,
    partition      int NOT NULL,
    offset_        bigint NOT NULL,
    source         text NOT NULL DEFAULT '',
    where_         text NOT NULL DEFAULT '',
    reason         text NOT NULL,
    raw            bytea NOT NULL,
    raw_bytes      int NOT NULL
);
CREATE INDEX dead_letter_at ON dead_letter (at);

CREATE TABLE ingest_minute (
    ts         timestamptz NOT NULL,
    topic      text NOT NULL,
    records    bigint NOT NULL DEFAULT 0,
    values_    bigint NOT NULL DEFAULT 0,
    bytes      bigint NOT NULL DEFAULT 0,
    duplicates bigint NOT NULL DEFAULT 0,
    late       bigint NOT NULL DEFAULT 0,
    dead       bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (ts, topic)
) WITH (fillfactor = 50);

GRANT SELECT ON stream_position, source_position, dead_letter, ingest_minute TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON stream_position, source_position, dead_letter, ingest_minute TO flitwatch_writer;
