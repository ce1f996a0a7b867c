-- What makes a table of times: a hypertable where TimescaleDB is installed, native range partitions otherwise.

CREATE TABLE setting (key text PRIMARY KEY, value jsonb NOT NULL);

CREATE TABLE time_table (
    name           text PRIMARY KEY,
    chunk          interval NOT NULL,
    options        text NOT NULL,          -- storage parameters of a chunk
    segment_by     text NOT NULL,          -- how the full edition groups rows when it compresses
    keep           interval,               -- counted from the writing of a chunk's first row; NULL: for ever
    compress_after interval
);

-- Partitions of plain PostgreSQL; TimescaleDB keeps its own list.
CREATE TABLE time_chunk (
    table_name text NOT NULL REFERENCES time_table (name),
    chunk_name text NOT NULL,
    from_ts    timestamptz NOT NULL,
    to_ts      timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (table_name, from_ts)
);

CREATE FUNCTION make_time_table(
    p_name text, p_columns text, p_chunk interval, p_options text, p_segment_by text, p_keep interval, p_compress_after interval
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO time_table VALUES (p_name, p_chunk, p_options, p_segment_by, p_keep, p_compress_after);
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb') THEN
        EXECUTE format('CREATE TABLE flitwatch.%I (%s) WITH (%s)', p_name, p_columns, p_options);
        PERFORM create_hypertable(format('flitwatch.%I', p_name)::regclass, by_range('ts', p_chunk), create_default_indexes => false);
    ELSE
        EXECUTE format('CREATE TABLE flitwatch.%I (%s) PARTITION BY RANGE (ts)', p_name, p_columns);
    END IF;
END $$;

-- Makes the partitions that hold the given times and returns how many were new; nothing to do on a hypertable. Runs as its owner, so that a writer needs no right to
-- create tables, and attaches, because that lock lets other writers and readers pass.
CREATE FUNCTION ensure_chunks(p_name text, p_times timestamptz[]) RETURNS int
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
        CONTINUE WHEN EXISTS (SELECT FROM time_chunk WHERE table_name = p_name AND from_ts = start);
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
REVOKE ALL ON FUNCTION ensure_chunks(text, timestamptz[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_chunks(text, timestamptz[]) TO flitwatch_writer;
GRANT SELECT ON setting, time_table, time_chunk TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON setting TO flitwatch_writer;
