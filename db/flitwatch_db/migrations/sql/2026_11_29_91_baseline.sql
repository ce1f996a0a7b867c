-- contraction: ends versions older than 2026_11_29_90_workers
-- The schema of 0.1.0: a database is made with it, and one that has the 58 migrations before it has this schema already.

-- -------------------- time tables
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
-- The length of a table's chunks may be shortened: a time that an older, longer chunk holds needs no new one.
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
REVOKE ALL ON FUNCTION ensure_chunks(text, timestamptz[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_chunks(text, timestamptz[]) TO flitwatch_writer;
GRANT SELECT ON setting, time_table, time_chunk TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON setting TO flitwatch_writer;

-- -------------------- fabric
-- A fabric is written whole, by COPY; its parts have no foreign key, which would look the fabric up once for each of 150,000 links.

CREATE TABLE fabric (
    fabric_id  int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    kind       text NOT NULL CHECK (kind IN ('dragonfly', 'fat_tree', 'torus', 'graph')),
    technology text NOT NULL CHECK (technology IN ('cray_xc', 'slingshot', 'infiniband', 'opa', 'ethernet', 'generic')),
    simulated  boolean NOT NULL DEFAULT false,
    counted_at text NOT NULL CHECK (counted_at IN ('receiver', 'sender')),
    timeless   boolean NOT NULL DEFAULT false,
    source     text NOT NULL DEFAULT '',
    attributes jsonb NOT NULL DEFAULT '{}',
    warnings   text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE router (
    fabric_id  int NOT NULL,
    router     int NOT NULL,
    name       text NOT NULL,
    guid       text,
    group_id   int,
    "row"      int,
    col        int,
    level      int,
    coords     int[],
    attributes jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (fabric_id, router)
);
CREATE INDEX router_name ON router (fabric_id, name);

-- Who a host is (flitwatch_domain.hosts): case does not matter, nor whether a domain follows; an address stays whole.
CREATE FUNCTION host_of(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT lower((CASE WHEN name ~ '^[0-9.]+$|:' THEN name ELSE split_part(name, '.', 1) END) COLLATE "C")
$$;

CREATE TABLE endpoint (
    fabric_id    int NOT NULL,
    endpoint     int NOT NULL,
    router       int NOT NULL,
    port         int,
    node         text NOT NULL,
    nid          bigint,
    component_id bigint,
    role         text NOT NULL CHECK (role IN ('compute', 'io', 'service')),
    guid         text,
    PRIMARY KEY (fabric_id, endpoint)
);
CREATE INDEX endpoint_node ON endpoint (node);
CREATE INDEX endpoint_host ON endpoint (host_of(node));
CREATE INDEX endpoint_component ON endpoint (component_id);

CREATE TABLE link (
    fabric_id     int NOT NULL,
    link          int NOT NULL,
    src_router    int,
    src_port      int,
    dst_router    int,
    dst_port      int,
    src_endpoint  int,
    dst_endpoint  int,
    class         text NOT NULL,
    bandwidth_bps float8,
    multiplicity  int NOT NULL DEFAULT 1,
    PRIMARY KEY (fabric_id, link),
    CHECK (num_nonnulls(src_router, src_endpoint) = 1 AND num_nonnulls(dst_router, dst_endpoint) = 1)
);

GRANT SELECT ON fabric, router, endpoint, link TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON fabric, router, endpoint, link TO flitwatch_writer;

-- -------------------- counters
-- Counters: additive rows. Raw seconds are written once and rarely touched again; a minute's and an hour's row are added to all the
-- time, so half of every page is left free and each new version stays on its page, without touching an index (HOT).

-- Adds two arrays element by element; an element that one side does not know is the other's.
CREATE FUNCTION array_add(a float8[], b float8[]) RETURNS float8[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a ELSE (
        SELECT array_agg(coalesce(x + y, x, y) ORDER BY place) FROM unnest(a, b) WITH ORDINALITY AS pair (x, y, place)
    ) END
$$;

DO $$
DECLARE
    router_values CONSTANT text := 'rt_flits float8, rt_packets float8, rt_stall_cycles float8, rt_rb_2x_cycles float8,
        green_flits float8, green_stall_cycles float8, black_flits float8, black_stall_cycles float8, blue_flits float8, blue_stall_cycles float8,
        pt_flits float8, pt_packets float8, pt_vc0_flits float8, pt_vc4_flits float8, pt_rq_stall_cycles float8, pt_rs_stall_cycles float8,
        pt_cb_rq_stall_cycles float8, pt_cb_rs_stall_cycles float8, pt_rb_2x_cycles float8';
    endpoint_values CONSTANT text := 'tx_bytes float8, rx_bytes float8, tx_packets float8, rx_packets float8, tx_wait_cycles float8,
        tx_flits float8, rx_flits float8, rq_flits float8, rq_stall_cycles float8, rq_packets float8, latency_us_sum float8, errors float8';
    -- Raw chunks are only added to and then dropped whole: vacuuming and re-reading them for statistics would be wasted work.
    raw    CONSTANT text := 'autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 1.0, autovacuum_vacuum_scale_factor = 0.5';
    rollup CONSTANT text := 'fillfactor = 50, autovacuum_vacuum_scale_factor = 0.5, autovacuum_analyze_scale_factor = 1.0';
    width  record;
BEGIN
    FOR width IN SELECT * FROM (VALUES
        ('1s', raw,    interval '1 hour',  interval '2 days',   interval '2 hours'),
        ('1m', rollup, interval '1 day',   interval '400 days', interval '2 days'),
        ('1h', rollup, interval '30 days', NULL,                interval '60 days')
    ) AS w (suffix, options, chunk, keep, compress_after) LOOP
        PERFORM make_time_table('router_' || width.suffix, format(
            'fabric_id int NOT NULL, router int NOT NULL, ts timestamptz NOT NULL, samples int NOT NULL, tile_seconds float8 NOT NULL, %s,
             PRIMARY KEY (fabric_id, ts, router)', router_values),
            width.chunk, width.options, 'fabric_id, router', width.keep, width.compress_after);
        PERFORM make_time_table('endpoint_' || width.suffix, format(
            'fabric_id int NOT NULL, endpoint int NOT NULL, ts timestamptz NOT NULL, samples int NOT NULL, seconds float8 NOT NULL, %s,
             PRIMARY KEY (fabric_id, ts, endpoint)', endpoint_values),
            width.chunk, width.options, 'fabric_id, endpoint', width.keep, width.compress_after);
    END LOOP;
    PERFORM make_time_table('port_10s',
        'fabric_id int NOT NULL, router int NOT NULL, ts timestamptz NOT NULL, port_seconds float8 NOT NULL,
         flits float8[], stall_cycles float8[], packets float8[], PRIMARY KEY (fabric_id, ts, router)',
        interval '6 hours', raw, 'fabric_id, router', interval '7 days', interval '12 hours');
    PERFORM make_time_table('observation',
        'schema_id int NOT NULL, component_id bigint, instance text, ts timestamptz NOT NULL, u64 numeric(20,0)[], f64 float8[], text text[]',
        interval '6 hours', raw, 'schema_id, component_id', interval '7 days', interval '12 hours');
END $$;

-- The raw seconds have no second index: one router's hour is 3,600 probes of the primary key by known times, and an index in router order
-- would touch a page per router and second.
CREATE INDEX router_1m_by_router ON router_1m (fabric_id, router, ts);
CREATE INDEX router_1h_by_router ON router_1h (fabric_id, router, ts);
CREATE INDEX endpoint_1m_by_endpoint ON endpoint_1m (fabric_id, endpoint, ts);
CREATE INDEX endpoint_1h_by_endpoint ON endpoint_1h (fabric_id, endpoint, ts);
CREATE INDEX observation_by_component ON observation (schema_id, component_id, ts);

CREATE TABLE port_total (
    fabric_id       int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    router          int NOT NULL,
    port            int NOT NULL,
    flits           float8,
    stall_cycles    float8,
    vc_flits        float8[],
    vc_stall_cycles float8[],
    source          text NOT NULL,
    PRIMARY KEY (fabric_id, router, port)
);

CREATE TABLE ldms_schema (
    schema_id  int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL,
    digest     text NOT NULL,
    columns    jsonb NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('router', 'endpoint', 'port', 'other')),
    first_seen timestamptz NOT NULL DEFAULT now(),
    last_seen  timestamptz NOT NULL DEFAULT now(),
    records    bigint NOT NULL DEFAULT 0,
    UNIQUE (name, digest)
);

CREATE TABLE gap (
    gap_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fabric_id int,
    device    text NOT NULL,
    schema    text NOT NULL,
    from_ts   timestamptz NOT NULL,
    to_ts     timestamptz NOT NULL,
    reason    text NOT NULL CHECK (reason IN ('silence', 'reset', 'restart', 'clock_back')),
    counts    jsonb
);
CREATE INDEX gap_time ON gap (fabric_id, to_ts);
-- A gap is taken back when a late sample fills it, and prolonged while its instance stays silent.
CREATE INDEX gap_from ON gap (from_ts, device);

GRANT SELECT ON router_1s, router_1m, router_1h, endpoint_1s, endpoint_1m, endpoint_1h, port_10s, observation, port_total, ldms_schema, gap
    TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON router_1s, router_1m, router_1h, endpoint_1s, endpoint_1m, endpoint_1h, port_10s, observation, port_total, ldms_schema, gap
    TO flitwatch_writer;
GRANT DELETE ON port_total, gap TO flitwatch_writer;

-- -------------------- jobs
CREATE TABLE job (
    job_pk      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster     text NOT NULL,
    job_id      text NOT NULL,
    array_task  int,
    het_offset  int,
    restart     int NOT NULL DEFAULT 0,
    user_name   text,
    account     text,
    name        text,
    partition   text,
    state       text NOT NULL,
    exit_code   text,
    submit_ts   timestamptz,
    start_ts    timestamptz,
    end_ts      timestamptz,
    nodes       int,
    node_list   text,
    simulated   boolean NOT NULL DEFAULT false,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    -- How long it may run: what accounting calls running long after is over.
    limit_s     float8,
    UNIQUE (cluster, job_id, restart)
);
CREATE INDEX job_by_start ON job (start_ts DESC, job_pk DESC);
CREATE INDEX job_by_user ON job (user_name, start_ts DESC);
CREATE INDEX job_by_id ON job (job_id);
CREATE INDEX job_running ON job (job_pk) WHERE end_ts IS NULL;
-- Who ran beside a job: jobs that ended after a moment, without reading every job that ever was (those that run are job_running's).
CREATE INDEX job_by_end ON job (end_ts);
-- Rows of waiting array tasks together, such as 77_[4-5], are found by their array.
CREATE INDEX job_by_array ON job (cluster, split_part(job_id, '_', 1)) WHERE strpos(job_id, '[') > 0;
-- Tasks of an array, and components of a heterogeneous job, by the number that they share.
CREATE INDEX job_by_number ON job (split_part(translate(job_id, '+', '_'), '_', 1)) WHERE strpos(translate(job_id, '+', '_'), '_') > 0;

-- A node has several endpoints: on several leaves of a fabric, on several planes. A row stands for each of them; a node in no fabric has one.
CREATE TABLE job_node (
    job_pk    bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    node      text NOT NULL,
    fabric_id int,
    endpoint  int,
    router    int
);
CREATE UNIQUE INDEX job_node_endpoint ON job_node (job_pk, node, fabric_id, endpoint) NULLS NOT DISTINCT;
CREATE INDEX job_node_router ON job_node (fabric_id, router);
CREATE INDEX job_node_node ON job_node (node);

CREATE TABLE job_step (
    job_pk    bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    step      text NOT NULL,
    name      text,
    state     text,
    start_ts  timestamptz,
    end_ts    timestamptz,
    nodes     int,
    node_list text,
    PRIMARY KEY (job_pk, step)
);

CREATE TABLE run (
    run_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_key       text NOT NULL UNIQUE,
    job_pk        bigint REFERENCES job ON DELETE SET NULL,
    job_id        text,
    exe           text NOT NULL,
    start_ts      timestamptz,
    ranks         int NOT NULL,
    counter_names text[] NOT NULL DEFAULT '{}',
    simulated     boolean NOT NULL DEFAULT false
);
CREATE INDEX run_job ON run (job_pk);
CREATE INDEX run_job_id ON run (job_id);
CREATE INDEX run_exe ON run (exe, ranks);

CREATE TABLE run_rank (
    run_id    bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    rank      int NOT NULL,
    node      text,
    endpoint  int,
    PRIMARY KEY (run_id, rank)
);
CREATE INDEX run_rank_node ON run_rank (node);

CREATE TABLE run_step (
    run_id       bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    step         int NOT NULL,
    time_s       float8 NOT NULL,
    rank_time_ns bigint[] NOT NULL,
    counters     numeric[],
    -- Increments of each step summed over the ranks that report, so that nobody sums a hundred ranks again.
    counter_sums float8[],
    PRIMARY KEY (run_id, step)
);

GRANT SELECT ON job, job_node, job_step, run, run_rank, run_step TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON job, job_node, job_step, run, run_rank, run_step TO flitwatch_writer;
GRANT DELETE ON job_node, job_step, run_rank TO flitwatch_writer;

-- -------------------- stream quality
CREATE TABLE stream_position (
    consumer_group text NOT NULL,
    topic          text NOT NULL,
    partition      int NOT NULL,
    position       bigint NOT NULL,
    replay_from    bigint NOT NULL,
    closed_through timestamptz,
    updated_at     timestamptz NOT NULL DEFAULT now(),
    log_id         text NOT NULL,
    PRIMARY KEY (log_id, consumer_group, topic, partition),
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
    unplaced   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (ts, topic)
) WITH (fillfactor = 50);

GRANT SELECT ON stream_position, source_position, dead_letter, ingest_minute TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON stream_position, source_position, dead_letter, ingest_minute TO flitwatch_writer;

-- -------------------- event task
CREATE TABLE event (
    event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind     text NOT NULL,
    payload  jsonb NOT NULL
);
CREATE INDEX event_at ON event (at);

-- Numbers are drawn under a lock that is held until the commit, so that numbers become visible in order and a reader that has seen
-- number n has seen all below. Emit last in a transaction.
CREATE FUNCTION event_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7205759403792793);
    RETURN NULL;
END $$;
CREATE TRIGGER event_in_order BEFORE INSERT ON event FOR EACH STATEMENT EXECUTE FUNCTION event_in_order();

CREATE FUNCTION event_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('flitwatch_event', NEW.event_id::text);
    RETURN NULL;
END $$;
CREATE TRIGGER event_notify AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION event_notify();

CREATE TABLE task (
    task_id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text NOT NULL,
    args             jsonb NOT NULL,
    state            text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    done             int NOT NULL DEFAULT 0,
    total            int NOT NULL DEFAULT 0,
    message          text NOT NULL DEFAULT '',
    cancel_requested boolean NOT NULL DEFAULT false,
    attempts         int NOT NULL DEFAULT 0,
    result           jsonb,
    error            jsonb,
    created_by       text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    started_at       timestamptz,
    finished_at      timestamptz,
    heartbeat_at     timestamptz,
    worker           text,
    -- Who may change what the site relies on: noted when a task is started, because the worker cannot ask any more.
    authorised       boolean NOT NULL DEFAULT false,
    -- The role of who asked: what the task's process may use is limited by it. Null: a command or the platform itself.
    role             text,
    -- The request that asked: the worker's log lines carry it too.
    request_id       text
);
CREATE INDEX task_open ON task (task_id) WHERE state IN ('queued', 'running');

GRANT SELECT ON event, task TO flitwatch_reader, flitwatch_writer;
GRANT INSERT ON event, task TO flitwatch_writer;
GRANT UPDATE ON task TO flitwatch_writer;

-- -------------------- log
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

-- A segment is ten minutes of appends, or fewer when it holds an eighth of the limit; the oldest are dropped whole, never the newest.
-- Its number is the minute of its begin, or the next one.
CREATE TABLE log.batch (
    segment     int NOT NULL,
    topic_id    int NOT NULL,
    partition   int NOT NULL,
    base_offset bigint NOT NULL,
    records     int NOT NULL,
    payload     bytea NOT NULL,
    -- 0: the records as they are, 1: compressed by zstd.
    encoding    smallint NOT NULL DEFAULT 0 CHECK (encoding IN (0, 1)),
    appended_at timestamptz NOT NULL DEFAULT now(),
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

-- Drops the oldest segments: those over the age, and those over the size. Returns how many.
CREATE FUNCTION log.trim(p_max_age interval, p_max_bytes bigint) RETURNS int
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

REVOKE ALL ON FUNCTION log.ensure_topic(text, int), log.current_segment(), log.trim(interval, bigint), log.oldest_due(interval, bigint),
    log.reserve(uuid, bigint, int[], int[], int[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log.ensure_topic(text, int), log.current_segment(), log.trim(interval, bigint),
    log.reserve(uuid, bigint, int[], int[], int[]) TO flitwatch_writer;
GRANT USAGE ON SCHEMA log TO flitwatch_reader, flitwatch_writer;
GRANT SELECT ON log.topic, log.partition, log.batch, log.producer TO flitwatch_reader, flitwatch_writer;
GRANT INSERT ON log.batch, log.producer TO flitwatch_writer;
GRANT UPDATE ON log.partition, log.producer TO flitwatch_writer;

-- A log has an identity: the id of Kafka's cluster, or this one of the table. A writer's positions belong to it.
CREATE TABLE log.identity (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    log_id   text NOT NULL
);
INSERT INTO log.identity (log_id) VALUES ('table:' || gen_random_uuid());
GRANT SELECT ON log.identity TO flitwatch_reader, flitwatch_writer;

-- -------------------- estimates
-- What estimators found: one row a result, with its data, parameters, code version and score.
CREATE TABLE estimate (
    estimate_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL CHECK (kind IN ('blame', 'deviation', 'forecast')),
    exe          text NOT NULL,
    nodes        int NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    code_version text NOT NULL,
    parameters   jsonb NOT NULL,
    data         jsonb NOT NULL,
    score        jsonb NOT NULL,
    result       jsonb NOT NULL,
    simulated    boolean NOT NULL,
    -- Of runs that somebody brought in files, and who did, or of runs that the platform recorded.
    source       text NOT NULL DEFAULT 'runs' CHECK (source IN ('runs', 'files')),
    created_by   text
);
CREATE INDEX estimate_newest ON estimate (kind, exe, nodes, created_at DESC);

GRANT SELECT ON estimate TO flitwatch_reader, flitwatch_writer;
GRANT INSERT ON estimate TO flitwatch_writer;

-- -------------------- sweeps noise bench
-- Sweeps: a task's work cut into parts that any number of workers take. A part is free while `taken_until` is unset or past.
CREATE TABLE sweep_part (
    task_id     bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    part        int NOT NULL,
    args        jsonb NOT NULL,
    taken_by    bigint,
    taken_until timestamptz,
    result      jsonb,
    PRIMARY KEY (task_id, part)
);

-- What the MPI microbenchmark measured: one row a random split of a world of processes.
CREATE TABLE noise_bench (
    noise_bench_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    imported_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    source             text NOT NULL,
    network            text NOT NULL,
    collective         text NOT NULL,
    collective_bytes   bigint NOT NULL,
    perturbation_bytes bigint NOT NULL,
    world              int NOT NULL,
    ranks              int NOT NULL,
    perturbing         int NOT NULL,
    ratio              float8 NOT NULL,
    split              int NOT NULL,
    seed               numeric(20, 0) NOT NULL,
    late               int NOT NULL,
    perturbed_s        float8[] NOT NULL,
    quiet_s            float8[] NOT NULL,
    UNIQUE (source, network, collective, collective_bytes, perturbation_bytes, world, perturbing, split, seed)
);

GRANT SELECT ON sweep_part, noise_bench TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON sweep_part TO flitwatch_writer;
GRANT INSERT ON noise_bench TO flitwatch_writer;

-- -------------------- estimates in use
-- What the pages read of estimates: every blamed name with its exposure, the model that serves, why there is none, forecasts of running jobs.
CREATE TABLE estimate_entry (
    estimate_id bigint NOT NULL REFERENCES estimate ON DELETE CASCADE,
    by_what     text NOT NULL CHECK (by_what IN ('user', 'application')),
    place       int NOT NULL,
    name        text NOT NULL,
    entry       jsonb NOT NULL,
    overlap     float8[] NOT NULL,
    exposure    float8[] NOT NULL,
    PRIMARY KEY (estimate_id, by_what, place)
);

-- The forecasters that serve: one for each number of past steps `m` that they take.
CREATE TABLE estimate_model (
    estimate_id bigint NOT NULL REFERENCES estimate ON DELETE CASCADE,
    m           int NOT NULL,
    model       bytea NOT NULL,
    PRIMARY KEY (estimate_id, m)
);

-- Counts per second on other routers during a step, kept because the counters by the second are not: table II's four of LDMS.
CREATE TABLE run_step_around (
    run_id   bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    step     int NOT NULL,
    own      float8[],
    io       float8[],
    sys      float8[],
    PRIMARY KEY (run_id, step)
);

-- How each application stands: the newest estimate, or what is lacking for one.
CREATE TABLE estimate_state (
    kind        text NOT NULL CHECK (kind IN ('blame', 'deviation', 'forecast')),
    exe         text NOT NULL,
    nodes       int NOT NULL,
    checked_at  timestamptz NOT NULL DEFAULT now(),
    runs        int NOT NULL,
    newest_run  bigint NOT NULL,
    estimate_id bigint REFERENCES estimate ON DELETE SET NULL,
    lacks       text,
    drift       jsonb,
    PRIMARY KEY (kind, exe, nodes)
);

-- One row a forecast: made after so many steps of a run, for the next `ahead` steps.
CREATE TABLE forecast (
    run_id      bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    after_steps int NOT NULL,
    ahead       int NOT NULL,
    made_at     timestamptz NOT NULL DEFAULT now(),
    estimate_id bigint REFERENCES estimate ON DELETE SET NULL,
    forecaster  text NOT NULL,
    expected_s  float8 NOT NULL,
    low_s       float8 NOT NULL,
    high_s      float8 NOT NULL,
    usual_s     float8 NOT NULL,
    curve_s     float8[] NOT NULL,
    PRIMARY KEY (run_id, after_steps)
);
CREATE INDEX forecast_newest ON forecast (made_at DESC);

-- Pseudonyms are keyed hashes; the key is the site's own.
INSERT INTO setting (key, value)
VALUES ('pseudonym_key', to_jsonb(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')))
ON CONFLICT (key) DO NOTHING;

GRANT SELECT ON estimate_entry, estimate_model, estimate_state, forecast, run_step_around TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, DELETE ON estimate, estimate_entry, estimate_model TO flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON estimate_state, forecast, run_step_around TO flitwatch_writer;

-- -------------------- alerting
-- Rules are data; an alert is a row until long after it ended; a notice is one thing to tell one receiver about one alert.
CREATE TABLE alert_rule (
    name       text PRIMARY KEY,
    rule       jsonb NOT NULL,
    source     text NOT NULL CHECK (source IN ('file', 'api')),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Until when its signal has been looked at: what happened while no engine ran is looked at afterwards.
    through    timestamptz
);

CREATE TABLE alert (
    alert_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule        text NOT NULL,
    labels      jsonb NOT NULL,
    phase       text NOT NULL CHECK (phase IN ('pending', 'firing', 'resolved')),
    severity    text NOT NULL,
    since       timestamptz NOT NULL,
    seen        timestamptz NOT NULL,
    fired_at    timestamptz,
    resolved_at timestamptz,
    value       float8 NOT NULL,
    peak        float8 NOT NULL,
    probability float8,
    summary     text NOT NULL,
    evidence    jsonb NOT NULL
);
CREATE UNIQUE INDEX alert_open ON alert (rule, labels) WHERE phase <> 'resolved';
CREATE INDEX alert_fired ON alert (fired_at DESC);

CREATE TABLE alert_silence (
    silence_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    matchers   jsonb NOT NULL,
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz NOT NULL,
    comment    text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- `turn` counts the repetitions; the key is what makes a restarted engine tell nothing twice.
CREATE TABLE alert_notice (
    notice_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alert_id     bigint NOT NULL REFERENCES alert ON DELETE CASCADE,
    receiver     text NOT NULL,
    status       text NOT NULL CHECK (status IN ('firing', 'resolved')),
    turn         int NOT NULL DEFAULT 0,
    group_key    text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts     int NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    error        text,
    -- What is sent as one message stays one message, under one key, until the receiver took it.
    batch        text,
    -- When a receiver was last tried: who may not read why it failed may read when.
    tried_at     timestamptz,
    UNIQUE (alert_id, receiver, status, turn)
);
CREATE INDEX alert_notice_open ON alert_notice (receiver, group_key) WHERE delivered_at IS NULL;
CREATE INDEX alert_notice_batch ON alert_notice (batch) WHERE delivered_at IS NULL;

GRANT SELECT ON alert_rule, alert, alert_silence, alert_notice TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON alert_rule, alert, alert_silence, alert_notice TO flitwatch_writer;

-- -------------------- recommendations
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
    simulated         boolean NOT NULL,
    -- The author, whether they might make one for the site (or it is a what-if of their own), and where its figures come from.
    created_by        text,
    authorised        boolean NOT NULL DEFAULT false,
    figures           text NOT NULL DEFAULT 'given' CHECK (figures IN ('given', 'simulated', 'counted')),
    -- Where its tables were staged for a subnet manager, and whether that was taken back. Who approved it is in the audit log.
    staged_in         text,
    staged_at         timestamptz,
    rolled_back_at    timestamptz
);
CREATE INDEX recommendation_fabric ON recommendation (fabric_id);
CREATE INDEX recommendation_author ON recommendation (created_by);
-- `routing.advice` writes two rows: both name their task, and a repeated task replaces both.
CREATE UNIQUE INDEX recommendation_task ON recommendation (task_id, kind) WHERE task_id IS NOT NULL;

CREATE TABLE recommendation_part (
    recommendation_id bigint NOT NULL REFERENCES recommendation ON DELETE CASCADE,
    part              text NOT NULL CHECK (part IN ('lfts', 'matrix_router', 'matrix_group', 'links')),
    packed            bytea NOT NULL,
    PRIMARY KEY (recommendation_id, part)
);

GRANT SELECT ON recommendation, recommendation_part TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON recommendation, recommendation_part TO flitwatch_writer;

-- -------------------- people
-- Accounts, sessions and tokens are read by the gate only: who reads data never sees a password's hash.
CREATE TABLE account (
    account_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    role          text NOT NULL CHECK (role IN ('viewer', 'user', 'operator', 'admin', 'service')),
    -- argon2id; NULL: cannot log in with a password (services, and people whom another provider vouches for).
    password_hash text,
    -- Issuer and subject of OpenID Connect.
    issuer        text,
    subject       text,
    disabled      boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at       timestamptz,
    UNIQUE (issuer, subject)
);

-- A secret is kept as its SHA-256: it is random and long, so nothing slower is needed.
CREATE TABLE session (
    digest     bytea PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX session_account ON session (account_id);
CREATE INDEX session_end ON session (expires_at);

CREATE TABLE token (
    token_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
    label      text NOT NULL,
    digest     bytea NOT NULL UNIQUE,
    scopes     text[] NOT NULL CHECK (scopes <@ '{read,names,advice,tasks,runs,operate,admin}' AND cardinality(scopes) > 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    used_at    timestamptz
);
CREATE INDEX token_account ON token (account_id);

CREATE TABLE audit (
    audit_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor      text NOT NULL,
    role       text,
    via        text NOT NULL CHECK (via IN ('session', 'token', 'anonymous', 'command')),
    action     text NOT NULL,
    target     text,
    status     int,
    address    text,
    request_id text,
    details    jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_actor ON audit (actor, audit_id DESC);
-- What is deleted is found by its time.
CREATE INDEX audit_at ON audit USING brin (at);

-- Rows are append-only: they are deleted by drop_old_audit alone, never those of the last 30 days, and each deletion is an entry.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('flitwatch.audit_retention', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

CREATE FUNCTION drop_old_audit() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = flitwatch, pg_temp AS $$
DECLARE
    keep_days float8 := (SELECT (value #>> '{}')::float8 FROM setting WHERE key = 'audit_keep_days');
    before timestamptz;
    deleted bigint;
BEGIN
    IF keep_days IS NULL THEN
        RETURN 0;
    END IF;
    before := clock_timestamp() - make_interval(secs => greatest(keep_days, 30) * 86400);
    PERFORM set_config('flitwatch.audit_retention', 'on', true);
    DELETE FROM audit WHERE at < before;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    PERFORM set_config('flitwatch.audit_retention', 'off', true);
    IF deleted > 0 THEN
        INSERT INTO audit (actor, via, action, target, details)
        VALUES ('maintenance', 'command', 'audit retention', 'audit', jsonb_build_object('deleted', deleted, 'before', before, 'keep_days', keep_days));
    END IF;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION drop_old_audit() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_old_audit() TO flitwatch_keeper;

-- HMAC-SHA256 of `kind:name`, eight digits of base32; the key comes as its two padded blocks (RFC 2104), made by flitwatch_db.people.
CREATE FUNCTION pseudonym(kind text, name text, inner_pad bytea, outer_pad bytea) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT kind || '-' || string_agg(substr('abcdefghijklmnopqrstuvwxyz234567', ((n >> (35 - 5 * i)) & 31)::int + 1, 1), '' ORDER BY i)
    FROM (SELECT ('x' || encode(substr(sha256(outer_pad || sha256(inner_pad || convert_to(kind || ':' || name, 'UTF8'))), 1, 5), 'hex'))::bit(40)::bigint) AS d (n),
         generate_series(0, 7) AS i
    GROUP BY kind
$$;

GRANT USAGE ON SCHEMA flitwatch TO flitwatch_gate;
GRANT SELECT, INSERT, UPDATE, DELETE ON account, session, token TO flitwatch_gate;
GRANT SELECT, INSERT ON audit TO flitwatch_gate;

-- The key with which cookies are signed that are not secrets of an account: every site has its own, and only the gate reads it.
CREATE TABLE seal_key (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    key      bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO seal_key (key) VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
GRANT SELECT ON seal_key TO flitwatch_gate;

-- -------------------- packet samples
-- What receiving hosts learned from sampled packets: additive rows by context and link, and what became of the packets of each host.

CREATE TABLE sample_context (
    context_id   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fabric_id    int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    job_id       text,
    tag          text,
    phase        text,
    longest_path int NOT NULL,
    variants     text[] NOT NULL,
    simulated    bool NOT NULL,
    first_ts     timestamptz NOT NULL,
    last_ts      timestamptz NOT NULL,
    UNIQUE NULLS NOT DISTINCT (fabric_id, job_id, tag, phase)
);
CREATE INDEX sample_context_job ON sample_context (job_id);

DO $$
DECLARE
    raw    CONSTANT text := 'autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 1.0, autovacuum_vacuum_scale_factor = 0.5';
    rollup CONSTANT text := 'fillfactor = 50, autovacuum_vacuum_scale_factor = 0.5, autovacuum_analyze_scale_factor = 1.0';
    width  record;
BEGIN
    FOR width IN SELECT * FROM (VALUES
        ('1s', raw,    interval '1 hour',  interval '2 days',   interval '2 hours'),
        ('1m', rollup, interval '1 day',   interval '400 days', interval '2 days'),
        ('1h', rollup, interval '30 days', NULL,                interval '60 days')
    ) AS w (suffix, options, chunk, keep, compress_after) LOOP
        PERFORM make_time_table('sample_' || width.suffix,
            'context_id int NOT NULL, ts timestamptz NOT NULL, link int NOT NULL, tested float8 NOT NULL, tested_bytes float8 NOT NULL,
             traffic float8 NOT NULL, traffic_variance float8 NOT NULL, congested float8 NOT NULL, congested_variance float8 NOT NULL,
             PRIMARY KEY (context_id, ts, link)',
            width.chunk, width.options, 'context_id', width.keep, width.compress_after);
    END LOOP;
    PERFORM make_time_table('sample_host_1m',
        'fabric_id int NOT NULL, ts timestamptz NOT NULL, host text NOT NULL, outcome text NOT NULL, packets float8 NOT NULL,
         PRIMARY KEY (fabric_id, ts, host, outcome)',
        interval '1 day', rollup, 'fabric_id, host', interval '400 days', interval '2 days');
END $$;

GRANT SELECT ON sample_context, sample_1s, sample_1m, sample_1h, sample_host_1m TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON sample_context, sample_1s, sample_1m, sample_1h, sample_host_1m TO flitwatch_writer;

-- -------------------- archive
-- Users whose data was deleted on request: a salted digest each, so that a restored archive does not bring them back and no name is kept.
CREATE TABLE erased_user (
    salt      text PRIMARY KEY,
    digest    text NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Jobs that came from an archive: kept from then on as long as new ones are.
CREATE TABLE restored_job (
    job_pk      bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    restored_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT ON restored_job TO flitwatch_reader, flitwatch_writer;

-- -------------------- route changes
-- When a fabric got other routes: marks on the time axis. `tables` (gzip: two int32 of their shape, int16[routers][endpoints], -1: no entry) are kept to tell how many entries the next ones change.
CREATE TABLE route_change (
    fabric_id int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    ts        timestamptz NOT NULL,
    note      text,
    entries   int,
    changed   int,
    source    text,
    tables    bytea,
    PRIMARY KEY (fabric_id, ts),
    CHECK (note IS NOT NULL OR entries IS NOT NULL)
);

GRANT SELECT ON route_change TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON route_change TO flitwatch_writer;

-- -------------------- worker queue
-- For workers of versions before 0.1.0, which served another queue.
CREATE TABLE worker_queue (
    worker_id bigint NOT NULL,
    queue     text NOT NULL,
    PRIMARY KEY (worker_id, queue)
);
GRANT SELECT, INSERT, DELETE ON worker_queue TO flitwatch_writer;

-- -------------------- keeper
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

REVOKE ALL ON FUNCTION drop_old_chunks(text), drop_chunk_over(bigint), set_policies(text), timescale_schema() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_old_chunks(text), drop_chunk_over(bigint), set_policies(text) TO flitwatch_keeper;

GRANT USAGE ON SCHEMA flitwatch, log TO flitwatch_keeper;
GRANT SELECT ON setting, time_table, time_chunk, restored_job, job, job_node, job_step, run, run_rank, run_step, run_step_around, forecast TO flitwatch_keeper;
GRANT INSERT, UPDATE ON setting TO flitwatch_keeper;
GRANT SELECT, DELETE ON event, dead_letter, ingest_minute, gap, task, run TO flitwatch_keeper;
-- An update right on one column is what a lock on a row takes.
GRANT DELETE, UPDATE (updated_at, state) ON job TO flitwatch_keeper;
GRANT EXECUTE ON FUNCTION log.trim(interval, bigint) TO flitwatch_keeper;

-- -------------------- job endpoints
-- Fabrics whose endpoints sit in the same nodes; each pair stands twice, once from each side.
CREATE TABLE fabric_plane (
    fabric_id int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    other_id  int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    PRIMARY KEY (fabric_id, other_id)
);
GRANT SELECT ON fabric_plane TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, DELETE ON fabric_plane TO flitwatch_writer;

-- -------------------- alert contact
-- Where alerts are mailed, as people add it on the page; receivers of the configuration file stand beside it.
CREATE TABLE alert_contact (
    name           text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,79}$'),
    addresses      text[] NOT NULL CHECK (cardinality(addresses) BETWEEN 1 AND 20),
    least_severity text NOT NULL DEFAULT 'info' CHECK (least_severity IN ('info', 'warning', 'critical')),
    updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A test mail: asked for by a person, sent by the engine, which alone knows the mail server. It waits until tried_at passes asked_at.
    test_asked_at  timestamptz,
    test_tried_at  timestamptz,
    test_error     text
);

GRANT SELECT ON alert_contact TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON alert_contact TO flitwatch_writer;

-- -------------------- job network noise
-- The network noise of a job that ended, from the counters of its network cards: made by a worker, once a job, and made anew when its end changes.
-- It names nobody, and goes with the job.
CREATE TABLE job_network_noise (
    job_pk             bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    computed_at        timestamptz NOT NULL DEFAULT now(),
    end_ts             timestamptz NOT NULL,
    fabric_id          int REFERENCES fabric ON DELETE SET NULL,
    window_s           int,
    windows            int NOT NULL,
    cards              int NOT NULL,
    cards_counted      int NOT NULL,
    latency_us         float8,
    quiet_latency_us   float8,
    latency_dispersion float8,
    waits              float8,
    quiet_waits        float8,
    waits_dispersion   float8,
    waits_unit         text,
    message_dispersion float8,
    noise_s            float8 CHECK (noise_s >= 0),
    worst_noise_s      float8 CHECK (worst_noise_s >= 0),
    counters           text[] NOT NULL,
    unknown            jsonb NOT NULL
);

GRANT SELECT ON job_network_noise TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON job_network_noise TO flitwatch_writer;

-- -------------------- arrivals
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

-- -------------------- fabric rollups
-- Sums of a whole fabric in long buckets, one row a bucket with an array over its routers: a year of a large machine is 365 rows, where its hours are
-- 28 million. They are made from the tables of routers by maintenance, so that the writer has no more to add up.
DO $$
DECLARE
    router_values CONSTANT text := 'rt_flits float8[], rt_packets float8[], rt_stall_cycles float8[], rt_rb_2x_cycles float8[],
        green_flits float8[], green_stall_cycles float8[], black_flits float8[], black_stall_cycles float8[], blue_flits float8[], blue_stall_cycles float8[],
        pt_flits float8[], pt_packets float8[], pt_vc0_flits float8[], pt_vc4_flits float8[], pt_rq_stall_cycles float8[], pt_rs_stall_cycles float8[],
        pt_cb_rq_stall_cycles float8[], pt_cb_rs_stall_cycles float8[], pt_rb_2x_cycles float8[]';
    width record;
BEGIN
    FOR width IN SELECT * FROM (VALUES
        ('5m', interval '1 day',     interval '400 days', interval '2 days'),
        ('2h', interval '30 days',   NULL,                interval '60 days'),
        ('1d', interval '360 days',  NULL,                interval '720 days')
    ) AS w (suffix, chunk, keep, compress_after) LOOP
        PERFORM make_time_table('fabric_' || width.suffix, format(
            'fabric_id int NOT NULL, ts timestamptz NOT NULL, counted int NOT NULL, tile_seconds float8[] NOT NULL, %s,
             PRIMARY KEY (fabric_id, ts)', router_values),
            width.chunk, 'fillfactor = 100', 'fabric_id', width.keep, width.compress_after);
    END LOOP;
END $$;

-- Hours whose rows of routers changed since they were rolled up. Every batch adds its own mark, and nobody waits for a mark of another: what maintenance
-- deletes are the marks that it saw, with the rows that came with them.
CREATE TABLE rollup_due (
    due_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fabric_id int NOT NULL,
    hour      timestamptz NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX rollup_due_by_hour ON rollup_due (fabric_id, hour);

GRANT SELECT ON fabric_5m, fabric_2h, fabric_1d, rollup_due TO flitwatch_reader, flitwatch_writer, flitwatch_keeper;
GRANT INSERT ON rollup_due TO flitwatch_writer;
GRANT DELETE ON rollup_due TO flitwatch_keeper;
GRANT INSERT, UPDATE ON fabric_5m, fabric_2h, fabric_1d TO flitwatch_keeper;
GRANT SELECT ON router, router_1m, router_1h TO flitwatch_keeper;
GRANT EXECUTE ON FUNCTION ensure_chunks(text, timestamptz[]) TO flitwatch_keeper;

-- -------------------- lanes
-- What ports and adapters count lane by lane: virtual lanes, service levels, traffic classes. Only those that count them have rows.
DO $$
DECLARE
    raw    CONSTANT text := 'autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 1.0, autovacuum_vacuum_scale_factor = 0.5';
    rollup CONSTANT text := 'fillfactor = 50, autovacuum_vacuum_scale_factor = 0.5, autovacuum_analyze_scale_factor = 1.0';
    width  record;
    device text;
BEGIN
    FOR width IN SELECT * FROM (VALUES
        ('10s', raw,    interval '6 hours', interval '7 days', interval '12 hours'),
        ('1h',  rollup, interval '30 days', NULL,              interval '60 days')
    ) AS w (suffix, options, chunk, keep, compress_after) LOOP
        FOREACH device IN ARRAY ARRAY['router', 'endpoint'] LOOP
            PERFORM make_time_table(format('%s_lane_%s', device, width.suffix), format(
                'fabric_id int NOT NULL, %1$s int NOT NULL, ts timestamptz NOT NULL, port_seconds float8 NOT NULL,
                 sl_flits float8[], stall_cycles float8[], packets float8[], PRIMARY KEY (fabric_id, ts, %1$s)', device),
                width.chunk, width.options, format('fabric_id, %s', device), width.keep, width.compress_after);
        END LOOP;
    END LOOP;
END $$;

GRANT SELECT ON router_lane_10s, router_lane_1h, endpoint_lane_10s, endpoint_lane_1h TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON router_lane_10s, router_lane_1h, endpoint_lane_10s, endpoint_lane_1h TO flitwatch_writer;

-- -------------------- run step nic
-- Counts per second of the network cards of a run's nodes during a step, in the order of endpoint_1s' columns; kept because seconds are not. Fabrics whose
-- routers have no counters of their own (InfiniBand, Slingshot, Ethernet) have these.
CREATE TABLE run_step_nic (
    run_id  bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    step    int NOT NULL,
    rates   float8[],
    PRIMARY KEY (run_id, step)
);

GRANT SELECT ON run_step_nic TO flitwatch_reader, flitwatch_writer, flitwatch_keeper;
GRANT INSERT, UPDATE, DELETE ON run_step_nic TO flitwatch_writer;

-- -------------------- job end notice
-- That a job ended, told to the site's webhook: a row a job until it is taken, or a day has passed.
-- It names nobody: what names people is read from the job when the notice is sent.
CREATE TABLE job_end_notice (
    job_pk       bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    explanation  jsonb NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts     int NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    error        text
);
CREATE INDEX job_end_notice_due ON job_end_notice (due_at) WHERE delivered_at IS NULL;

GRANT SELECT ON job_end_notice TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON job_end_notice TO flitwatch_writer;

-- -------------------- task files
-- Files that a task reads: uploaded before it starts, gone when it ends, however it ends. `bytes` is null while one is still coming.
CREATE TABLE task_file (
    file_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes      bigint,
    task_id    bigint REFERENCES task ON DELETE CASCADE
);
CREATE INDEX task_file_author ON task_file (created_by);
CREATE INDEX task_file_task ON task_file (task_id) WHERE task_id IS NOT NULL;

-- The content in pieces, so that neither side ever holds a whole file.
CREATE TABLE task_file_piece (
    file_id bigint NOT NULL REFERENCES task_file ON DELETE CASCADE,
    piece   int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (file_id, piece)
);
-- Mostly compressed already, and read once.
ALTER TABLE task_file_piece ALTER COLUMN content SET STORAGE EXTERNAL;

-- Whoever ends a task: its handler, a worker that gives up, a person who cancels it.
CREATE FUNCTION drop_files_of_task() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = flitwatch, pg_temp AS $$
BEGIN
    DELETE FROM task_file WHERE task_id = NEW.task_id;
    RETURN NULL;
END $$;
CREATE TRIGGER task_ended AFTER UPDATE OF state ON task FOR EACH ROW
    WHEN (NEW.state IN ('succeeded', 'failed', 'cancelled')) EXECUTE FUNCTION drop_files_of_task();

REVOKE ALL ON FUNCTION drop_files_of_task() FROM PUBLIC;

-- Nobody reads them but who runs tasks: a file holds names as somebody wrote them.
GRANT SELECT, INSERT, DELETE ON task_file, task_file_piece TO flitwatch_writer;
GRANT UPDATE (task_id, bytes) ON task_file TO flitwatch_writer;
GRANT SELECT, DELETE ON task_file TO flitwatch_keeper;

-- -------------------- incidents
-- An incident is a row for good: what was found while it happened is read afterwards, not computed again.
CREATE TABLE incident (
    incident_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fabric_id   int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    simulated   boolean NOT NULL,
    began_at    timestamptz NOT NULL,
    ended_at    timestamptz,
    -- The first job that it slowed: its way is watched for as long as the incident lasts, and `quiet` is the waiting there in a quiet minute.
    probe_pk    bigint REFERENCES job ON DELETE SET NULL,
    quiet       float8,
    -- Two incidents that turn out to be one: the later one's number still leads there.
    merged_into bigint REFERENCES incident ON DELETE CASCADE,
    -- On a fat tree a job may wait on its way to the file system: that way is watched then, and `quiet` is of it.
    to_file_system boolean NOT NULL DEFAULT false
);
CREATE INDEX incident_by_fabric ON incident (fabric_id, began_at DESC);
CREATE INDEX incident_open ON incident (fabric_id) WHERE ended_at IS NULL AND merged_into IS NULL;

-- `finding` is the job's explanation when it was last looked at, without names of people: `final` once its whole run was looked at.
CREATE TABLE incident_victim (
    incident_id bigint NOT NULL REFERENCES incident ON DELETE CASCADE,
    job_pk      bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    since_at    timestamptz NOT NULL,
    until_at    timestamptz,
    lost_s      float8 NOT NULL,
    lost_low_s  float8 NOT NULL,
    lost_high_s float8 NOT NULL,
    final       boolean NOT NULL,
    finding     jsonb NOT NULL,
    PRIMARY KEY (incident_id, job_pk)
);
CREATE INDEX incident_victim_job ON incident_victim (job_pk);

CREATE TABLE incident_part (
    incident_id bigint NOT NULL,
    job_pk      bigint NOT NULL,
    cause_pk    bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    part        float8,
    PRIMARY KEY (incident_id, job_pk, cause_pk),
    FOREIGN KEY (incident_id, job_pk) REFERENCES incident_victim ON DELETE CASCADE
);
CREATE INDEX incident_part_cause ON incident_part (cause_pk);

CREATE TABLE incident_minute (
    incident_id bigint NOT NULL REFERENCES incident ON DELETE CASCADE,
    at          timestamptz NOT NULL,
    waiting     float8 NOT NULL,
    part        float8,
    PRIMARY KEY (incident_id, at)
);

CREATE TABLE incident_note (
    note_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    incident_id bigint NOT NULL REFERENCES incident ON DELETE CASCADE,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    author      text NOT NULL,
    text        text NOT NULL
);
CREATE INDEX incident_note_of ON incident_note (incident_id);

-- Jobs with steps whose whole run was looked at.
CREATE TABLE incident_judged (
    job_pk    bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    judged_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT ON incident, incident_victim, incident_part, incident_minute, incident_note, incident_judged TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON incident, incident_victim, incident_part, incident_minute, incident_note, incident_judged TO flitwatch_writer;

-- -------------------- topic lease
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

-- -------------------- workers
-- Workers take the rows of table `task`.
CREATE TABLE worker (
    name    text PRIMARY KEY,
    queues  text[] NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE periodic_task (
    name     text PRIMARY KEY,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON worker, periodic_task TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON worker, periodic_task TO flitwatch_writer;
