-- A log has an identity: the id of Kafka's cluster, or this one of the table. A writer's positions belong to it.
CREATE TABLE log.identity (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    log_id   text NOT NULL
);
INSERT INTO log.identity (log_id) VALUES ('table:' || gen_random_uuid());
GRANT SELECT ON log.identity TO flitwatch_reader, flitwatch_writer;

ALTER TABLE stream_position ADD COLUMN log_id text NOT NULL DEFAULT '';
-- Positions of before: those that this database's table can have are the table's; the others are the first other log's that a writer reads.
UPDATE stream_position SET log_id = i.log_id FROM log.identity i, log.topic t JOIN log.partition p USING (topic_id)
    WHERE t.name = stream_position.topic AND p.partition = stream_position.partition AND p.next_offset >= stream_position.position;
ALTER TABLE stream_position DROP CONSTRAINT stream_position_pkey;
ALTER TABLE stream_position ADD PRIMARY KEY (log_id, consumer_group, topic, partition);
ALTER TABLE stream_position ALTER COLUMN log_id DROP DEFAULT;
