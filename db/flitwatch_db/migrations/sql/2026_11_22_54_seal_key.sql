-- The key with which cookies are signed that are not secrets of an account: every site has its own, and only the gate reads it.
CREATE TABLE seal_key (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    key      bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO seal_key (key) VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
GRANT SELECT ON seal_key TO flitwatch_gate;
