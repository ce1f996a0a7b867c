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

INSERT INTO rollup_due (fabric_id, hour, marked_at) SELECT DISTINCT fabric_id, ts, '-infinity'::timestamptz FROM router_1h;

GRANT SELECT ON fabric_5m, fabric_2h, fabric_1d, rollup_due TO flitwatch_reader, flitwatch_writer, flitwatch_keeper;
GRANT INSERT ON rollup_due TO flitwatch_writer;
GRANT DELETE ON rollup_due TO flitwatch_keeper;
GRANT INSERT, UPDATE ON fabric_5m, fabric_2h, fabric_1d TO flitwatch_keeper;
GRANT SELECT ON router, router_1m, router_1h TO flitwatch_keeper;
GRANT EXECUTE ON FUNCTION ensure_chunks(text, timestamptz[]) TO flitwatch_keeper;
