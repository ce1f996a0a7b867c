-- expansion
-- A segment of the log was ten minutes of appends and the newest two were kept, so that a limit of 256 MiB held 503 MB. A segment now also ends when it holds an eighth of
-- the limit, and only the newest is kept. Its number is the minute of its begin, or the next one; those of before are numbers of ten minutes and are smaller.
CREATE OR REPLACE FUNCTION log.current_segment() RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = log, pg_temp AS $$
DECLARE
    this_minute int := floor(extract(epoch FROM clock_timestamp()) / 60)::int;
    newest      int := (SELECT coalesce(max(segment), 0) FROM partition);
    part        text := 'batch_' || newest;
    most_bytes  bigint := coalesce((SELECT (value ->> 'bytes')::bigint FROM flitwatch.setting WHERE key = 'log_keep'), 6442450944) / 8;
BEGIN
    IF newest > this_minute - 10 AND to_regclass(format('log.%I', part)) IS NOT NULL
        AND pg_total_relation_size(format('log.%I', part)::regclass) < most_bytes THEN
        RETURN newest;
    END IF;
    newest := greatest(this_minute, newest + 1);
    part := 'batch_' || newest;
    PERFORM pg_advisory_xact_lock(7205759403792794);
    -- A query has a new snapshot: of two producers the second sees the partition that it waited for.
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE relname = part AND relnamespace = 'log'::regnamespace) THEN
        EXECUTE format('CREATE TABLE log.%I (LIKE log.batch INCLUDING ALL)
                        WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)', part);
        EXECUTE format('ALTER TABLE log.batch ATTACH PARTITION log.%I FOR VALUES IN (%s)', part, newest);
    END IF;
    RETURN newest;
END $$;

-- The oldest segment that is over the age or the size; never the newest.
CREATE FUNCTION log.oldest_due(p_max_age interval, p_max_bytes bigint) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = log, pg_temp AS $$
    SELECT relname FROM (
        SELECT c.relname::text, substring(c.relname FROM 7)::int AS segment, max(substring(c.relname FROM 7)::int) OVER () AS newest,
            sum(pg_total_relation_size(c.oid)) OVER () AS total
        FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'log.batch'::regclass
    ) AS s
    WHERE segment < newest
        AND (total > p_max_bytes
             OR to_timestamp(CASE WHEN segment < 10000000 THEN (segment + 1) * 600::bigint ELSE (segment + 10) * 60::bigint END) <= clock_timestamp() - p_max_age)
    ORDER BY segment LIMIT 1
$$;
REVOKE ALL ON FUNCTION log.oldest_due(interval, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION log.trim(p_max_age interval, p_max_bytes bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = log, pg_temp AS $$
DECLARE
    oldest  text := oldest_due(p_max_age, p_max_bytes);
    dropped int := 0;
BEGIN
    -- Appenders and readers do not wait for a look that finds nothing.
    IF oldest IS NOT NULL THEN
        LOCK TABLE batch IN ACCESS EXCLUSIVE MODE;
        oldest := oldest_due(p_max_age, p_max_bytes);
    END IF;
    WHILE oldest IS NOT NULL LOOP
        EXECUTE format('UPDATE partition p SET first_offset = greatest(p.first_offset, b.last)
                        FROM (SELECT topic_id, partition, max(base_offset + records) AS last FROM %I GROUP BY 1, 2) b
                        WHERE p.topic_id = b.topic_id AND p.partition = b.partition', oldest);
        EXECUTE format('DROP TABLE %I', oldest);
        dropped := dropped + 1;
        oldest := oldest_due(p_max_age, p_max_bytes);
    END LOOP;
    DELETE FROM producer WHERE updated_at < now() - interval '7 days';
    RETURN dropped;
END $$;

-- As before, but the length of a table's chunks may be shortened: a time that an older, longer chunk holds needs no new one.
CREATE OR REPLACE FUNCTION ensure_chunks(p_name text, p_times timestamptz[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = flitwatch, pg_temp AS $$
DECLARE
    entry  time_table;
    start  timestamptz;
    finish timestamptz;
    part   text;
    made   int := 0;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = format('flitwatch.%I', p_name)::regclass) <> 'p' THEN
        RETURN 0;
    END IF;
    SELECT * INTO STRICT entry FROM time_table WHERE name = p_name;
    FOR start IN SELECT DISTINCT date_bin(entry.chunk, t, 'epoch'::timestamptz) FROM unnest(p_times) AS t ORDER BY 1 LOOP
        CONTINUE WHEN EXISTS (SELECT FROM time_chunk WHERE table_name = p_name AND from_ts = start);
        PERFORM pg_advisory_xact_lock(hashtextextended('flitwatch.time_chunk.' || p_name, 0));
        CONTINUE WHEN EXISTS (SELECT FROM time_chunk WHERE table_name = p_name AND from_ts <= start AND to_ts > start);
        finish := start + entry.chunk;
        part := p_name || '_' || to_char(start AT TIME ZONE 'UTC', 'YYYYMMDD_HH24MI');
        EXECUTE format('CREATE TABLE flitwatch_chunk.%I (LIKE flitwatch.%I INCLUDING ALL) WITH (%s)', part, p_name, entry.options);
        EXECUTE format('ALTER TABLE flitwatch.%I ATTACH PARTITION flitwatch_chunk.%I FOR VALUES FROM (%L) TO (%L)',
                       p_name, part, start, finish);
        INSERT INTO time_chunk (table_name, chunk_name, from_ts, to_ts) VALUES (p_name, part, start, finish);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- Of plain PostgreSQL: while all chunks together have more than so many bytes, drops the oldest chunk of the largest table that has another; returns how many were dropped,
-- 1 or 0. The caller asks again, so that each is a transaction of its own.
CREATE FUNCTION drop_chunk_over(p_bytes bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = flitwatch, pg_temp AS $$
DECLARE
    due time_chunk;
BEGIN
    WITH sized AS (
        SELECT t.*, pg_total_relation_size(c.oid) AS bytes FROM time_chunk t
        JOIN pg_class c ON c.relname = t.chunk_name AND c.relnamespace = 'flitwatch_chunk'::regnamespace
    ), largest AS (
        SELECT table_name FROM sized GROUP BY table_name HAVING count(*) > 1 ORDER BY sum(bytes) DESC LIMIT 1
    )
    SELECT t.* INTO due FROM time_chunk t JOIN largest USING (table_name)
    WHERE (SELECT sum(bytes) FROM sized) > p_bytes ORDER BY from_ts LIMIT 1;
    IF due IS NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS flitwatch_chunk.%I', due.chunk_name);
    DELETE FROM time_chunk WHERE table_name = due.table_name AND chunk_name = due.chunk_name;
    RETURN 1;
END $$;
REVOKE ALL ON FUNCTION drop_chunk_over(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_chunk_over(bigint) TO flitwatch_keeper;
