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
