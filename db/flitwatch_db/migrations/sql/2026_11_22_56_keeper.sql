-- Retention works as a login of its own, which owns nothing: it deletes rows that are over, and has the owner drop what is older than it is kept.

-- Drops one chunk of plain PostgreSQL's, or all of TimescaleDB's Apache edition, that are older than the table's `keep`; returns how many were dropped.
-- The caller asks again until there is none, so that each is a transaction of its own.
CREATE FUNCTION drop_old_chunks(p_name text) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = flitwatch, pg_temp AS $$
DECLARE
    entry   time_table;
    part    text;
    dropped int;
BEGIN
    SELECT * INTO STRICT entry FROM time_table WHERE name = p_name;
    IF entry.keep IS NULL THEN
        RETURN 0;
    END IF;
    IF (SELECT relkind FROM pg_class WHERE oid = format('flitwatch.%I', p_name)::regclass) = 'p' THEN
        SELECT chunk_name INTO part FROM time_chunk WHERE table_name = p_name AND created_at < now() - entry.keep ORDER BY from_ts LIMIT 1;
        IF part IS NULL THEN
            RETURN 0;
        END IF;
        EXECUTE format('DROP TABLE IF EXISTS flitwatch_chunk.%I', part);
        DELETE FROM time_chunk WHERE table_name = p_name AND chunk_name = part;
        RETURN 1;
    END IF;
    EXECUTE format('SELECT count(*) FROM %s.drop_chunks(%L::regclass, created_before => now() - $1)',
                   timescale_schema(), format('flitwatch.%I', p_name)) INTO dropped USING entry.keep;
    RETURN dropped;
END $$;

-- Where TimescaleDB's functions are, quoted.
CREATE FUNCTION timescale_schema() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'timescaledb'
$$;

-- Has TimescaleDB's full edition keep and compress a table as `time_table` says.
CREATE FUNCTION set_policies(p_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = flitwatch, pg_temp AS $$
DECLARE
    entry    time_table;
    relation text;
    place    text := timescale_schema();
BEGIN
    SELECT * INTO STRICT entry FROM time_table WHERE name = p_name;
    relation := format('flitwatch.%I', p_name);
    EXECUTE format('SELECT %s.remove_retention_policy(%L::regclass, if_exists => true)', place, relation);
    IF entry.keep IS NOT NULL THEN
        EXECUTE format('SELECT %s.add_retention_policy(%L::regclass, drop_created_before => $1, if_not_exists => true)', place, relation)
            USING entry.keep;
    END IF;
    IF entry.compress_after IS NULL THEN
        RETURN;
    END IF;
    IF NOT (SELECT compression_enabled FROM timescaledb_information.hypertables
            WHERE hypertable_schema = 'flitwatch' AND hypertable_name = p_name) THEN
        EXECUTE format('ALTER TABLE %s SET (timescaledb.compress, timescaledb.compress_segmentby = %L, timescaledb.compress_orderby = ''ts'')',
                       relation, entry.segment_by);
    END IF;
    EXECUTE format('SELECT %s.add_compression_policy(%L::regclass, compress_created_before => $1, if_not_exists => true)', place, relation)
        USING entry.compress_after;
END $$;

REVOKE ALL ON FUNCTION drop_old_chunks(text), set_policies(text), timescale_schema() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_old_chunks(text), set_policies(text) TO flitwatch_keeper;

GRANT USAGE ON SCHEMA flitwatch, log TO flitwatch_keeper;
GRANT SELECT ON setting, time_table, time_chunk, restored_job, job, job_node, job_step, run, run_rank, run_step, run_step_around, forecast TO flitwatch_keeper;
GRANT INSERT, UPDATE ON setting TO flitwatch_keeper;
GRANT SELECT, DELETE ON event, dead_letter, ingest_minute, gap, task, run TO flitwatch_keeper;
-- An update right on one column is what a lock on a row takes.
GRANT DELETE, UPDATE (updated_at) ON job TO flitwatch_keeper;
GRANT EXECUTE ON FUNCTION log.trim(interval, bigint) TO flitwatch_keeper;
DO $$ BEGIN
    IF to_regclass('queue.procrastinate_jobs') IS NOT NULL THEN
        GRANT USAGE ON SCHEMA queue TO flitwatch_keeper;
        GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO flitwatch_keeper;
    END IF;
END $$;
