-- The log of the embedded stack. A row is a batch of records, as in Kafka's own files: the cost of a row is shared by its records.

CREATE SCHEMA log;

CREATE TABLE log.topic (
    topic_id   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    partitions int NOT NULL CHECK (partitions BETWEEN 1 AND 1024),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- An appender updates its partition's row and holds the lock until its commit: offsets have no gaps, and their order is commit order.
CREATE TABLE log.partition (
    topic_id     int NOT NULL REFERENCES log.topic,
    partition    int NOT NULL,
    first_offset bigint NOT NULL DEFAULT 0,
    next_offset  bigint NOT NULL DEFAULT 0,
    segment      int NOT NULL DEFAULT 0,
    PRIMARY KEY (topic_id, partition)
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 5000);

-- A segment is ten minutes of appends; the oldest are dropped whole.
CREATE TABLE log.batch (
    segment     int NOT NULL,
    topic_id    int NOT NULL,
    partition   int NOT NULL,
    base_offset bigint NOT NULL,
    records     int NOT NULL,
    payload     bytea NOT NULL,
    PRIMARY KEY (topic_id, partition, base_offset, segment)
) PARTITION BY LIST (segment);
-- Compression would cost more than the disk it saves: a batch lives for hours.
ALTER TABLE log.batch ALTER COLUMN payload SET STORAGE EXTERNAL;

-- What a producer last wrote, so that it can tell after a lost connection whether its last batch was committed.
CREATE TABLE log.producer (
    producer_id uuid PRIMARY KEY,
    sequence    bigint NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE FUNCTION log.ensure_topic(p_name text, p_partitions int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = log, pg_temp AS $$
DECLARE id int;
BEGIN
    SELECT topic_id INTO id FROM topic WHERE name = p_name;
    IF id IS NOT NULL THEN
        RETURN id;
    END IF;
    INSERT INTO topic (name, partitions) VALUES (p_name, p_partitions) ON CONFLICT (name) DO NOTHING RETURNING topic_id INTO id;
    IF id IS NULL THEN
        SELECT topic_id INTO id FROM topic WHERE name = p_name;
    ELSE
        INSERT INTO partition (topic_id, partition) SELECT id, n FROM generate_series(0, p_partitions - 1) AS n;
    END IF;
    RETURN id;
END $$;

-- The segment of this moment, its partition of the table made if it is new.
CREATE FUNCTION log.current_segment() RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = log, pg_temp AS $$
DECLARE
    now_segment int := floor(extract(epoch FROM clock_timestamp()) / 600)::int;
    part        text := 'batch_' || now_segment;
BEGIN
    IF to_regclass(format('log.%I', part)) IS NULL THEN
        PERFORM pg_advisory_xact_lock(7205759403792794);
        IF to_regclass(format('log.%I', part)) IS NULL THEN
            EXECUTE format('CREATE TABLE log.%I (LIKE log.batch INCLUDING ALL)
                            WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)', part);
            EXECUTE format('ALTER TABLE log.batch ATTACH PARTITION log.%I FOR VALUES IN (%s)', part, now_segment);
        END IF;
    END IF;
    RETURN now_segment;
END $$;

-- Takes offsets for a producer's next batch; the rows of the partitions stay locked until the commit. Returns nothing if the producer's
-- batch of that number is in the log already. Locks are always taken in the same order: the table, the producer, the partitions sorted.
CREATE FUNCTION log.reserve(p_producer uuid, p_sequence bigint, p_topics int[], p_partitions int[], p_records int[])
RETURNS TABLE (topic_id int, partition int, base_offset bigint, segment int)
LANGUAGE plpgsql SET search_path = log, pg_temp AS $$
#variable_conflict use_column
DECLARE now_segment int;
BEGIN
    LOCK TABLE batch IN ROW EXCLUSIVE MODE;
    INSERT INTO producer AS p VALUES (p_producer, p_sequence)
        ON CONFLICT (producer_id) DO UPDATE SET sequence = excluded.sequence, updated_at = now() WHERE p.sequence < excluded.sequence;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    now_segment := current_segment();
    PERFORM 1 FROM partition JOIN unnest(p_topics, p_partitions) AS w (topic_id, partition) USING (topic_id, partition)
        ORDER BY topic_id, partition FOR UPDATE OF partition;
    RETURN QUERY
        UPDATE partition AS p SET next_offset = next_offset + w.records, segment = greatest(p.segment, now_segment)
        FROM unnest(p_topics, p_partitions, p_records) AS w (topic_id, partition, records)
        WHERE p.topic_id = w.topic_id AND p.partition = w.partition
        RETURNING p.topic_id, p.partition, p.next_offset - w.records, p.segment;
END $$;

-- Drops the oldest segments: those over the age, and those over the size. Returns how many.
CREATE FUNCTION log.trim(p_max_age interval, p_max_bytes bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = log, pg_temp AS $$
DECLARE
    oldest  record;
    total   bigint;
    dropped int := 0;
BEGIN
    LOCK TABLE batch IN ACCESS EXCLUSIVE MODE;
    SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) INTO total FROM pg_inherits WHERE inhparent = 'log.batch'::regclass;
    FOR oldest IN
        SELECT c.relname, pg_total_relation_size(c.oid) AS bytes, substring(c.relname FROM 7)::int AS segment
        FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'log.batch'::regclass
        ORDER BY 3
    LOOP
        -- The segment of now and the one before may still be written.
        EXIT WHEN oldest.segment >= floor(extract(epoch FROM clock_timestamp()) / 600)::int - 1;
        EXIT WHEN total <= p_max_bytes AND to_timestamp((oldest.segment + 1) * 600::bigint) > clock_timestamp() - p_max_age;
        EXECUTE format('UPDATE partition p SET first_offset = greatest(p.first_offset, b.last)
                        FROM (SELECT topic_id, partition, max(base_offset + records) AS last FROM %I GROUP BY 1, 2) b
                        WHERE p.topic_id = b.topic_id AND p.partition = b.partition', oldest.relname);
        EXECUTE format('DROP TABLE %I', oldest.relname);
        total := total - oldest.bytes;
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM producer WHERE updated_at < now() - interval '7 days';
    RETURN dropped;
END $$;

REVOKE ALL ON FUNCTION log.ensure_topic(text, int), log.current_segment(), log.trim(interval, bigint),
    log.reserve(uuid, bigint, int[], int[], int[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log.ensure_topic(text, int), log.current_segment(), log.trim(interval, bigint),
    log.reserve(uuid, bigint, int[], int[], int[]) TO flitwatch_writer;
GRANT USAGE ON SCHEMA log TO flitwatch_reader, flitwatch_writer;
GRANT SELECT ON log.topic, log.partition, log.batch, log.producer TO flitwatch_reader, flitwatch_writer;
GRANT INSERT ON log.batch, log.producer TO flitwatch_writer;
GRANT UPDATE ON log.partition, log.producer TO flitwatch_writer;
