-- Rules are data; an alert is a row until long after it ended; a notice is one thing to tell one receiver about one alert.
CREATE TABLE alert_rule (
    name       text PRIMARY KEY,
    rule       jsonb NOT NULL,
    source     text NOT NULL CHECK (source IN ('file', 'api')),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Until when its signal has been looked at: what happened while no engine ran is looked at afterwards.
    through    timestamptz
);

CREATE TABLE alert (
    alert_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule        text NOT NULL,
    labels      jsonb NOT NULL,
    phase       text NOT NULL CHECK (phase IN ('pending', 'firing', 'resolved')),
    severity    text NOT NULL,
    since       timestamptz NOT NULL,
    seen        timestamptz NOT NULL,
    fired_at    timestamptz,
    resolved_at timestamptz,
    value       float8 NOT NULL,
    peak        float8 NOT NULL,
    probability float8,
    summary     text NOT NULL,
    evidence    jsonb NOT NULL
);
CREATE UNIQUE INDEX alert_open ON alert (rule, labels) WHERE phase <> 'resolved';
CREATE INDEX alert_fired ON alert (fired_at DESC);

CREATE TABLE alert_silence (
    silence_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    matchers   jsonb NOT NULL,
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz NOT NULL,
    comment    text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- `turn` counts the repetitions; the key is what makes a restarted engine tell nothing twice.
CREATE TABLE alert_notice (
    notice_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alert_id     bigint NOT NULL REFERENCES alert ON DELETE CASCADE,
    receiver     text NOT NULL,
    status       text NOT NULL CHECK (status IN ('firing', 'resolved')),
    turn         int NOT NULL DEFAULT 0,
    group_key    text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts     int NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    error        text,
    UNIQUE (alert_id, receiver, status, turn)
);
CREATE INDEX alert_notice_open ON alert_notice (receiver, group_key) WHERE delivered_at IS NULL;

GRANT SELECT ON alert_rule, alert, alert_silence, alert_notice TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON alert_rule, alert, alert_silence, alert_notice TO flitwatch_writer;
