-- What came in by source: a door shows at once whether anything arrives through it. `ingest_minute` counts by topic, and one topic serves several doors.
CREATE TABLE arrival (
    source  text NOT NULL,
    topic   text NOT NULL,
    records bigint NOT NULL DEFAULT 0,
    last_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, topic)
) WITH (fillfactor = 50);

CREATE TABLE arrival_minute (
    ts      timestamptz NOT NULL,
    source  text NOT NULL,
    topic   text NOT NULL,
    records bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (ts, source, topic)
) WITH (fillfactor = 50);

GRANT SELECT ON arrival, arrival_minute TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON arrival, arrival_minute TO flitwatch_writer;
GRANT SELECT, DELETE ON arrival_minute TO flitwatch_keeper;
