-- The segment of this moment, as before; but of two producers at the turn of a segment the second now sees the partition that it waited for. `to_regclass` asks a
-- cache that waiting for an advisory lock does not renew, so that the second made the partition again, and ended. A query has a new snapshot.
CREATE OR REPLACE FUNCTION log.current_segment() RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = log, pg_temp AS $$
DECLARE
    now_segment int := floor(extract(epoch FROM clock_timestamp()) / 600)::int;
    part        text := 'batch_' || now_segment;
BEGIN
    IF to_regclass(format('log.%I', part)) IS NULL THEN
        PERFORM pg_advisory_xact_lock(7205759403792794);
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE relname = part AND relnamespace = 'log'::regnamespace) THEN
            EXECUTE format('CREATE TABLE log.%I (LIKE log.batch INCLUDING ALL)
                            WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)', part);
            EXECUTE format('ALTER TABLE log.batch ATTACH PARTITION log.%I FOR VALUES IN (%s)', part, now_segment);
        END IF;
    END IF;
    RETURN now_segment;
END $$;
