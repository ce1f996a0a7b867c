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
    scopes     text[] NOT NULL CHECK (scopes <@ '{read,names,advice,tasks,operate,admin}' AND cardinality(scopes) > 0),
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

CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

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
