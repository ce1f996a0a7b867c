-- expansion
-- A host is the same with the name of its interface on the fast network, node01-ib0 (flitwatch_domain.hosts). The index has the values of the function.
DROP INDEX endpoint_host;
CREATE OR REPLACE FUNCTION host_of(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT regexp_replace(
        lower((CASE WHEN name ~ '^[0-9.]+$|:' THEN name ELSE split_part(name, '.', 1) END) COLLATE "C"),
        '([0-9])-(ib|ipoib|opa|hfi|hsn)[0-9]{0,2}$', '\1'
    )
$$;
CREATE INDEX endpoint_host ON endpoint (host_of(node));
