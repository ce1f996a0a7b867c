-- expansion

-- Who a host is (flitwatch_domain.hosts): case does not matter, nor whether a domain follows; an address stays whole.
CREATE FUNCTION host_of(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT lower((CASE WHEN name ~ '^[0-9.]+$|:' THEN name ELSE split_part(name, '.', 1) END) COLLATE "C")
$$;
CREATE INDEX endpoint_host ON endpoint (host_of(node));
