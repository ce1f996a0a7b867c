-- Where alerts are mailed, as people add it on the page; receivers of the configuration file stand beside it.
CREATE TABLE alert_contact (
    name           text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,79}$'),
    addresses      text[] NOT NULL CHECK (cardinality(addresses) BETWEEN 1 AND 20),
    least_severity text NOT NULL DEFAULT 'info' CHECK (least_severity IN ('info', 'warning', 'critical')),
    updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A test mail: asked for by a person, sent by the engine, which alone knows the mail server. It waits until tried_at passes asked_at.
    test_asked_at  timestamptz,
    test_tried_at  timestamptz,
    test_error     text
);

GRANT SELECT ON alert_contact TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON alert_contact TO flitwatch_writer;
