-- A topic that several writers share is divided into slices of its devices; each slice has positions of its own in every partition.
CREATE TABLE topic_division (
    log_id         text NOT NULL,
    consumer_group text NOT NULL,
    topic          text NOT NULL,
    slices         int NOT NULL CHECK (slices > 0),
    divided_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (log_id, consumer_group, topic)
);

CREATE TABLE slice_position (
    log_id         text NOT NULL,
    consumer_group text NOT NULL,
    topic          text NOT NULL,
    slice          int NOT NULL,
    partition      int NOT NULL,
    position       bigint NOT NULL,
    replay_from    bigint NOT NULL,
    closed_through timestamptz,
    reached        timestamptz,
    updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (log_id, consumer_group, topic, slice, partition),
    CHECK (replay_from <= position)
) WITH (fillfactor = 50);

-- The last sequence of a collector's source in a slice, since its topic is divided.
CREATE TABLE slice_source (
    topic      text NOT NULL,
    slice      int NOT NULL,
    source     text NOT NULL,
    sequence   bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (topic, slice, source)
) WITH (fillfactor = 50);

-- A divided topic's position in stream_position is where it was divided. A writer of an older version knows no slices and would write again what was
-- written since: it finds that another has moved on, and writes nothing until the topic is whole again.
CREATE FUNCTION keep_divided_position() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM topic_division d WHERE d.log_id = NEW.log_id AND d.consumer_group = NEW.consumer_group AND d.topic = NEW.topic) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_divided_position BEFORE INSERT OR UPDATE ON stream_position FOR EACH ROW EXECUTE FUNCTION keep_divided_position();

-- How far all devices of a partition are written: of a divided topic, where its last slice is.
CREATE VIEW standing_position AS
    SELECT log_id, consumer_group, topic, partition, position, updated_at FROM stream_position s
    WHERE NOT EXISTS (SELECT FROM topic_division d WHERE (d.log_id, d.consumer_group, d.topic) = (s.log_id, s.consumer_group, s.topic))
    UNION ALL
    SELECT log_id, consumer_group, topic, partition, CASE WHEN count(*) = d.slices THEN min(position) ELSE 0 END, max(updated_at)
    FROM topic_division d JOIN slice_position USING (log_id, consumer_group, topic)
    GROUP BY log_id, consumer_group, topic, partition, d.slices;

GRANT SELECT ON topic_division, slice_position, slice_source, standing_position TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON topic_division, slice_position, slice_source TO flitwatch_writer;
