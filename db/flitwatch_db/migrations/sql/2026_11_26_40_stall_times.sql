-- Stalls are counted in times of one count of data, so that stalls over flits is the time stalled over the time of sending (ADR 1280). InfiniBand's were ticks,
-- of two words each: they are doubled. Ethernet's were microseconds, whose worth went by each port's speed at that time: they become unknown.
DO $$
DECLARE
    one  record;
    each CONSTANT text := '(SELECT array_agg(CASE f.technology WHEN ''infiniband'' THEN 2 * x END ORDER BY place) FROM unnest(t.%1$I) WITH ORDINALITY u (x, place))';
    sum  CONSTANT text := 'CASE f.technology WHEN ''infiniband'' THEN 2 * t.%1$I END';
BEGIN
    FOR one IN
        SELECT name, 'rt_stall_cycles' AS counted, sum AS made FROM unnest(ARRAY['router_1s', 'router_1m', 'router_1h']) name
        UNION ALL SELECT name, 'tx_wait_cycles', sum FROM unnest(ARRAY['endpoint_1s', 'endpoint_1m', 'endpoint_1h']) name
        UNION ALL SELECT name, 'rt_stall_cycles', each FROM unnest(ARRAY['fabric_5m', 'fabric_2h', 'fabric_1d']) name
        UNION ALL SELECT name, 'stall_cycles', each
            FROM unnest(ARRAY['port_10s', 'router_lane_10s', 'router_lane_1h', 'endpoint_lane_10s', 'endpoint_lane_1h']) name
    LOOP
        EXECUTE format('UPDATE %2$I t SET %1$I = ' || one.made || ' FROM fabric f
            WHERE f.fabric_id = t.fabric_id AND f.technology IN (''infiniband'', ''ethernet'') AND t.%1$I IS NOT NULL', one.counted, one.name);
    END LOOP;
    FOR one IN SELECT unnest(ARRAY['rt_stall_cycles', 'tx_wait_cycles']) AS counted LOOP
        UPDATE gap t SET counts = t.counts - one.counted || CASE f.technology WHEN 'infiniband'
                THEN jsonb_build_object(one.counted, 2 * (t.counts ->> one.counted)::float8) ELSE '{}' END
        FROM fabric f WHERE f.fabric_id = t.fabric_id AND f.technology IN ('infiniband', 'ethernet') AND t.counts ? one.counted;
    END LOOP;
END $$;

-- Of a run's steps by the fabric on which most of its nodes lie, as they were made: places in table II, LDMS's four, and endpoint_1s' columns.
CREATE TEMPORARY TABLE stalled_run ON COMMIT DROP AS
    SELECT r.run_id, CASE f.technology WHEN 'infiniband' THEN 2.0::float8 END AS factor
    FROM run r
    CROSS JOIN LATERAL (SELECT n.fabric_id FROM job_node n WHERE n.job_pk = r.job_pk AND n.router IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1) n
    JOIN fabric f USING (fabric_id) WHERE f.technology IN ('infiniband', 'ethernet');
UPDATE run_step_nic s SET rates[5] = s.rates[5] * r.factor FROM stalled_run r WHERE r.run_id = s.run_id AND s.rates IS NOT NULL;
UPDATE run_step_around s SET own[4] = s.own[4] * r.factor FROM stalled_run r WHERE r.run_id = s.run_id AND s.own IS NOT NULL;
UPDATE run_step_around s SET io[2] = s.io[2] * r.factor FROM stalled_run r WHERE r.run_id = s.run_id AND s.io IS NOT NULL;
UPDATE run_step_around s SET sys[2] = s.sys[2] * r.factor FROM stalled_run r WHERE r.run_id = s.run_id AND s.sys IS NOT NULL;

UPDATE job_network_noise n SET waits = 2 * n.waits, quiet_waits = 2 * n.quiet_waits, waits_unit = 'word times / packet'
FROM fabric f WHERE f.fabric_id = n.fabric_id AND f.technology = 'infiniband';
