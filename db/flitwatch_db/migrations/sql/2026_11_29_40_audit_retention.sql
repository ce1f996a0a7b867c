-- expansion
-- The audit log grew without bound. Its rows stay append-only: they are deleted by this function alone, never those of the last 30 days, and each deletion is an entry.
CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('flitwatch.audit_retention', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;

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

-- What is deleted is found by its time.
CREATE INDEX audit_at ON audit USING brin (at);
