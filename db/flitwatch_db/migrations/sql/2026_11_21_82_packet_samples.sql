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
