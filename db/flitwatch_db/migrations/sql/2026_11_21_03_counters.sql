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
    kind       text NOT NULL CHECK (kind IN ('router', 'endpoint', 'other')),
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

GRANT SELECT ON router_1s, router_1m, router_1h, endpoint_1s, endpoint_1m, endpoint_1h, port_10s, observation, port_total, ldms_schema, gap
    TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON router_1s, router_1m, router_1h, endpoint_1s, endpoint_1m, endpoint_1h, port_10s, observation, port_total, ldms_schema, gap
    TO flitwatch_writer;
GRANT DELETE ON port_total, gap TO flitwatch_writer;
