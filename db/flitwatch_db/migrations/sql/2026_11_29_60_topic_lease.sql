-- expansion
-- How often a topic changed hands: a writer that stood still while another took its topic over writes nothing of it any more.
CREATE TABLE topic_lease (
    member_group text NOT NULL,
    topic        text NOT NULL,
    epoch        bigint NOT NULL DEFAULT 1,
    taken_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (member_group, topic)
) WITH (fillfactor = 50);
GRANT SELECT ON topic_lease TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON topic_lease TO flitwatch_writer;
